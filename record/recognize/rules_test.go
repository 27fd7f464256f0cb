package recognize_test

import (
	"strings"
	"testing"
	"time"

	"logstow/record"
	"logstow/record/recognize"
)

func compile(t testing.TB, opts recognize.RuleOptions) *recognize.Rules {
	t.Helper()
	r, err := recognize.Compile(opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRules(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	read := time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, line string
		rules      recognize.RuleOptions
		zone       *time.Location
		want       string // time and level, "" for the time read
	}{
		{"days first", "x 20.11.2026 15:04:05,123456789 y", recognize.RuleOptions{TimeFormat: "%d.%m.%Y %H:%M:%S,%f"}, nil, "2026-11-20T15:04:05.123456789Z -"},
		{"milliseconds", "20.11.2026 15:04:05,120", recognize.RuleOptions{TimeFormat: "%d.%m.%Y %T,%f"}, nil, "2026-11-20T15:04:05.12Z -"},
		{"zone configured", "20.11.2026 15:04:05", recognize.RuleOptions{TimeFormat: "%d.%m.%Y %H:%M:%S"}, berlin, "2026-11-20T14:04:05Z -"},
		{"zone in the line", "at 2026/11/20-15:04:05+0200", recognize.RuleOptions{TimeFormat: "%Y/%m/%d-%H:%M:%S%z"}, berlin, "2026-11-20T13:04:05Z -"},
		{"zone with a colon", "2026/11/20-15:04:05+02:00", recognize.RuleOptions{TimeFormat: "%Y/%m/%d-%H:%M:%S%:z"}, nil, "2026-11-20T13:04:05Z -"},
		{"no year", "Feb 29 of 12:00", recognize.RuleOptions{TimeFormat: "%b %d of %R"}, nil, "2024-02-29T12:00:00Z -"},
		{"epoch", "ts<1795000000> x", recognize.RuleOptions{TimeFormat: "%s", TimeRegexp: `ts<(\d+)>`}, berlin, "2026-11-18T11:06:40Z -"},
		{"twelve hours", "11/20/26 03:04:05 PM", recognize.RuleOptions{TimeFormat: "%D %r"}, nil, "2026-11-20T15:04:05Z -"},
		{"ten digits of a fraction", "20.11.2026 15:04:05,1234567899", recognize.RuleOptions{TimeFormat: "%d.%m.%Y %T,%f"}, nil, "2026-11-20T15:04:05.123456789Z -"},
		{"leap second", "30.06.2026 23:59:60", recognize.RuleOptions{TimeFormat: "%d.%m.%Y %T"}, nil, "2026-06-30T23:59:59.999999999Z -"},
		{"not in numbers", "120.11.2025 20.11.20261 3.11.2026", recognize.RuleOptions{TimeFormat: "%d.%m.%Y"}, nil, "2026-11-03T00:00:00Z -"},
		{"no two-digit year of four", "20.11.2020 20.11.25", recognize.RuleOptions{TimeFormat: "%d.%m.%y"}, nil, "2025-11-20T00:00:00Z -"},
		{"UTC by name", "2026/11/20 15:04:05 GMT", recognize.RuleOptions{TimeFormat: "%Y/%m/%d %T %Z"}, berlin, "2026-11-20T15:04:05Z -"},
		{"another name", "2026/11/20 15:04:05 CET", recognize.RuleOptions{TimeFormat: "%Y/%m/%d %T %Z"}, berlin, "2026-11-20T14:04:05Z -"},
		{"Z and hours", "2026/11/20 15:04:05Z", recognize.RuleOptions{TimeFormat: "%Y/%m/%d %T%z"}, berlin, "2026-11-20T15:04:05Z -"},
		{"names", "Thursday, 19 November 2026, 3 PM", recognize.RuleOptions{TimeFormat: "%A, %d %B %Y, %I %p"}, nil, "2026-11-19T15:00:00Z -"},
		{"regexp alone", "type=X msg=audit(1795000000.243:24287): y", recognize.RuleOptions{TimeRegexp: `audit\((\d+\.\d+)`}, nil, "2026-11-18T11:06:40.243Z -"},
		{"named group", "a 1 b 2026-11-20 15:04:05", recognize.RuleOptions{TimeRegexp: `(\d) b (?P<time>.*)`}, nil, "2026-11-20T15:04:05Z -"},
		{"rules go before", "2026-11-19T00:00:00Z INFO at=2026-11-20T01:00:00Z", recognize.RuleOptions{TimeRegexp: `at=(\S+)`}, nil, "2026-11-20T01:00:00Z INFO"},
		{"nothing matches", "2026-11-19T00:00:00Z INFO x", recognize.RuleOptions{TimeRegexp: `at=(\S+)`, LevelRegexp: `sev=(\d)`}, nil, "2026-11-19T00:00:00Z INFO"},
		{"no such day", "32.11.2026", recognize.RuleOptions{TimeFormat: "%d.%m.%Y"}, nil, ""},
		{"too far ahead", "20.11.2027", recognize.RuleOptions{TimeFormat: "%d.%m.%Y"}, nil, ""},
		{"level by number", "2026-11-19T00:00:00Z sev=3 x", recognize.RuleOptions{LevelRegexp: `sev=(\d)`, Levels: map[string]string{"3": "error"}}, nil, "2026-11-19T00:00:00Z ERROR"},
		{"level as it is", "2026-11-19T00:00:00Z x/warning/", recognize.RuleOptions{LevelRegexp: `/(?P<level>\w+)/`}, nil, "2026-11-19T00:00:00Z WARN"},
		{"unknown level", "2026-11-19T00:00:00Z ERROR x/loud/", recognize.RuleOptions{LevelRegexp: `/(\w+)/`}, nil, "2026-11-19T00:00:00Z ERROR"},
	} {
		r := recognize.New(recognize.Options{Zone: c.zone, Rules: compile(t, c.rules)})
		s := r.Stamp([]byte(c.line), read.UnixNano(), read.UnixNano())
		got := time.Unix(0, s.Time).UTC().Format(time.RFC3339Nano) + " " + s.Level.String()
		if s.Time == read.UnixNano() {
			got = ""
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestCompile(t *testing.T) {
	t.Parallel()
	if r, err := recognize.Compile(recognize.RuleOptions{}); r != nil || err != nil {
		t.Errorf("%v, %v", r, err)
	}
	for want, opts := range map[string]recognize.RuleOptions{
		"it has no day":         {TimeFormat: "%H:%M:%S"},
		"%Q is not supported":   {TimeFormat: "%d.%m.%Q"},
		"it ends in %":          {TimeFormat: "%d.%m.%Y %"},
		"%f twice":              {TimeFormat: "%F %f %f"},
		"%S twice":              {TimeFormat: "%F %T %S"},
		"time regexp: ":         {TimeRegexp: "("},
		"level regexp: ":        {LevelRegexp: "["},
		"requires level-regexp": {Levels: map[string]string{"3": "error"}},
		`level "loud" for "3"`:  {LevelRegexp: `(\d)`, Levels: map[string]string{"3": "loud"}},
		"%:H is not supported":  {TimeFormat: "%d.%m.%Y %:H"},
		"it has no day: want":   {TimeFormat: "plain"},
	} {
		if _, err := recognize.Compile(opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Whatever a format and a line are, nothing panics, and a time that is taken is in bounds.
func FuzzRules(f *testing.F) {
	f.Add("%d.%m.%Y %H:%M:%S,%f %z", "20.11.2026 15:04:05,123 +0100", `(.*)`)
	f.Add("%b %e %T", "Nov  3 15:04:05", "")
	f.Add("%s", "1795000000", `\d+`)
	f.Add("%j %Y %p %Z %%", "300 2026 PM UTC %", "")
	f.Fuzz(func(t *testing.T, format, line, expression string) {
		rules, err := recognize.Compile(recognize.RuleOptions{TimeFormat: format, TimeRegexp: expression, LevelRegexp: expression})
		if err != nil {
			return
		}
		const read = int64(1_795_000_000_000_000_000)
		s := recognize.New(recognize.Options{Rules: rules}).Stamp([]byte(line), read, read)
		if s.Time < 631152000e9 || s.Time > read+int64(recognize.DefaultMaxAhead) {
			t.Errorf("%q of %q: %d", format, line, s.Time)
		}
		if s.Level > record.Fatal {
			t.Errorf("level %d", s.Level)
		}
	})
}

func BenchmarkRules(b *testing.B) {
	at := reference().UnixNano()
	for _, c := range []struct {
		name, line string
		rules      recognize.RuleOptions
	}{
		{"format", "20.11.2026 15:04:05,123 [main] request served, path /api/v1/things, status 200", recognize.RuleOptions{TimeFormat: "%d.%m.%Y %H:%M:%S,%f"}},
		{"no match", "something else that has no time but 20.11 and the like, path /api/v1/things, status 200", recognize.RuleOptions{TimeFormat: "%d.%m.%Y %H:%M:%S,%f"}},
		{"regexp", "type=SYSCALL msg=audit(1795187045.123:24287): arch=c000003e syscall=2 success=no", recognize.RuleOptions{TimeRegexp: `audit\((\d+\.\d+)`}},
		{"level", "2026-11-20T15:04:05Z prio=3 request served, path /api/v1/things, status 200", recognize.RuleOptions{LevelRegexp: `prio=(\d)`, Levels: map[string]string{"3": "error"}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := recognize.New(recognize.Options{Rules: compile(b, c.rules)})
			text := []byte(c.line)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				r.Stamp(text, at, at)
			}
		})
	}
}
