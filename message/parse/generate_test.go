package parse_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/message/parse"
)

// writer writes a line of a format from random fields, and notes what fields they are.
type writer struct {
	*rand.Rand
	line strings.Builder
	want []string // name=value
	// escaped writes a text as the format does.
	escaped func(text string) string
}

// f writes a column, whose fields are noted, unless it is missing.
func (w *writer) f(format string, columns ...any) { fmt.Fprintf(&w.line, format, columns...) }

func (w *writer) note(name, value string) {
	if value != "" && value != "-" {
		w.want = append(w.want, name+"="+value)
	}
}

// field notes a field and returns how it is written.
func (w *writer) field(name, value string) string {
	w.note(name, value)
	if value == "" {
		return "-"
	}
	return w.escaped(value)
}

// inside is field in brackets or braces, which are empty if it is missing.
func (w *writer) inside(name, value string) string {
	if w.field(name, value) == "-" {
		return w.one("", "-")
	}
	return w.escaped(value)
}

func (w *writer) one(choices ...string) string { return choices[w.IntN(len(choices))] }

// word is a text of bytes of an alphabet that is not "-"; sometimes none.
func (w *writer) word(alphabet string, longest int) string {
	var b strings.Builder
	for range w.IntN(longest + 1) {
		b.WriteByte(alphabet[w.IntN(len(alphabet))])
	}
	if b.String() == "-" {
		return ""
	}
	return b.String()
}

const (
	letters = "abcXYZ019._%~"
	// anything is what clients can send; texts in quotes.
	anything = letters + letters + ` -/"\[]{}#|?=&:,;'` + "\t\x00\x1f\x7f\xc3\xa9\xff"
	// target is what a request's path consists of, query what its query may have beyond.
	target = letters + letters + `/-"\[]{}#|=&:,;'` + "\t\x00\x7f\xc3\xa9\xff"
	query  = target + "?"
)

func (w *writer) number(below int) string { return fmt.Sprint(w.IntN(below)) }

func (w *writer) seconds() string { return fmt.Sprintf("%d.%03d", w.IntN(60), w.IntN(1000)) }

func (w *writer) address() string {
	var b [16]byte
	for i := range b {
		b[i] = byte(w.Uint32())
	}
	if w.IntN(2) == 0 {
		return netip.AddrFrom16(b).String()
	}
	return netip.AddrFrom4([4]byte(b[:])).String()
}

func (w *writer) date(layout string) string {
	month := w.one("Jan", "Feb", "Nov", "Dec")
	return fmt.Sprintf(layout, 1+w.IntN(28), month, 2000+w.IntN(60), w.IntN(24), w.IntN(60), w.IntN(60), w.IntN(1000))
}

func (w *writer) iso() string {
	return fmt.Sprintf("20%02d-%02d-%02dT%02d:%02d:%02d.%0*dZ", w.IntN(60), 1+w.IntN(12), 1+w.IntN(28), w.IntN(24), w.IntN(60), w.IntN(60), 3+3*w.IntN(2), w.IntN(1000))
}

// header notes the fields of a header if it is that of syslog, and returns it.
func (w *writer) header(text string, fields ...string) string {
	if strings.HasPrefix(text, "<") {
		w.want = append(w.want, fields...)
	}
	return text
}

// request notes the parts of a request line and returns how it is written.
func (w *writer) request() string {
	if w.IntN(10) == 0 {
		garbage := w.one("\x16\x03\x01", "<BADREQ>", "get / HTTP/1.1", "GET", `"`, "")
		return w.field("request", garbage)
	}
	method := w.one("GET", "POST", "M-SEARCH", "VERSION_CONTROL")
	host, path, rest := "", "/"+w.word(target, 12), w.word(query, 12)
	w.note("method", method)
	written := method + " "
	if w.IntN(4) == 0 {
		host = w.one("shop.example:443", "[2001:db8::1]:80")
		if !slices.ContainsFunc(w.want, func(field string) bool { return strings.HasPrefix(field, "host=") }) { // that of a header
			w.note("host", host)
		}
		written += "https://" + host
	}
	w.note("path", path)
	written += path
	if rest != "" {
		w.note("query", rest)
		written += "?" + rest
	}
	if protocol := w.one("HTTP/1.1", "HTTP/2", ""); protocol != "" {
		w.note("protocol", protocol)
		written += " " + protocol
	}
	return w.escaped(written)
}

