package output_test

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"logstow/message"
	"logstow/query/output"
	"logstow/record/recognize"
)

const prettyHead = "15:04:05.123 ERROR api app.log: "

// A message that is JSON or logfmt is its text and its fields; other messages are printed as logged.
func TestPrettyMessages(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`{"a":1,"msg":"hi","b":{"c":true,"d":{"e":null}},"f":[1, "x y"],"g":{}}`: `hi a=1 b.c=true b.d.e=null f=[1, "x y"] g={}`,
		`{"short_message":"s","body":"b","log":"l","event":"e","@m":"m"}`:        `s body=b log=l event=e @m=m`,
		`{"event":"e","log":"l","message":"m","msg":"n"}`:                        `m event=e log=l msg=n`,
		`{"body":"b","@m":"m","event":"e"}`:                                      `b @m=m event=e`,
		`{"@m":"m","a":""}`:                                                      `m a=""`,
		`{"message":{"id":7},"msg":null,"a":"x"}`:                                `message.id=7 msg=null a=x`,
		`{"msg":"","a":1}`:                                                       `a=1`,
		`{"msg":5,"a":1}`:                                                        `5 a=1`,
		// What repeats the record's time and level is left out, nothing else.
		`{"time":"2026-11-20T15:04:05.123456789Z","level":"error","a":1}`:                 `a=1`,
		`{"ts":"2026-11-20T15:04:05.123Z","lvl":"critical","a":1}`:                        `ts=2026-11-20T15:04:05.123Z lvl=critical a=1`,
		`{"time":"2026-11-20 16:04:05.123456789","severity":"ERR","b":"c"}`:               `b=c`,
		`{"request":{"time":"2026-11-20T15:04:05.123456789Z"},"level":50}`:                `request.time=2026-11-20T15:04:05.123456789Z`,
		`{"time":"2026-11-20T15:04:05.123456789Z","level":"error"}`:                       `{"time":"2026-11-20T15:04:05.123456789Z","level":"error"}`,
		`time=2026-11-20T15:04:05.123456789Z level=error msg="a b" c=d`:                   `a b c=d`,
		`2026-11-20T15:04:05.123456789Z ERROR cannot pay`:                                 `cannot pay`,
		"[2026-11-20 16:04:05.123456789] [error] cannot pay\n\tat f":                      "cannot pay\n    \tat f",
		`2026-11-20T15:04:05.123456789Z WARN cannot pay`:                                  `WARN cannot pay`,
		`2026-11-20T15:04:05Z ERROR cannot pay`:                                           `2026-11-20T15:04:05Z ERROR cannot pay`,
		`2026-11-20T15:04:05.123456789Z ERROR`:                                            `2026-11-20T15:04:05.123456789Z ERROR`,
		"2026-11-20T15:04:05.123456789Z ERROR\n\tat f":                                    "ERROR\n    \tat f",
		`2026-11-20T15:04:05.123456789Z ERROR {"a":1}`:                                    `a=1`,
		`2026-11-20T15:04:05.123456789Z ERROR [w] {"msg":"hi","a":1}`:                     `[w] hi a=1`,
		`{"log":"2026-11-20T15:04:05.123456789Z\tERROR\tcannot pay\n","stream":"stdout"}`: `cannot pay stream=stdout`,
		// Quotes where they are needed.
		`{"a b":"x=y","c=d":"","e\"":"q\"r","f":"C:\\dir","g":"a\tb \\","":1}`: `"a b"=x=y "c=d"="" "e\""="q\"r" f=C:\dir g="a\tb \\" ""=1`,
		`{"a\u0020b":{"c":1}}`: `"a b.c"=1`,
		`{"a\u00e9":"\u00fc\ud83d\ude00","b":"\u001b[31m","c":"\u009b"}`: `aé=ü😀 b="\x1b[31m" c=\u009b`,
		// Several lines: behind the others, indented.
		`{"stack":"Error: x\n  at f\n","msg":"failed\nbadly\n","a":"b\n"}`: "failed a=\"b\\n\"\n    badly\n    stack=Error: x\n          at f",
		`{"a":[1,` + "\n\t" + `{"b": "c  d"}]}` + "\n":                     `a=[1,{"b":"c  d"}]`,
		"one\n\ttwo\n\n":      "one\n    \ttwo",
		`msg="a\nb" x="c\nd"`: "a\n    b\n    x=c\n        d",
		// JSON behind text, wrapped lines.
		`[worker] {"msg":"hi","a":1}`: `[worker] hi a=1`,
		`worker={"msg":"hi","a":1}`:   `worker={"msg":"hi","a":1}`,
		"two\nlines {\"a\":1}":        "two\n    lines {\"a\":1}",
		`handled {}`:                  `handled {}`,
		`{"log":"{\"msg\":\"in\\nner\",\"a\":1}\n","stream":"stdout"}`:                     "in a=1 stream=stdout\n    ner",
		`{"body":"level=error msg=hi a=1","b":2}`:                                          `hi a=1 b=2`,
		`{"x":0,"log":"{\"log\":\"{\\\"log\\\":\\\"{}\\\",\\\"a\\\":1}\",\"b\":2}","c":3}`: `{"log":"{}","a":1} b=2 x=0 c=3`,
		`{"log":"{\"a\":1}","message":"m"}`:                                                `a=1 message=m`,
		`{"message":"m","log":"{\"a\":1}"}`:                                                `m log="{\"a\":1}"`,
		// Texts whose fields are not those of the message.
		`{"b":2,"body":"a=1"}`:                       `a=1 b=2`,
		`{"b":2,"msg":"{\"c\": 1}","message":null}`:  `{"c": 1} b=2 message=null`,
		`msg="c=1 d=2" b=2`:                          `c=1 d=2 b=2`,
		`[w] {"log":"{\"c\": 1}"}`:                   `[w] {"c": 1}`,
		`{"log":"plain text\r\n","stream":"stdout"}`: `plain text stream=stdout`,
		"word\r":                         "word",
		"word\r\r":                       "word\\r",
		"a\rb\r\n\tc\r":                  "a\\rb\n    \tc",
		`{"msg":"a\r\nb\r","c":"d\r\n"}`: "a c=\"d\\r\\n\"\n    b",
		`{"a":1,"b":"c\r\nd"}`:           "a=1\n    b=c\n        d",
		"word\r\n\n":                     "word",
		`{"msg":"word\r","a":1}`:         `word a=1`,
		`{"a":1,"b":"x\ny\r\n\n"}`:       "a=1\n    b=x\n        y",
		`{"msg":"\n","a":1}`:             `a=1`,
		`{"msg":"ends with \\n","a":1}`:  `ends with \n a=1`,
		// Neither JSON nor logfmt.
		`{"a":1`:                    `{"a":1`,
		`{"a":1} {"b":2}`:           `{"a":1} {"b":2}`,
		`{"a":01}`:                  `{"a":01}`,
		`{}`:                        `{}`,
		`connected host=db1 in=5ms`: `connected host=db1 in=5ms`,
		`a=b c`:                     `a=b c`,
		`a=b c="d`:                  `a=b c="d`,
		`a="b"c=d`:                  `a="b"c=d`,
		`GET /x?a=b`:                `GET /x?a=b`,
		`a=b  c="d e" f= g=""`:      `a=b c="d e" f= g=""`,
	} {
		if got := printed(t, output.Options{Format: output.Pretty}, message); got != prettyHead+want+"\n" {
			t.Errorf("%q:\n%q, want\n%q", message, got, prettyHead+want+"\n")
		}
	}
}

