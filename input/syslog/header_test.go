package syslog

import (
	"strings"
	"testing"
	"time"

	rfc3164lib "github.com/leodido/go-syslog/v4/rfc3164"
	rfc5424lib "github.com/leodido/go-syslog/v4/rfc5424"

	"logstow/record"
	"logstow/record/attributes"
	"logstow/record/recognize"
)

// read is when the messages of these tests are read.
var read = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func TestEvent(t *testing.T) {
	t.Parallel()
	const noTime = 0
	at := func(month time.Month, day, hour, minute, second, nano int) int64 {
		return time.Date(2026, month, day, hour, minute, second, nano, time.UTC).UnixNano()
	}
	for _, c := range []struct {
		name, line string
		local      bool
		time       int64
		level      record.Level
		source     string
		message    string
	}{
		{
			"5424", "<34>1 2026-10-11T22:14:15.003Z mymachine.example.com su - - - 'su root' failed", false,
			at(10, 11, 22, 14, 15, 3e6), record.Fatal, "mymachine.example.com/su", "'su root' failed",
		},
		{
			"5424 with BOM", "<34>1 2026-10-11T22:14:15.003Z m su - - - \ufeff'su root' failed", false,
			at(10, 11, 22, 14, 15, 3e6), record.Fatal, "m/su", "'su root' failed",
		},
		{
			"5424 with message id", "<165>1 2026-08-24T05:14:15.000003-07:00 192.0.2.1 myproc 8710 ID47 - %% It's time", false,
			at(8, 24, 12, 14, 15, 3e3), record.Info, "192.0.2.1/myproc/8710", "%% It's time",
		},
		{
			"5424 with structured data", `<165>1 2026-10-11T22:14:15Z h evntslog - ID47 [a@32473 iut="3" x="]\"\\]"][b@1] ` + "\ufeffAn application event", false,
			at(10, 11, 22, 14, 15, 0), record.Info, "h/evntslog", "An application event",
		},
		{
			"5424 with data of the transport", `<165>1 2026-10-11T22:14:15Z h app - - [timeQuality tzKnown="1" isSynced="0"][meta sequenceId="7"] ` + "\ufefftext", false,
			at(10, 11, 22, 14, 15, 0), record.Info, "h/app", "text",
		},
		{
			"5424 with data of both", `<165>1 2026-10-11T22:14:15Z h app - - [timeQuality tzKnown="1"][a@1 b="c"] text`, false,
			at(10, 11, 22, 14, 15, 0), record.Info, "h/app", "text",
		},
		{
			"5424 without text", `<165>1 2026-10-11T22:14:15Z h app - - [a@32473 iut="3"]`, false,
			at(10, 11, 22, 14, 15, 0), record.Info, "h/app", `[a@32473 iut="3"]`,
		},
		{"5424 of nil values", "<15>1 - - - - - - only text", false, noTime, record.Debug, "192.0.2.9", "only text"},
		{"5424 of nothing", "<15>1 - - - - - -", false, noTime, record.Debug, "192.0.2.9", "<15>1 - - - - - -"},
		{"5424 of a mark alone", "<15>1 - h app - - - \ufeff", false, noTime, record.Debug, "h/app", "<15>1 - h app - - - \ufeff"},
		{"5424, broken data", `<15>1 - h app - - [a b="c text`, false, noTime, record.Debug, "h/app", `- [a b="c text`},
		{"5424, spaces kept", "<15>1 - h app 1 - -   two before, one after ", false, noTime, record.Debug, "h/app/1", "  two before, one after "},
		{"5424, old", "<15>1 1970-01-01T00:00:07Z h app 1 - - booted", false, noTime, record.Debug, "h/app/1", "<15>1 1970-01-01T00:00:07Z h app 1 - - booted"},
		{"5424, far ahead", "<15>1 2036-01-01T00:00:07Z h app 1 - - booted", false, noTime, record.Debug, "h/app/1", "<15>1 2036-01-01T00:00:07Z h app 1 - - booted"},
		{"5424, impossible time", "<15>1 2026-13-01T00:00:07Z h app 1 - - x", false, noTime, record.Debug, "h/app/1", "<15>1 2026-13-01T00:00:07Z h app 1 - - x"},

		{
			"3164", "<34>Oct 11 22:14:15 mymachine su: 'su root' failed for lonvick on /dev/pts/8", false,
			at(10, 11, 22, 14, 15, 0), record.Fatal, "mymachine/su", "'su root' failed for lonvick on /dev/pts/8",
		},
		{
			"3164 with a process", "<86>Nov  1 02:03:04 web-1 postfix/smtpd[123]: connect from [::1]:25", false,
			at(11, 1, 2, 3, 4, 0), record.Info, "web-1/postfix/smtpd/123", "connect from [::1]:25",
		},
		{
			"3164, ISO time", "<13>2026-11-21T08:20:49.123456+01:00 web-1 app[1]: hello", false,
			at(11, 21, 7, 20, 49, 123456e3), record.Info, "web-1/app/1", "hello",
		},
		{"3164, fraction and year", "<13>Nov 21 2026 08:20:49.5 asa app: hello", false, at(11, 21, 8, 20, 49, 5e8), record.Info, "asa/app", "hello"},
		{"3164, no colon", "<13>Nov 21 08:20:49 h app[77] hello", false, at(11, 21, 8, 20, 49, 0), record.Info, "h/app/77", "hello"},
		{"3164, local", "<13>Nov 21 08:20:49 root: hello", true, at(11, 21, 8, 20, 49, 0), record.Info, "root", "hello"},
		{"3164, local with process", "<11>Nov 21 08:20:49 cron[12]: (root) CMD (x)", true, at(11, 21, 8, 20, 49, 0), record.Error, "cron/12", "(root) CMD (x)"},
		{"3164, local without tag", "<13>Nov 21 08:20:49 hello my world", true, at(11, 21, 8, 20, 49, 0), record.Info, "", "hello my world"},
		{"3164 without tag", "<13>Nov 21 08:20:49 h hello my world", false, at(11, 21, 8, 20, 49, 0), record.Info, "h", "hello my world"},
		{"3164, text like a tag", "<13>Nov 21 08:20:49 h value[3] x is array[i] of", false, at(11, 21, 8, 20, 49, 0), record.Info, "h/value/3", "x is array[i] of"},
		{"3164, JSON", `<13>Nov 21 08:20:49 h app: {"level":"error","a":[1]}`, false, at(11, 21, 8, 20, 49, 0), record.Info, "h/app", `{"level":"error","a":[1]}`},
		{"3164, empty text", "<13>Nov 21 08:20:49 h app: ", false, at(11, 21, 8, 20, 49, 0), record.Info, "h/app", "<13>Nov 21 08:20:49 h app: "},
		{"3164, last year", "<13>Dec 31 23:59:59 h app: x", false, at(12, 31, 23, 59, 59, 0) - 365*24*int64(time.Hour), record.Info, "h/app", "x"},
		{
			"Cisco with number", "<189>123: *Nov 20 2026 16:04:05.123 CET: %SYS-5-CONFIG_I: Configured", false,
			at(11, 20, 15, 4, 5, 123e6), record.Info, "192.0.2.9", "123: *Nov 20 2026 16:04:05.123 CET: %SYS-5-CONFIG_I: Configured",
		},
		{
			"Cisco with host", "<187>17: core-1: .Nov 20 16:04:05: %LINK-3-UPDOWN: down", false,
			at(11, 20, 16, 4, 5, 0), record.Error, "core-1", "17: core-1: .Nov 20 16:04:05: %LINK-3-UPDOWN: down",
		},
		{
			"Cisco, time first", "<187>Nov 20 16:04:05.1 CET: %LINK-3-UPDOWN: down", false,
			at(11, 20, 15, 4, 5, 1e8), record.Error, "192.0.2.9", "%LINK-3-UPDOWN: down",
		},
		{
			"Cisco NX-OS", "<189>: 2026 Nov 20 16:04:05 CET: %ETHPORT-5-IF_UP: up", false,
			at(11, 20, 15, 4, 5, 0), record.Info, "192.0.2.9", ": 2026 Nov 20 16:04:05 CET: %ETHPORT-5-IF_UP: up",
		},
		{
			"Cisco by a relay", "<189>Nov 20 16:04:05 core-1 %SYS-5-CONFIG_I: Configured", false,
			at(11, 20, 16, 4, 5, 0), record.Info, "core-1", "%SYS-5-CONFIG_I: Configured",
		},
		{
			"Cisco ASA", "<166>Nov 20 2026 16:04:05 fw1 : %ASA-6-302013: Built", false,
			at(11, 20, 16, 4, 5, 0), record.Info, "fw1", ": %ASA-6-302013: Built",
		},
		{
			"Cisco ASA without host", "<166>Nov 20 2026 16:04:05: %ASA-6-302013: Built", false,
			at(11, 20, 16, 4, 5, 0), record.Info, "192.0.2.9", "%ASA-6-302013: Built",
		},
		{
			"Junos, structured", `<14>1 2026-11-20T16:04:05.123+01:00 mx1 proc 1234 TAG [junos@2636.1.1.1.2.36 key="value"] text`, false,
			at(11, 20, 15, 4, 5, 123e6), record.Info, "mx1/proc/1234", "text",
		},
		{"Junos, year behind", "<30>Nov 20 16:04:05 2026  mx1 mgd[1234]: UI_COMMIT: x", false, at(11, 20, 16, 4, 5, 0), record.Info, "mx1/mgd/1234", "UI_COMMIT: x"},
		{"Junos, year first", "<30>2026 Nov 20 16:04:05 mx1 mgd[1234]: x", false, at(11, 20, 16, 4, 5, 0), record.Info, "mx1/mgd/1234", "x"},
		{"Junos, year between", "<30>Nov 20 2026 16:04:05.5 mx1 mgd[1234]: x", false, at(11, 20, 16, 4, 5, 5e8), record.Info, "mx1/mgd/1234", "x"},
		{"a host that is no year", "<30>Nov 20 16:04:05 1234 app[7]: x", false, at(11, 20, 16, 4, 5, 0), record.Info, "1234/app/7", "x"},
		{"AIX", "<13>Nov 20 16:04:05 Message forwarded from aix1: sshd[7]: text", false, at(11, 20, 16, 4, 5, 0), record.Info, "aix1/sshd/7", "text"},
		{"AIX without process", "<13>Nov 20 16:04:05 Message forwarded from aix1: text of it", false, at(11, 20, 16, 4, 5, 0), record.Info, "aix1", "text of it"},
		{"not Cisco", "<13>Nov 20 16:04:05 CET: text", false, at(11, 20, 16, 4, 5, 0), record.Info, "192.0.2.9/CET", "text"},
		{"not a year", "<13>Nov 20 16:04:05 2026: text", false, at(11, 20, 16, 4, 5, 0), record.Info, "192.0.2.9/2026", "text"},
		{"3164, no time", "<13>app[9]: hello", false, noTime, record.Info, "192.0.2.9/app/9", "hello"},
		{"3164, no header", "<13>Error: disk full", false, noTime, record.Info, "192.0.2.9", "Error: disk full"},
		{"3164, bytes", "<13>Nov 21 08:20:49 h app: \xff\x00\t\r\x1b[1m", false, at(11, 21, 8, 20, 49, 0), record.Info, "h/app", "\xff\x00\t\r\x1b[1m"},

		{"no priority", "2026-11-21T08:20:49Z ERROR x", false, noTime, record.None, "192.0.2.9", "2026-11-21T08:20:49Z ERROR x"},
		{"wrong priority", "<192>Nov 21 08:20:49 h app: x", false, noTime, record.None, "192.0.2.9", "<192>Nov 21 08:20:49 h app: x"},
		{"open priority", "<19", false, noTime, record.None, "192.0.2.9", "<19"},
		{"priority alone", "<19>", false, noTime, record.Error, "192.0.2.9", "<19>"},
		{"garbage", "\x16\x03\x01\x02\x00", false, noTime, record.None, "192.0.2.9", "\x16\x03\x01\x02\x00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := newParser(false, recognize.Options{}, c.local)
			sender := "192.0.2.9"
			if c.local {
				sender = ""
			}
			_, got := e.Parse([]byte(c.line), sender, read.UnixNano(), attributes.MaxSize)
			if got.Time != c.time || got.Level != c.level || got.Source != c.source || string(got.Message) != c.message {
				t.Errorf("got  %v %v %q %q\nwant %v %v %q %q", time.Unix(0, got.Time).UTC(), got.Level, got.Source, got.Message,
					time.Unix(0, c.time).UTC(), c.level, c.source, c.message)
			}
			_, raw := newParser(true, recognize.Options{}, c.local).Parse([]byte(c.line), sender, read.UnixNano(), attributes.MaxSize)
			if string(raw.Message) != c.line || raw.Time != got.Time || raw.Source != got.Source {
				t.Errorf("raw: %v %q %q", raw.Time, raw.Source, raw.Message)
			}
		})
	}
}

