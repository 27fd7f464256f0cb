package output_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/message/parse"
	"logstow/query"
	"logstow/query/output"
	"logstow/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// screenRecord is a record of the screens; its time is so many milliseconds after 15:04:05.
type screenRecord struct {
	after            int64
	level            record.Level
	service, source  string
	message, parser  string
	context, startup bool
	attributes       string
}

// screenRecords are records of many kinds.
func screenRecords() []screenRecord {
	const pod = "prod/checkout-api-7d9c5b6f4-x2x9k/checkout/0.log"
	return []screenRecord{
		{0, record.Info, "checkout", pod, `{"time":"2026-11-20T15:04:05Z","level":"info","msg":"request served","method":"POST","path":"/pay?cart=42&step=2","status":200,"took_ms":12.5,"user":{"id":1007,"name":"Ann Müller"},"trace_id":"4bf92f3577b34da6"}`, "", false, false, ""},
		{7, record.Error, "checkout", pod, `{"ts":1795187045.007,"level":"error","logger":"payment","message":"upstream connection reset by peer","error":{"kind":"ECONNRESET","attempts":[1,2,3],"retry":null},"fatal":false,"note":""}`, "", false, false, ""},
		{12, record.Warn, "inventory", "app.log", `time=2026-11-20T15:04:05.012Z level=WARN msg="stock is low" item=order-12345 left=3 warehouse="Hamburg 2"`, "", false, false, ""},
		{20, record.Info, "edge", "access.log", `203.0.113.7 - - [20/Nov/2026:15:04:05 +0000] "GET /cart?item=7 HTTP/1.1" 200 1532 "https://shop.example/" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"`, "", false, false, ""},
		{21, record.Error, "edge", "access.log", `2001:db8::17 - ann [20/Nov/2026:15:04:05 +0000] "POST /pay HTTP/2.0" 502 0 "-" "curl/8.5.0"`, "", false, false, ""},
		{30, record.Warn, "kubelet", "-", `W1120 15:04:05.030000    1234 reflector.go:456] "Watch closed" type="*v1.Pod" err="too old resource version"`, "", false, false, ""},
		{44, record.None, "checkout", pod, "Accepted connection from 10.0.0.7:5672, order-12345 is next", "", false, false, ""},
		{45, record.Error, "billing", "app.log", "java.lang.IllegalStateException: cannot charge order-12345\n\tat com.example.Billing.charge(Billing.java:42)\n\tat com.example.Main.main(Main.java:7)\nCaused by: java.net.SocketTimeoutException: Read timed out\n\t... 2 more\n", "", false, false, ""},
		{46, record.Error, "billing", "app.log", `{"time":"2026-11-20T15:04:05.046Z","level":"error","msg":"charge failed","order":"order-12345","stack":"Error: timeout\n    at charge (/srv/billing.js:42:13)\n    at async main (/srv/main.js:7:3)\n","attempt":2}`, "", false, false, ""},
		{50, record.Info, "checkout", pod, `{"log":"{\"level\":\"info\",\"msg\":\"wrapped twice\",\"a\":1}\n","stream":"stdout","kubernetes":{"pod_name":"checkout-api-7d9c5b6f4-x2x9k"}}`, "", false, false, ""},
		{51, record.Info, "checkout", pod, `2026-11-20 15:04:05.051 INFO main.go:17 starting {"version":"1.4.2","port":8080}`, "", false, true, ""},
		{60, record.Info, "i18n", "app.log", `{"msg":"注文を受け付けました","商品":"コーヒー豆 200g","customer":"José 👩‍👩‍👧","emoji":"❤️🎉","note":"日本語のとても長い文章はここで切り取られるはずです。日本語のとても長い文章はここで切り取られるはずです。"}`, "", false, false, ""},
		{61, record.Info, "i18n", "app.log", "e\u0301a\u0308 combining, 全角 wide, \u202eright to left\u202c, no\u00a0break, zero\u200bwidth", "", false, false, ""},
		{70, record.Debug, "gateway", "app.log", "\x1b[31mred\x1b[0m \x1b]0;title\x07 bell\a back\b\ttab\rreturn \x00 nul \u009b31m C1", "", false, false, ""},
		{71, record.Debug, "gateway", "app.log", `{"msg":"\u001b[31mred\u001b[0m","bell\u0007":"a\tb\u0000","\u001b]0;x":"\u009b2J"}`, "", false, false, ""},
		{80, record.Info, "gateway", "app.log", "\xff\xfe invalid UTF-8 \xc3(", "", false, false, ""},
		{81, record.Info, "gateway", "app.log", "", "", false, false, ""},
		{82, record.Info, "gateway", "app.log", `{"time":"2026-11-20T15:04:05.082Z","level":"info"}`, "", false, false, ""},
		{83, record.Trace, "gateway", "app.log", `{"truncated":"JSON","object":{"a":`, "", false, false, ""},
		{84, record.Info, "gateway", "app.log", `{"msg":"one megabyte","blob":"` + strings.Repeat("0123456789abcdef", 1<<16) + ` order-12345","after":1}`, "", false, false, ""},
		{90, record.Fatal, "inventory", "app.log", `{"level":"panic","msg":"out of memory","goroutines":10342}`, "", false, false, ""},
		{91, record.Info, "inventory", "app.log", `status=200 item=7`, "pattern 'status=<status> <_>'", false, false, ""},
		{92, record.Info, "inventory", "app.log", `{"msg":"around","a":1}`, "", true, false, ""},
		{93, record.Info, "otel", "-", "order-12345 is paid", "", false, false, `{"http.route":"/pay/{cart}","note":"` + strings.Repeat("long ", 20) + `order-12345 ` + strings.Repeat("very long ", 20) + `","resource":{"k8s.pod.name":"otel-1"},"retry":null,"stream":{"job":"order-12345"},"user.name":"Ann M."}`},
		{8*3600_000 + 56*60_000, record.Info, "inventory", "app.log", `{"msg":"after midnight","unit":"Tag"}`, "", false, false, ""},
	}
}