// Objects that are nested too deep are printed as JSON.
func TestPrettyDepth(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for n, want := range map[int]string{
		8: strings.Repeat("a.", 7) + "a=1",
		9: strings.Repeat("a.", 7) + `a={"a":1}`,
	} {
		if got := printed(t, output.Options{Format: output.Pretty}, deep(n)); got != prettyHead+want+"\n" {
			t.Errorf("%d: %q", n, got)
		}
	}
}

// A pattern stands out wherever the parts of it are printed.
func TestPrettyHighlight(t *testing.T) {
	t.Parallel()
	const on, off = "\x1b[1;31m", "\x1b[0m"
	for _, c := range []struct{ find, message, want string }{
		{`us":50`, `{"msg":"x","status":502}`, "x stat" + on + "us" + off + "=" + on + "50" + off + "2"},
		{`b\u00e9`, `{"msg":"ab\u00e9c"}`, "a" + on + "bé" + off + "c"},
		{`e9`, `{"msg":"ab\u00e9c"}`, "ab" + on + "é" + off + "c"},
		{`b c`, `{"a":"a b c"}`, `a="a ` + on + "b c" + off + `"`},
		{`x`, `{"n":{"x":1}}`, "n." + on + "x" + off + "=1"},
		{`in`, `{"log":"{\"msg\":\"inner\"}"}`, on + "in" + off + "ner"},
		{"o\nt", "one two\ntwo", "one tw" + on + "o" + off + "\n    " + on + "t" + off + "wo"},
		{"o\nt", "two\ntwo", "tw" + on + "o" + off + "\n    " + on + "t" + off + "wo"},
		{`\n`, `{"msg":"a\nb"}`, "a\n    b"},
		{`a b`, `msg="a b" c=d`, on + "a b" + off + " c=d"},
		{`[1`, `{"a":[1]}`, `a=` + on + `[1` + off + `]`},
	} {
		got := printed(t, output.Options{Format: output.Pretty, Color: true, Highlight: func(dst [][2]int, message []byte) [][2]int {
			if at := strings.Index(string(message), c.find); at >= 0 {
				dst = append(dst, [2]int{at, at + len(c.find)})
			}
			return dst
		}}, c.message)
		_, got, _ = strings.Cut(got, ":"+off+" ")
		if got = strings.NewReplacer("\x1b[38;5;244m", "", "="+off, "=", "."+off, ".").Replace(got); strings.ReplaceAll(got, off, "") != strings.ReplaceAll(c.want, off, "")+"\n" {
			t.Errorf("%q in %s: %q, want %q", c.find, c.message, got, c.want)
		}
	}
}