// The message id and structured data of RFC 5424 are attributes if there is a text; otherwise, or if they are malformed, they stay in the
// message.
func TestStructuredData(t *testing.T) {
	t.Parallel()
	const header = "<165>1 2026-10-11T22:14:15Z h app 1 "
	for _, c := range []struct{ rest, attributes, message string }{
		{"- - text", "", "text"},
		{"ID47 - text", `{"msgid":"ID47"}`, "text"},
		{"ID47 - \ufefftext \ufeff", `{"msgid":"ID47"}`, "text \ufeff"},
		{`- [meta sequenceId="7"] text`, "", "text"},
		{`- [meta sequenceId="7"][a@1 b="c"]  text`, `{"a@1":{"b":"c"},"meta":{"sequenceId":"7"}}`, " text"},
		{`ID [a b="\]\"\\\n" c="" b="2"][resource x="y"][msgid] ` + "\xff", `{"a":{"b":["]\"\\\\n","2"],"c":""},"attribute.msgid":{},"attribute.resource":{"x":"y"},"msgid":"ID"}`, "\xff"},
		{"- [a b=\"\xff\"] text", `{"a":{"b":{"$bytes":"/w=="}}}`, "text"},
		{`ID47 [a b="c"]`, "", `ID47 [a b="c"]`},
		{`- [a b="c"] `, "", `[a b="c"] `},
		{"- [a b=\"c\"] \ufeff", "", `[a b="c"] `},
		{`- [a b=c] text`, "", `[a b=c] text`},
		{`- [a  b="c"] text`, `{"a":{" b":"c"}}`, `text`},
		{`- [ b="c"] text`, "", `[ b="c"] text`},
		{`- [a b="c"x] text`, "", `[a b="c"x] text`},
		{`- [a b="c"][a b="d"] text`, "", `[a b="c"][a b="d"] text`},
		{`- [a b="` + strings.Repeat("x", 70_000) + `"] text`, "", `[a b="` + strings.Repeat("x", 70_000) + `"] text`},
	} {
		_, got := newParser(false, recognize.Options{}, false).Parse([]byte(header+c.rest), "", read.UnixNano(), attributes.MaxSize)
		if string(got.Attributes) != c.attributes || string(got.Message) != c.message || len(got.Attributes) > 0 && !attributes.Valid(got.Attributes) {
			t.Errorf("%.300q: %.300s %.300q", c.rest, got.Attributes, got.Message)
		}
		if _, raw := newParser(true, recognize.Options{}, false).Parse([]byte(header+c.rest), "", read.UnixNano(), attributes.MaxSize); raw.Attributes != nil {
			t.Errorf("raw: %s", raw.Attributes)
		}
	}
	for most, want := range map[int]string{16: "text", 15: "ID47 - text"} {
		if _, got := newParser(false, recognize.Options{}, false).Parse([]byte(header+"ID47 - text"), "", read.UnixNano(), most); string(got.Message) != want || len(got.Attributes) > most {
			t.Errorf("attributes of at most %d bytes: %s %s", most, got.Message, got.Attributes)
		}
	}
	old := "<165>1 1970-01-01T00:00:00Z h app 1 ID47 - text" // kept with its header
	if _, got := newParser(false, recognize.Options{}, false).Parse([]byte(old), "", read.UnixNano(), attributes.MaxSize); got.Attributes != nil || string(got.Message) != old {
		t.Errorf("%s %s", got.Attributes, got.Message)
	}
}