// backslashes escapes as nginx, Apache and AWS do.
func (w *writer) backslashes(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case (c == '"' || c == '\\') && w.IntN(2) == 0:
			b.WriteString(`\` + string(rune(c)))
		case c == '\t' && w.IntN(2) == 0:
			b.WriteString(`\t`)
		case c < ' ' || c >= 0x7f || c == '"' || c == '\\':
			fmt.Fprintf(&b, w.one(`\x%02x`, `\x%02X`), c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// hashes escapes as HAProxy does.
func (w *writer) hashes(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < ' ' || c >= 0x7f || strings.IndexByte(`"#{}|`, c) >= 0 {
			fmt.Fprintf(&b, "#%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func (w *writer) access() {
	w.escaped = w.backslashes
	header := w.one("", "", "<190>Nov 20 15:04:05 web1 nginx: ", "2026-11-20T15:04:05.123Z stdout F ")
	w.f("%s", w.header(header, "host=web1", "app=nginx"))
	if w.line.Len() == 0 && w.IntN(4) == 0 {
		w.f("%s", w.field("vhost", w.one("shop.example", "a-b.example")))
		if w.IntN(2) == 0 {
			w.f(":%s", w.field("port", w.one("80", "8443")))
		}
		w.f(" ")
	}
	w.f("%s ", w.field("ip", w.address()))
	w.f("%s ", w.field("ident", w.one("", "", "id")))
	w.f("%s ", w.field("user", w.one("", "ann", "ann lee", `DOM\ann`, w.word(letters, 8))))
	w.f("[%s] ", w.field("time", w.date("%02d/%s/%d:%02d:%02d:%02d +0130")[:len("20/Nov/2026:15:04:05 +0130")]))
	w.f(`"%s" `, w.request())
	w.f("%s ", w.field("status", fmt.Sprint(100+w.IntN(500))))
	w.f("%s", w.field("bytes", w.one("", w.number(1e6))))
}

func (w *writer) common() {
	w.access()
	switch w.IntN(4) {
	case 0:
		w.f(" %s", w.field("duration", w.one(w.seconds(), w.number(1000), w.number(100)+"ms")))
	case 1:
		w.f(" rt=%s", w.field("rt", w.seconds()))
	}
}

func (w *writer) agents() {
	w.access()
	w.f(` "%s"`, w.field("referer", w.word(anything, 12)))
	w.f(` "%s"`, w.field("user_agent", w.word(anything, 12)))
}

func (w *writer) combined() {
	w.agents()
	if w.IntN(3) == 0 {
		w.f(` "%s"`, w.field("http_x_forwarded_for", w.one("", w.address(), w.address()+", "+w.address())))
	}
	switch w.IntN(5) {
	case 0:
		w.f(" %s", w.field("duration", w.one(w.seconds(), w.number(1000), w.number(100)+"ms")))
	case 1:
		w.f(" %s", w.field("duration", w.seconds()))
		w.f(` rt=%s urt="%s"`, w.field("rt", w.seconds()), w.field("urt", w.one("0.1, 0.2", "0.3")))
	}
}

func (w *writer) combinedio() {
	w.agents()
	w.f(" %s %s", w.field("bytes_received", w.number(1e4)), w.field("bytes_sent", w.number(1e6)))
}

func (w *writer) ingress() {
	w.agents()
	w.f(" %s", w.field("request_length", w.number(1000)))
	w.f(" %s", w.field("duration", w.seconds()))
	w.f(" [%s]", w.inside("proxy_upstream_name", w.one("", "ns-web-80")))
	if w.IntN(2) == 0 {
		w.f(" [%s]", w.inside("proxy_alternative_upstream_name", w.one("", "ns-canary-80")))
	}
	tries, separator := w.IntN(4), w.one(", ", " : ")
	list := func(element func() string) string {
		var all []string
		for range tries {
			all = append(all, element())
		}
		return strings.Join(all, separator)
	}
	w.f(" %s", w.field("upstream_addr", list(func() string { return w.one("10.0.0.1:80", "[2001:db8::1]:80", "unix:/run/a.sock") })))
	w.f(" %s", w.field("upstream_response_length", list(func() string { return w.number(1000) })))
	w.f(" %s", w.field("upstream_response_time", list(w.seconds)))
	w.f(" %s", w.field("upstream_status", list(func() string { return w.one("200", "502") })))
	w.f(" %s", w.field("req_id", w.word("0123456789abcdef", 32)))
}

func (w *writer) envoy() {
	w.escaped = func(text string) string { return text } // it writes what it is sent
	w.f("[%s] ", w.field("start_time", w.iso()))
	w.note("method", "GET")
	path := "/" + w.word(letters, 9)
	w.note("path", path)
	protocol := w.one("HTTP/2", "-")
	w.note("protocol", protocol)
	w.f(`"GET %s %s" `, path, protocol)
	w.f("%s ", w.field("status", w.one("0", "200", "503")))
	w.f("%s ", w.field("response_flags", w.one("", "UF", "URX,UH")))
	for _, name := range []string{"bytes_received", "bytes", "duration"} {
		w.f("%s ", w.field(name, w.number(1e6)))
	}
	w.f("%s", w.field("x_envoy_upstream_service_time", w.one("", w.number(1000))))
	for _, name := range []string{"x_forwarded_for", "user_agent", "x_request_id", "authority", "upstream_host"} {
		w.f(` "%s"`, w.field(name, w.word(letters+" -:/[]{}=\\\xff", 12)))
	}
}

func (w *writer) haproxy() {
	w.escaped = w.hashes
	plus := w.one("", "+")
	header := w.one("", "haproxy[7]: ", "<134>Nov 20 15:04:05 lb haproxy[7]: ", "<134>1 2026-11-20T15:04:05Z lb haproxy 7 - - ")
	w.f("%s", w.header(header, "host=lb", "app=haproxy", "pid=7"))
	w.f("%s:%s ", w.field("ip", w.address()), w.field("client_port", w.number(65536)))
	w.f("[%s] ", w.field("request_date", w.date("%02d/%s/%d:%02d:%02d:%02d.%03d")))
	w.f("%s ", w.field("frontend_name", w.one("http-in", "https~")))
	w.f("%s/%s ", w.field("backend_name", w.one("api", "web-1")), w.field("server_name", w.one("srv1", "<NOSRV>")))
	for _, name := range []string{"TR", "Tw", "Tc", "Tr"} {
		w.f("%s/", w.field(name, w.one("-1", w.number(1000))))
	}
	w.f("%s%s ", plus, w.field("duration", w.number(1000)))
	w.f("%s ", w.field("status", w.one("-1", "200", "503")))
	w.f("%s%s ", plus, w.field("bytes", w.number(1e6)))
	w.f("%s ", w.field("captured_request_cookie", w.one("", "sid=7")))
	w.f("%s ", w.field("captured_response_cookie", w.one("", "sid=8")))
	w.f("%s ", w.field("termination_state", w.one("----", "SC--", "--NI")))
	for _, name := range []string{"actconn", "feconn", "beconn", "srv_conn"} {
		w.f("%s/", w.field(name, w.number(100)))
	}
	w.f("%s%s ", plus, w.field("retries", w.number(3)))
	w.f("%s/%s ", w.field("srv_queue", w.number(9)), w.field("backend_queue", w.number(9)))
	if headers := w.IntN(3); headers > 0 {
		w.f("{%s} ", w.inside("captured_request_headers", w.word(anything, 8)))
		if headers > 1 {
			w.f("{%s} ", w.inside("captured_response_headers", w.word(anything, 8)))
		}
	}
	w.f(`"%s"`, w.request())
}

func (w *writer) alb() {
	w.escaped = w.backslashes
	address := func(host, port string) string {
		a := w.address()
		written := w.field(host, a)
		if strings.Contains(a, ":") && w.IntN(2) == 0 {
			written = "[" + written + "]"
		}
		return written + ":" + w.field(port, w.number(65536))
	}
	w.f("%s ", w.field("type", w.one("http", "https", "h2", "grpcs", "ws", "wss")))
	w.f("%s ", w.field("time", w.iso()))
	w.f("%s ", w.field("elb", "app/shop/50dc6c495c0c9188"))
	w.f("%s ", address("ip", "client_port"))
	if w.IntN(3) == 0 {
		w.f("- ")
	} else {
		w.f("%s ", address("target_ip", "target_port"))
	}
	for _, name := range []string{"request_processing_time", "target_processing_time", "response_processing_time"} {
		w.f("%s ", w.field(name, w.one("-1", w.seconds())))
	}
	w.f("%s %s ", w.field("status", w.one("200", "502", "")), w.field("target_status_code", w.one("", "200")))
	w.f("%s %s ", w.field("received_bytes", w.number(1000)), w.field("bytes", w.number(1e6)))
	w.f(`"%s" `, w.request())
	w.f(`"%s"`, w.field("user_agent", w.word(anything, 12)))
	for _, name := range []string{"ssl_cipher", "ssl_protocol", "target_group_arn"} {
		w.f(" %s", w.field(name, w.word("abc019-:/", 9)))
	}
	for _, name := range []string{"trace_id", "domain_name", "chosen_cert_arn"} {
		w.f(` "%s"`, w.field(name, w.word(letters+"=", 9)))
	}
	w.f(" %s", w.field("matched_rule_priority", w.number(9)))
	w.f(" %s", w.field("request_creation_time", w.iso()))
	w.f(` "%s"`, w.field("actions_executed", w.one("forward", "waf,forward")))
	if w.IntN(4) == 0 {
		return // before there were more
	}
	for _, name := range []string{"redirect_url", "error_reason", "target_port_list", "target_status_code_list", "classification", "classification_reason"} {
		w.f(` "%s"`, w.field(name, w.word(letters+" ", 9)))
	}
	if w.IntN(2) == 0 {
		w.f(" %s", w.field("conn_trace_id", w.word("TID_abc", 9)))
	}
}

func (w *writer) klog() {
	w.f("%s", w.field("severity", w.one("I", "W", "E", "F")))
	w.f("%s ", w.field("time", fmt.Sprintf("%02d%02d %02d:%02d:%02d.%06d", 1+w.IntN(12), 1+w.IntN(28), w.IntN(24), w.IntN(60), w.IntN(60), w.IntN(1e6))))
	w.f("%7s ", w.field("thread", w.number(1e8)))
	w.f("%s:", w.field("file", w.one("server.go", "pod_workers.go")))
	w.f("%s] ", w.field("line", w.number(3000)))
	message := w.one("starting", "a - b", "\xff] x: y", "-") + w.word(anything, 20)
	if strings.ContainsAny(message, "{=") {
		message = `"Pod status" pod="kube-system/dns" ready=true`
		defer func() { w.want = append(w.want, "pod=kube-system/dns", "ready=true") }()
	}
	w.want = append(w.want, "message="+message)
	w.f("%s", message)
}

// Lines of each format from random fields: exactly these are found in them.
func TestRandomLines(t *testing.T) {
	effort.Need(t, effort.Test, "many random lines")
	t.Parallel()
	seed := testrand.Seed(t)
	p := parse.Auto() // for all at the same time
	for name, write := range map[string]func(*writer){
		"common": (*writer).common, "combined": (*writer).combined, "combinedio": (*writer).combinedio,
		"ingress": (*writer).ingress, "envoy": (*writer).envoy, "haproxy": (*writer).haproxy, "alb": (*writer).alb, "klog": (*writer).klog,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 0))
			for range 5000 {
				w := &writer{Rand: rnd, escaped: func(text string) string { return text }}
				write(w)
				line := w.line.String()
				got := allOf(p, line)
				if diff := cmp.Diff(w.want, got); diff != "" {
					t.Fatalf("%s\n%q\n%s", line, line, diff)
				}
			}
		})
	}
}