// screen prints the records as the pretty format has them.
func screen(t *testing.T, opts output.Options) string {
	t.Helper()
	opts.Format, opts.Around = output.Pretty, true
	opts.Today = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	parser := parse.Auto()
	opts.Parser = func(*query.Segment) *parse.Parser { return parser }
	var out bytes.Buffer
	w, err := output.New(&out, opts)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range screenRecords() {
		m := match(r.message)
		m.Segment = &query.Segment{Name: blobnaming.Name{Service: r.service}}
		m.Time = time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC).UnixNano() + r.after*1e6
		line := record.AppendText(nil, record.Record{Time: m.Time, Level: r.level, Source: r.source, Attributes: []byte(r.attributes), Message: []byte(r.message)})
		m.Line, m.Context, m.Gap = line[:len(line)-1], r.context, r.context
		if parser = parse.Auto(); r.parser != "" {
			if parser, err = parse.Compile(r.parser); err != nil {
				t.Fatal(err)
			}
		}
		write := w.Write
		if r.startup {
			write = w.WriteLate
		}
		if err := write(m); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// orders finds order-12345, and the status 502 with the quote before it.
func orders(dst [][2]int, message []byte) [][2]int {
	for _, text := range []string{"order-12345", `" 502`, `ms":12`} {
		if at := bytes.Index(message, []byte(text)); at >= 0 {
			dst = append(dst, [2]int{at, at + len(text)})
		}
	}
	return dst
}

// Screens of 80, 120 and 200 columns, without colours, and whole lines. In the files ␛ is the escape
// that begins a colour; the colours are the same for dark and light backgrounds.
func TestGoldenScreens(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string]output.Options{
		"80":          {Width: 80, Color: true, Highlight: orders},
		"120":         {Width: 120, Color: true, Highlight: orders},
		"200":         {Width: 200, Color: true, Highlight: orders, Location: berlin},
		"80-no-color": {Width: 80, Terminal: true},
		"whole":       {Terminal: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := screen(t, opts)
			for line := range strings.Lines(got) {
				if n := columns(t, strings.TrimSuffix(line, "\n")); opts.Width > 0 && n > opts.Width {
					t.Errorf("%d columns: %q", n, line)
				}
			}
			got = strings.ReplaceAll(strings.ReplaceAll(got, "\x1b", "␛"), strings.Repeat("0123456789abcdef", 1<<16), "<1 MiB>")
			file := filepath.Join("testdata", "screens", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil { //nolint:forbidigo // a test's own file
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s: -want +got:\n%s", file, diff)
			}
		})
	}
}

// columns counts the columns of a line as a terminal would, colours left out.
func columns(t *testing.T, line string) (n int) {
	t.Helper()
	for i, part := range strings.Split(line, "\x1b[") {
		if i > 0 {
			_, part, _ = strings.Cut(part, "m")
		}
		for _, r := range part {
			switch {
			case r == '\t':
				n += 8 - n%8
			case strings.ContainsRune("\u0301\u0308\u200b\u200d", r):
			case r == 0xfe0f: // makes the character before it wide
				n++
			case 0x3000 <= r && r <= 0xffff || 0x1f300 <= r:
				n += 2
			default:
				n++
			}
		}
	}
	return n
}