func TestZone(t *testing.T) {
	t.Parallel()
	e := newParser(false, recognize.Options{Zone: time.FixedZone("", 3600)}, false)
	_, got := e.Parse([]byte("<13>Nov 21 08:20:49 h app: x"), "", read.UnixNano(), attributes.MaxSize)
	if want := time.Date(2026, 11, 21, 7, 20, 49, 0, time.UTC).UnixNano(); got.Time != want {
		t.Errorf("%v", time.Unix(0, got.Time).UTC())
	}
}

// FuzzHeader compares with another parser what that one takes without
// complaint, and checks for all input that nothing of it is lost.
func FuzzHeader(f *testing.F) {
	for _, s := range []string{
		"<34>1 2026-10-11T22:14:15.003Z m su - - - \ufeff'su root' failed",
		`<165>1 2026-10-11T22:14:15Z h evntslog 1 ID47 [a@32473 iut="3" x="\]\"\\"][b@1] text`,
		"<86>Nov  1 02:03:04 web-1 postfix/smtpd[123]: connect", "<13>Nov 21 08:20:49 root: hello", "<13>", "<1>1 - - - - - -",
		"<13>2026-11-21T08:20:49.123456+01:00 web-1 app[1]: hello", "<13>Nov 21 2026 08:20:49.5 h x", "<13>a[1", "<0>1 - h a - - [",
		"<13>1 - h a - - - \ufeff", "<189>1: r1: *Nov 20 2026 16:04:05.123 CET: %SYS-5-X: x", "<30>Nov 20 16:04:05 2026  h a[1]: x",
		"<189>: 2026 Nov 20 16:04:05 CET: %X-5-Y: x", "<13>Nov 20 16:04:05 Message forwarded from h: a[1]: x",
	} {
		f.Add([]byte(s), false)
	}
	strict := rfc5424lib.NewMachine()
	old := rfc3164lib.NewMachine()
	f.Fuzz(func(t *testing.T, line []byte, local bool) {
		original := string(line)
		h := parseHeader(line, local)
		if len(h.rest) > 0 && string(h.rest) != original[len(original)-len(h.rest):] {
			t.Fatalf("the rest is not the end: %q", h.rest)
		}
		if h.bom >= 0 && string(h.rest[h.bom:h.bom+3]) != string(bom) {
			t.Fatalf("no mark at %d of %q", h.bom, h.rest)
		}
		if m, err := strict.Parse(line); err == nil {
			against(t, &h, m.(*rfc5424lib.SyslogMessage))
		}
		if m, err := old.Parse(line); err == nil && h.time != nil {
			// It may return neither a message nor an error.
			if s, ok := m.(*rfc3164lib.SyslogMessage); ok && int(*s.Severity) != h.severity {
				t.Errorf("severity %d, want %d", h.severity, *s.Severity)
			}
		}
		e := newParser(false, recognize.Options{}, local)
		_, got := e.Parse(line, "", read.UnixNano(), attributes.MaxSize)
		if len(got.Attributes) > 0 && !attributes.Valid(got.Attributes) {
			t.Fatalf("invalid: %s", got.Attributes)
		}
		if len(got.Message) == 0 && len(original) > 0 {
			t.Fatal("an empty message")
		}
	})
}