// A text is cut in its middle so that the mark fits, also within wide characters, colours and TABs.
func TestPrettyWidth(t *testing.T) {
	t.Parallel()
	const head = len(prettyHead)
	for _, c := range []struct {
		room          int
		message, want string
	}{
		{5, "12345", "12345"},
		{5, "123456", "12…56"},
		{5, "1234\x00", "12…00"},
		{5, "全角1", "全角1"},
		{5, "全角全", "全…全"},
		{4, "全角全", "全…"},
		{5, "1全角1", "1…1"},
		{5, "1234e\u0301", "1234e\u0301"},
		{5, "1234e\u03015", "12…e\u03015"},
		{5, "123e\u030156", "12…56"},
		{12, "1\t23456", "1…23456"},
		{12, "1\t2345", "1\t2345"},
		{7, "1\t2", "1…2"},
		{5, "\x1b[31m", "\\x…1m"},
		{8, "12e\u0301456789", "12e\u03014…789"},
		{8, "123456e\u0301789", "1234…789"},
		{8, "12345e\u03016e\u0301789", "1234…789"},
		{5, "123456\n1234\n" + strings.Repeat("x", head+1) + "\n" + strings.Repeat("y", head+2), "12…56\n    1234\n    " + strings.Repeat("x", head+1) + "\n    " + strings.Repeat("y", head/2) + "…" + strings.Repeat("y", head/2)},
		{7, `{"a":"123"}`, "a=123"},
		{4, `{"a":"123"}`, "a=1…"},
		{1, "ab", "…"},
		{1, "a", "a"},
	} {
		want := prettyHead + c.want + "\n"
		if got := printed(t, output.Options{Format: output.Pretty, Width: head + c.room}, c.message); got != want {
			t.Errorf("%d columns of %q: %q, want %q", c.room, c.message, got, want)
		}
	}
	// However narrow: nothing but the mark and what fits.
	for width := 1; width < head+3; width++ {
		got := printed(t, output.Options{Format: output.Pretty, Width: width, Color: true, Highlight: places}, "abc")
		got = regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(got, "")
		if n := utf8.RuneCountInString(got) - 1; n != width || !strings.HasPrefix(prettyHead+"abc", strings.TrimSuffix(got, "…\n")) {
			t.Errorf("width %d: %q", width, got)
		}
	}
}

// In a line that is too long the longest values are cut, then a text that is longer than the line, then the end of the line. Nothing is
// cut without a width.
func TestPrettyFit(t *testing.T) {
	t.Parallel()
	const head = len(prettyHead)
	long := strings.Repeat("0123456789", 5)
	for _, c := range []struct {
		room                      int
		attributes, message, want string
	}{
		{60, "", `{"msg":"text","a":"` + long + `","b":1}`, "text a=012345678901234567890123…678901234567890123456789 b=1"},
		{40, `{"c":"` + long + `"}`, `{"msg":"text","a":"` + long + `","b":1}`, "text a=01234567…3456789 b=1 c=01234567…"},
		{34, "", `{"msg":"text","a":"` + long + `","b":1}`, "text a=01234567890…90123456789 b=1"},
		{20, "", `{"msg":"text","a":"` + long + `","b":1}`, "text a=01234567…345…"},
		{20, "", `{"msg":"text of nineteen by","a":1}`, "text of nineteen by…"},
		{20, "", `{"msg":"` + long + `","a":1}`, "01234567…3456789 a=1"},
		{20, "", `{"msg":"` + long + `"}`, "0123456789…123456789"},
		{0, `{"c":"` + long + long + `"}`, `{"msg":"` + long + `","a":"` + long + long + `"}`, long + " a=" + long + long + " c=" + long + long},
	} {
		width := head + c.room
		if c.room == 0 {
			width = 0
		}
		got := strings.TrimPrefix(strings.TrimSuffix(printedMatches(t, output.Options{Format: output.Pretty, Width: width}, matchOf(c.attributes, c.message)), "\n"), prettyHead)
		if got != c.want {
			t.Errorf("%d columns of %s: %q, want %q", c.room, c.message, got, c.want)
		}
	}
}

// The mark stands out if what was found is in the part of the line that was cut off.
func TestPrettyMarkOfMissedMatch(t *testing.T) {
	t.Parallel()
	for message, missed := range map[string]bool{"aaaab": false, "aaaaaab": false, "aaaaba": false, "aaabaa": false, "aabbbbaa": true, `a…aaaaaa`: false, "baaaaaa": false, "aaaaaa\nb": false, `{"msg":"aaaaaa","c":"b"}`: true} {
		got := printed(t, output.Options{Format: output.Pretty, Width: len(prettyHead) + 5, Color: true, Highlight: places}, message)
		if strings.Contains(got, "\x1b[1;31m…\x1b[0m") != missed {
			t.Errorf("%q: %q", message, got)
		}
	}
}