// against compares a header with what a strict parser of RFC 5424 found.
func against(t *testing.T, h *header, m *rfc5424lib.SyslogMessage) {
	t.Helper()
	for _, p := range []struct {
		name string
		got  []byte
		want *string
	}{{"host", h.host, m.Hostname}, {"app", h.app, m.Appname}, {"process", h.proc, m.ProcID}} {
		want := ""
		if p.want != nil {
			want = *p.want
		}
		if string(p.got) != want {
			t.Errorf("%s %q, want %q", p.name, p.got, want)
		}
	}
	if int(*m.Severity) != h.severity || (m.Timestamp == nil) != (h.time == nil) {
		t.Errorf("severity %d, time %q; want %d, %v", h.severity, h.time, *m.Severity, m.Timestamp)
	}
	if m.Message != nil && m.MsgID == nil && m.StructuredData == nil && string(h.rest) != *m.Message {
		t.Errorf("text %q, want %q", h.rest, *m.Message)
	}
}

func BenchmarkEvent(b *testing.B) {
	for name, line := range map[string]string{
		"5424": "<165>1 2026-10-11T22:14:15.003Z mymachine.example.com evntslog 4711 - - An application event log entry with some text 12345",
		"3164": "<165>Oct 11 22:14:15 mymachine.example.com evntslog[4711]: An application event log entry with some text 12345",
	} {
		b.Run(name, func(b *testing.B) {
			e := newParser(false, recognize.Options{}, false)
			text := []byte(line)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				e.Parse(text, "", read.UnixNano(), attributes.MaxSize)
			}
		})
		b.Run(name+"/library", func(b *testing.B) {
			text := []byte(line)
			strict, old := rfc5424lib.NewMachine(rfc5424lib.WithBestEffort()), rfc3164lib.NewMachine(rfc3164lib.WithBestEffort())
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if name == "5424" {
					_, _ = strict.Parse(text)
				} else {
					_, _ = old.Parse(text)
				}
			}
		})
	}
}