// Colours read on black and on white: their contrast is at least 3, which WCAG requires of large text and symbols.
func TestContrast(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i := range 200 {
		m := match("x")
		m.Segment.Name.Service = fmt.Sprint("service-", i)
		var out strings.Builder
		w, err := output.New(&out, output.Options{Format: output.Pretty, Color: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, level := range []string{"-", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"} {
			m.Line = []byte("2026-11-20T15:04:05.123456789Z\t" + level + "\tapp.log\tx")
			if err := w.Write(m); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for _, color := range regexp.MustCompile(`38;5;(\d+)m`).FindAllStringSubmatch(out.String(), -1) {
			seen[color[1]] = true
		}
	}
	if len(seen) != 17 { // 12 services, 4 levels, and grey
		t.Errorf("%d colours: %v", len(seen), seen)
	}
	for color := range seen {
		var n int
		if _, err := fmt.Sscan(color, &n); err != nil {
			t.Fatal(err)
		}
		var channels [3]float64
		for i := range channels {
			v := float64(8 + 10*(n-232)) // greys
			if n < 232 {
				v = []float64{0, 95, 135, 175, 215, 255}[(n-16)/[]int{36, 6, 1}[i]%6]
			}
			if v /= 255; v <= 0.04045 {
				v /= 12.92
			} else {
				v = math.Pow((v+0.055)/1.055, 2.4)
			}
			channels[i] = v
		}
		luminance := 0.2126*channels[0] + 0.7152*channels[1] + 0.0722*channels[2]
		if black, white := (luminance+0.05)/0.05, 1.05/(luminance+0.05); black < 3 || white < 3 {
			t.Errorf("colour %d: contrast %.1f to black, %.1f to white", n, black, white)
		}
	}
}

// Services of one output have different colours as long as there are free ones, each always the same, and that of its name if it comes
// first; so it has in most runs.
func TestServiceColors(t *testing.T) {
	t.Parallel()
	shown := func(names ...string) (colors []string) {
		t.Helper()
		var out strings.Builder
		w, err := output.New(&out, output.Options{Format: output.Pretty, Color: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			m := match("x")
			m.Segment.Name.Service = name
			if err := w.Write(m); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
			color := regexp.MustCompile(`38;5;(\d+)m` + names[i]).FindStringSubmatch(line)
			if color == nil {
				t.Fatalf("%q", line)
			}
			colors = append(colors, color[1])
		}
		return colors
	}
	var names []string
	for i := range 15 {
		names = append(names, fmt.Sprint("service-", i))
	}
	all := shown(append(names, names...)...)
	distinct := map[string]bool{}
	for i, color := range all[:15] {
		if i < 12 && distinct[color] {
			t.Errorf("service %d has the colour of another: %v", i, all[:12])
		}
		distinct[color] = true
		if all[15+i] != color {
			t.Errorf("service %d has colours %s and %s", i, color, all[15+i])
		}
	}
	own := 0
	for i := range names[:4] {
		if shown(names[i])[0] == all[i] {
			own++
		}
	}
	if own < 2 {
		t.Errorf("%d of the first 4 have the colours that they have alone", own)
	}
}

// Whatever a message is, no value of it is hidden in whole lines, nothing in it steers the terminal, and lines
// that are cut have the columns of the terminal.
func FuzzPretty(f *testing.F) {
	for _, r := range screenRecords() {
		if len(r.message) < 1000 {
			f.Add(r.message, uint8(30))
		}
	}
	f.Fuzz(func(t *testing.T, msg string, width uint8) {
		whole := printed(t, output.Options{Format: output.Pretty, Terminal: true}, msg)
		flat := strings.NewReplacer("\n", "", " ", "", `\\`, `\`, `\"`, `"`, `\n`, "", `\t`, "", "\t", "", `\r`, "")
		text := flat.Replace(whole)
		var valid map[string]json.RawMessage
		if json.Unmarshal([]byte(msg), &valid) == nil {
			for name, v := range message.All([]byte(msg)) {
				switch {
				case v.IsObject(), strings.Contains(strings.ToLower(name), "time"), name == "level":
					continue
				}
				if want := flat.Replace(output.Visible(string(v.Text))); len(v.Text) < 200 && !strings.Contains(want, "\\") && !strings.Contains(want, `"`) && !strings.Contains(want, ";") && !strings.Contains(text, want) {
					t.Errorf("%q: no %q of %q in %q", msg, want, name, whole)
				}
			}
		} else if !strings.ContainsAny(msg, "{=\\") {
			m := match(msg)
			msg := msg[recognize.New(recognize.Options{}).RepeatedStart([]byte(msg), m.Time, m.Level()):]
			if want := flat.Replace(strings.ReplaceAll(output.Visible(strings.TrimRight(msg, "\r\n")), "; ", "")); !strings.Contains(strings.ReplaceAll(text, ";", ""), strings.ReplaceAll(want, ";", "")) {
				t.Errorf("%q is not in %q", want, whole)
			}
		}
		for _, opts := range []output.Options{{Width: int(width)}, {Width: int(width), Color: true, Highlight: places}, {Color: true, Highlight: places}} {
			opts.Format, opts.Terminal = output.Pretty, true
			got := printed(t, opts, msg)
			if opts.Color { // of this package alone
				got = regexp.MustCompile(`\x1b\[(0|1;31|38;5;\d+)m`).ReplaceAllString(got, "")
			}
			for _, r := range got {
				if r < 0x20 && r != '\n' && r != '\t' || 0x7f <= r && r <= 0x9f || r == utf8.RuneError && !strings.ContainsRune(msg, r) && !strings.Contains(msg, `\u`) {
					t.Fatalf("%q prints %q: %q", msg, r, got)
				}
			}
			if opts.Width == 0 && got != whole {
				t.Fatalf("%q: %q in colour, otherwise %q", msg, got, whole)
			}
			for line := range strings.Lines(got) {
				if ascii := strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "…", "."); opts.Width > 0 && utf8.RuneCountInString(ascii) == len(ascii) && !strings.Contains(ascii, "\t") && len(ascii) > opts.Width {
					t.Fatalf("%q: %d columns of %d: %q", msg, len(ascii), opts.Width, line)
				}
			}
		}
	})
}
