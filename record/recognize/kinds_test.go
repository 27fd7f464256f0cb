package recognize_test

import (
	"strings"
	"testing"
	"time"

	"logstow/record"
	"logstow/record/recognize"
)

// Zones behind the time, in text, JSON and logfmt alike.
func TestZones(t *testing.T) {
	t.Parallel()
	for zone, want := range map[string]string{
		" CET": "2026-11-20T14:04:05Z", " CEST": "2026-11-20T13:04:05Z", " EST": "2026-11-20T20:04:05Z", " PDT": "2026-11-20T22:04:05Z",
		" MSK": "2026-11-20T12:04:05Z", " JST": "2026-11-20T06:04:05Z", " AEDT": "2026-11-20T04:04:05Z", " NPT": "2026-11-20T09:19:05Z",
		"-03": "2026-11-20T18:04:05Z", " -03": "2026-11-20T18:04:05Z", " +03": "2026-11-20T12:04:05Z", " +0530": "2026-11-20T09:34:05Z",
		" +0100 CET": "2026-11-20T14:04:05Z", " -0500 EST": "2026-11-20T20:04:05Z", " +0300 MSK": "2026-11-20T12:04:05Z", " +01:00 UTC": "2026-11-20T14:04:05Z",
		" GMT-0300": "2026-11-20T18:04:05Z", " GMT+0300": "2026-11-20T12:04:05Z", " UTC+02:00": "2026-11-20T13:04:05Z", " UTC+2": "2026-11-20T13:04:05Z",
		" GMT-3": "2026-11-20T18:04:05Z", " Europe/Berlin": "2026-11-20T14:04:05Z", " America/New_York": "2026-11-20T20:04:05Z",
		" America/Argentina/Buenos_Aires": "2026-11-20T18:04:05Z", " Asia/Kolkata": "2026-11-20T09:34:05Z", " Etc/GMT+3": "2026-11-20T18:04:05Z",
		" IST": "2026-11-20T15:04:05Z", " CST": "2026-11-20T15:04:05Z",
		"CET": "2026-11-20T14:04:05Z", "UTC": "2026-11-20T15:04:05Z", "GMT+0300": "2026-11-20T12:04:05Z",
		" (CET)": "2026-11-20T14:04:05Z", " [+0100]": "2026-11-20T14:04:05Z", " (UTC+01:00)": "2026-11-20T14:04:05Z", " [UTC]": "2026-11-20T15:04:05Z",
	} {
		for _, at := range []string{"2026-11-20 15:04:05", "2026-11-20T15:04:05", "2026/11/20 15:04:05.000", "20 Nov 2026 15:04:05", "20/Nov/2026 15:04:05", "11/20/2026 15:04:05"} {
			text := at + zone
			check(t, text+" ERROR x", want, record.Error)
			check(t, text+" [12] ERROR:  x", want, record.Error)
			check(t, "["+text+"] ERROR x", want, record.Error)
			check(t, `{"time":"`+text+`","level":"error"}`, want, record.Error)
			check(t, `level=error time="`+text+`"`, want, record.Error)
		}
		check(t, "Fri Nov 20 2026 15:04:05"+zone+" ERROR x", want, record.Error)
	}
	for line, want := range map[string]string{
		"Fri Nov 20 15:04:05 CET 2026 ERROR x":                                   "2026-11-20T14:04:05Z",
		"Fri Nov 20 15:04:05 -0300 2026 ERROR x":                                 "2026-11-20T18:04:05Z",
		"Fri Nov 20 2026 15:04:05 GMT-0300 (Brasilia Standard Time) ERROR x":     "2026-11-20T18:04:05Z",
		"2026-11-20 15:04:05 WAKT [1] ERROR:  x":                                 "2026-11-20T15:04:05Z",
		"2026-11-20 15:04:05 UTC:10.0.0.1(1234):user@db:[1234]:ERROR:  no table": "2026-11-20T15:04:05Z",
	} {
		check(t, line, want, record.Error)
	}
	for _, line := range []string{
		"2026-11-20 15:04:05 GET ERROR", "2026-11-20 15:04:05 THE ERROR was fixed", "2026-11-20 15:04:05 NOT ERROR",
	} {
		check(t, line, "2026-11-20T15:04:05Z", record.None)
	}
}

// A name with several meanings, or none, takes the configured zone, and the stamp tells so; a name decides the repeated hour of the
// clock change.
func TestAssumedZones(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC).UnixNano()
	for line, want := range map[string]struct {
		time    string
		assumed bool
	}{
		"2026-11-20 15:04:05 Z ERROR x":                      {"2026-11-20T15:04:05Z", false},
		"2026-11-20 15:04:05 [UTC] x":                        {"2026-11-20T15:04:05Z", false},
		"2026-11-20 15:04:05 [EST] x":                        {"2026-11-20T14:04:05Z", false},
		"2026-11-20 15:04:05 [-1] x":                         {"2026-11-20T14:04:05Z", false},
		"2026-11-20 15:04:05 IST ERROR x":                    {"2026-11-20T14:04:05Z", true},
		"2026-11-20 15:04:05 CST [1] x":                      {"2026-11-20T14:04:05Z", true},
		"2026-11-20 15:04:05 XYZT [1] x":                     {"2026-11-20T14:04:05Z", true},
		"2026-11-20 15:04:05 Europe/Nowhere x":               {"2026-11-20T14:04:05Z", true},
		`{"ts":"2026-11-20 15:04:05 IST"}`:                   {"2026-11-20T14:04:05Z", true},
		"2026-11-20 15:04:05 x":                              {"2026-11-20T14:04:05Z", false},
		"2026-11-20 15:04:05 EST x":                          {"2026-11-20T20:04:05Z", false},
		"2026-10-25 02:30:00 CEST x":                         {"2026-10-25T00:30:00Z", false},
		"2026-10-25 02:30:00 CET x":                          {"2026-10-25T01:30:00Z", false},
		"2026-10-25 02:30:00 +0200 CEST x":                   {"2026-10-25T00:30:00Z", false},
		"[20-Nov-2026 16:04:05 Europe/Berlin] PHP Notice: x": {"2026-11-20T15:04:05Z", false},
	} {
		r := recognize.New(recognize.Options{Zone: berlin})
		s := r.Stamp([]byte(line), at, at)
		if got := time.Unix(0, s.Time).UTC().Format(time.RFC3339Nano); got != want.time || r.ZoneAssumed() != want.assumed || !s.Found {
			t.Errorf("%s: %s, assumed %v", line, got, r.ZoneAssumed())
		}
	}
}

func TestClocksOfTwelveHours(t *testing.T) {
	t.Parallel()
	for clock, want := range map[string]string{
		"03:04:05 PM": "15:04:05Z", "03:04:05 AM": "03:04:05Z", "12:04:05 AM": "00:04:05Z", "12:04:05 PM": "12:04:05Z", "03:04:05PM": "15:04:05Z",
		"03:04:05 pm": "15:04:05Z", "03:04:05 p.m.": "15:04:05Z", "03:04:05.5 PM": "15:04:05.5Z", "15:04:05 PM": "15:04:05Z", "00:04:05 AM": "00:04:05Z",
		"03:04:05 PM UTC": "15:04:05Z", "03:04:05 PM +0100": "14:04:05Z",
	} {
		for _, date := range []string{"2026-11-20 ", "2026/11/20 ", "2026-11-20T", "20 Nov 2026 ", "20/Nov/2026 ", "20-Nov-2026 ", "20.11.2026 ", "Nov 20, 2026 ", "11/20/2026 ", "11/20/2026, "} {
			check(t, date+clock+" ERROR x", "2026-11-20T"+want, record.Error)
			check(t, "["+date+clock+"] ERROR x", "2026-11-20T"+want, record.Error)
			check(t, `{"timestamp":"`+date+clock+`","level":"error"}`, "2026-11-20T"+want, record.Error)
		}
		r, at := recognize.New(recognize.Options{}), reference().UnixNano()
		for range 2 { // the second in a minute that is known
			s := r.Stamp([]byte("2026-11-20 "+clock+" ERROR x"), at, at)
			if got := time.Unix(0, s.Time).UTC().Format(time.RFC3339Nano); got != "2026-11-20T"+want || s.Level != record.Error {
				t.Errorf("%s: %s %v", clock, got, s.Level)
			}
		}
	}
	check(t, "Fri Nov 20 03:04:05 PM 2026 ERROR x", "2026-11-20T15:04:05Z", record.Error)
	check(t, "Fri Nov 20 03:04:05 PM CET 2026 ERROR x", "2026-11-20T14:04:05Z", record.Error)
	check(t, "2026-11-20 15:04:05 Amsterdam ERROR x", "2026-11-20T15:04:05Z", record.None)
}

// Any date may stand before any gap and any clock.
func TestDatesGapsAndClocks(t *testing.T) {
	t.Parallel()
	gaps := []string{" ", "  ", "T", "t", "_", "|", " | ", "\t", ",", ", ", ";", " - ", "-", ":", " @ ", " at ", "] [", "]["}
	clocks := map[string]string{
		"15:04:05": "15:04:05Z", "5:04:05": "05:04:05Z", "15:04:5": "15:04:05Z", "15:4:05": "15:04:05Z", "5:4:5.5": "05:04:05.5Z",
		"15:04": "15:04:00Z", "15:04Z": "15:04:00Z", "3:04 PM": "15:04:00Z", "3:04:05PM": "15:04:05Z", "3:04:05 PM+01:00": "14:04:05Z",
		"15.04.05": "15:04:05Z", "15-04-05": "15:04:05Z", "15:04:5.000Z": "15:04:05Z", "15:04:05.1": "15:04:05.1Z",
		"15:04:05,123456789123": "15:04:05Z", "15:04:05.123456789123": "15:04:05.123456789Z", "15:04:05:123456": "15:04:05.123456Z",
		"15:04:05:6": "15:04:05.006Z", "15:04:05:06": "15:04:05.006Z", "15:04:05,1234+0100": "14:04:05.1234Z",
	}
	for date, day := range map[string]string{
		"2026-11-20": "2026-11-20", "2026/11/20": "2026-11-20", "2026.11.20": "2026-11-20", "2026-1-2": "2026-01-02", "2026/1/2": "2026-01-02",
		"2026-Nov-20": "2026-11-20", "2026Nov20": "2026-11-20", "2026 Nov 02": "2026-11-02", "20261120": "2026-11-20", "26-11-20": "2026-11-20",
		"20/11/2026": "2026-11-20", "20.11.2026": "2026-11-20", "20-11-2026": "2026-11-20", "11-20-2026": "2026-11-20", "11/2/2026": "2026-11-02",
		"20-Nov-2026": "2026-11-20", "2-Nov-2026": "2026-11-02", "20/Nov/2026": "2026-11-20", "20 Nov 2026": "2026-11-20", "20Nov2026": "2026-11-20",
		"20 November 2026": "2026-11-20", "20-NOV-26": "2026-11-20", "Nov 20 2026": "2026-11-20", "Nov  2 2026": "2026-11-02", "Nov-20-2026": "2026-11-20",
		"Nov 20, 2026": "2026-11-20", "November 20, 2026": "2026-11-20", "Fri 20 Nov 2026": "2026-11-20", "Fri, 20 Nov 2026": "2026-11-20",
		"Fri 2026-11-20": "2026-11-20", "Friday, November 20, 2026": "2026-11-20", "20.11.26": "2026-11-20", "2.11.26": "2026-11-02",
	} {
		for _, gap := range gaps {
			for clock, want := range clocks {
				check(t, "["+date+gap+clock+"] ERROR x", day+"T"+want, record.Error)
			}
			check(t, date+gap+"15:04", day+"T15:04:00Z", record.None)
		}
		for _, clock := range []string{"15 x", "15.04 x", "15-04 x", "15:4 x", "15:04m x", "25:04:05 x", "150405 of them", "of 15:04:05"} {
			if date != "20261120" {
				check(t, date+" "+clock, "", record.None)
			}
		}
	}
	check(t, "2026-11-20T150405.5Z ERROR x", "2026-11-20T15:04:05.5Z", record.Error)
	r, at := recognize.New(recognize.Options{}), reference().UnixNano()
	r.Stamp([]byte("2026-11-20T10:00:04.000Z ERROR x"), at, at)
	if s := r.Stamp([]byte("2026-11-20T10:00:5.000Z ERROR x"), at, at); s.Time != time.Date(2026, 11, 20, 10, 0, 5, 0, time.UTC).UnixNano() {
		t.Error("a second of one digit in a known minute:", s)
	}
}

// Of numbers of two digits, the year is the one with the later date that is not in the future.
func TestYearsOfTwoDigits(t *testing.T) {
	t.Parallel()
	for date, want := range map[string]string{
		"26/11/20": "2026-11-20", "20/11/26": "2026-11-20", "11/20/26": "2026-11-20", "11/09/26": "2026-11-09", "17/06/09": "2017-06-09",
		"26/11/30": "2026-11-30", "26-11-19": "2026-11-19", "19-11-26": "2026-11-19", "1/2/26": "2026-01-02",
	} {
		at, ref := time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC).UnixNano(), reference().UnixNano()
		s := recognize.New(recognize.Options{MaxAhead: 365 * 24 * time.Hour}).Stamp([]byte(date+" 15:04:05 x"), at, ref)
		if got := time.Unix(0, s.Time).UTC().Format(time.RFC3339); !s.Found || got != want+"T15:04:05Z" {
			t.Errorf("%s: %v %s, want %s", date, s.Found, got, want)
		}
	}
}

// Values above 12 decide the order of day and month for the lines after it.
func TestDatesWithSlashes(t *testing.T) {
	t.Parallel()
	at := reference().UnixNano()
	for _, c := range []struct {
		dayFirst bool
		lines    []string
		want     string
	}{
		{false, []string{"11/10/2026 15:04:05 x"}, "2026-11-10"},
		{true, []string{"10/11/2026 15:04:05 x"}, "2026-11-10"},
		{false, []string{"20/11/2026 15:04:05 x"}, "2026-11-20"},
		{true, []string{"11/20/2026 15:04:05 x"}, "2026-11-20"},
		{false, []string{"20/10/2026 15:04:05 x", "10/11/2026 15:04:05 x"}, "2026-11-10"},
		{true, []string{"10/20/2026 15:04:05 x", "11/10/2026 15:04:05 x"}, "2026-11-10"},
		{false, []string{"9/8/2026, 3:04:05 PM x"}, "2026-09-08"},
		{false, []string{"11/20/26 15:04:05 x"}, "2026-11-20"},
		{false, []string{"17/06/09 15:04:05 x"}, "2017-06-09"},
	} {
		r := recognize.New(recognize.Options{DayFirst: c.dayFirst})
		var s recognize.Stamp
		for _, line := range c.lines {
			s = r.Stamp([]byte(line), at, at)
		}
		if got := time.Unix(0, s.Time).UTC().Format(time.RFC3339); !s.Found || got != c.want+"T15:04:05Z" {
			t.Errorf("%q: %v %s, want %s", c.lines, s.Found, got, c.want)
		}
	}
	for _, line := range []string{"13/13/2026 15:04:05", "1/2/3 15:04:05", "1/2/20266 15:04:05", "11/20/2026", "0/1/2026 15:04:05", "1/32/2026 1:02:03"} {
		check(t, line, "", record.None)
	}
}

// A clock alone takes its date from the reference, the modification time of the file.
func TestClockAlone(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"15:04:05.123 [main] ERROR c.e.App - x": "2026-11-20T15:04:05.123Z",
		"15:04:05,123 ERROR [main] x":           "2026-11-20T15:04:05.123Z",
		"[02:04:05.123] ERROR x":                "2026-11-21T02:04:05.123Z",
		"03:30:00.000 ERROR x":                  "2026-11-21T03:30:00Z",
		"04:30:00.000 ERROR x":                  "2026-11-20T04:30:00Z",
	} {
		check(t, line, want, record.Error)
	}
	for _, line := range []string{"15:04:05 x", "15:04:05.12 x", "took 15:04:05.123 x", `{"time":"00:00:05.123"}`, "time=00:00:05.123 x=1"} {
		check(t, line, "", record.None)
	}
}

func TestKindsOfLevels(t *testing.T) {
	t.Parallel()
	checkAll(t, []lineCase{
		{"2026-11-20 15:04:05 {ERROR} x", when, record.Error},
		{"2026-11-20 15:04:05 Z ERROR x", when, record.Error},
		{`date=2026-11-20 time=16:04:05 tz="+1" level=error`, when, record.Error},
		{"2026-11-20 15:04:05 \"ERROR\" x", when, record.Error},
		{`"2026-11-20 15:04:05","host-1","ERROR","x"`, when, record.Error},
		{"2026-11-20 15:04:05 db:[1234]:ERROR:  x", when, record.Error},
		{"2026-11-20 15:04:05 UTC::@:[1234]:LOG:  checkpoint", when, record.Info},
		{"2026-11-20 15:04:05 user@db:[1]:FATAL: x", when, record.Fatal},
		{"2026-11-20 15:04:05,000 root         INFO     x", when, record.Info},
		{"2026-11-20 15:04:05,000 MyService    WARNING  x", when, record.Warn},
		{"2026-11-20 15:04:05,000 longnameoflogger ERROR    x", when, record.Error},
		{"2026-11-20 15:04:05,000 the ERROR was fixed", when, record.None},
		{"[2026-11-20 15:04:05] local.ERROR: x", when, record.Error},
		{"[2026-11-20T15:04:05.000000+00:00] app.WARNING: x {\"a\":1} []", when, record.Warn},
		{"time=2026-11-20T15:04:05Z level=ERROR+2 msg=x", when, record.Error},
		{"2026-11-20T15:04:05Z INFO+1 x", when, record.Info},
		{`{"time":"2026-11-20T15:04:05Z","level":"DEBUG-4","msg":"x"}`, when, record.Debug},
		{`{"timestamp":"2026-11-20 15:04:05.000 UTC","pid":1,"error_severity":"FATAL","message":"x"}`, when, record.Fatal},
		{"[20-Nov-2026 15:04:05 UTC] PHP Warning:  Undefined variable $x in /a.php on line 3", when, record.Warn},
		{"[20-Nov-2026 15:04:05 UTC] PHP Fatal error:  Uncaught Exception: x", when, record.Error},
		{"[20-Nov-2026 15:04:05 UTC] PHP Notice:  x", when, record.Info},
		{`{"time":"2026-11-20T15:04:05Z","category":"ApplicationGatewayAccessLog","properties":{"httpMethod":"GET","httpStatus":502}}`, when, record.Error},
		{`{"time":"2026-11-20T15:04:05Z","category":"FrontDoorAccessLog","properties":{"httpStatusCode":"404"}}`, when, record.Warn},
		{`{"time":"2026-11-20T15:04:05Z","properties":{"httpStatusCode":"200"},"category":"FrontDoorAccessLog"}`, when, record.Info},
		{`{"time":"2026-11-20T15:04:05Z","category":"Other","properties":{"httpStatusCode":"500"}}`, when, record.None},
		{`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","requestReceivedTimestamp":"2026-11-20T15:04:05Z"}`, when, record.None},
		{"thread 'main' panicked at src/main.rs:2:5:\nindex out of bounds", "", record.Error},
		{"[Nest] 1234  - 11/20/2026, 3:04:05 PM     LOG [NestFactory] Starting Nest application...", when, record.Info},
		{"[Nest] 1234  - 11/20/2026, 3:04:05 PM   ERROR [ExceptionsHandler] x", when, record.Error},
		{"# Time: 2026-11-20T15:04:05.000000Z\n# User@Host: root[root] @ localhost []\nselect 1;", when, record.None},
		{"2026-11-20T15:04:05  PID[1234] Error       message", when, record.Error},
		{"2026-11-20T15:04:05 [main] error  Started", when, record.Error},
		{"2026-11-20T15:04:05 [main] error Started", when, record.None},
		{"2026-11-20T15:04:05.000Z info hostd[1] [Originator@6876] x", when, record.Info},
		{"2026-11-20T15:04:05.000Z info hostd[] [Originator@6876] x", when, record.None},
		{"\x1b[31mERROR\x1b[0m 2026-11-20 15:04:05 x", when, record.Error},
		{`{"level":"\u001b[31merror\u001b[39m","timestamp":"2026-11-20T15:04:05Z"}`, when, record.Error},
		{"2026-11-20T15:04:05Z [\x1b[31merror\x1b[39m]: x", when, record.Error},
		{"2026-11-20T15:04:05Z \x1b[32mlevel\x1b[0m=\x1b[31merror\x1b[0m a=b", when, record.Error},
	})
}

// A level may stand on either side of a time, with any separators between them.
func TestLevelsBesideTimes(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]record.Level{
		"ERROR": record.Error, "Error": record.Error, "error": record.Error, "ERR": record.Error, "err": record.Error, "E": record.Error,
		"WARN": record.Warn, "Warning": record.Warn, "warning": record.Warn, "W": record.Warn, "WRN": record.Warn,
		"INFO": record.Info, "Info": record.Info, "Information": record.Info, "I": record.Info, "NOTICE": record.Info,
		"DEBUG": record.Debug, "Debug": record.Debug, "D": record.Debug, "Verbose": record.Trace, "V": record.Trace,
		"CRITICAL": record.Fatal, "CRIT": record.Fatal, "crit": record.Fatal, "F": record.Fatal,
	} {
		for _, at := range []string{when, "2026-11-20 15:04:05", "20/11/2026 15:04:05", "20-Nov-2026 15:04:05", "Nov 20, 2026 3:04:05 PM"} {
			for _, line := range []string{
				"[L T] some text", "[L|T] some text", "[L - T] some text", "(L T) some text", "L T some text", "L [T] some text", "L - T - some text",
				"L | T | some text", "L|T|some text", "L,T,some text", "L;T;some text", "[L] [T] some text", "[L][T] some text", "[L] T some text",
				"T [L] some text", "T|L|some text", "[T L] some text", "T (L) some text",
			} {
				check(t, strings.NewReplacer("T", at, "L", word).Replace(line), when, want)
			}
			if len(word) > 1 {
				for _, line := range []string{
					"T,L,some text", "T;L;some text", "T, L, some text", "T L - some text", "T L [main] some text", "[T] L - some text", "'T' L: some text",
				} {
					check(t, strings.NewReplacer("T", at, "L", word).Replace(line), when, want)
				}
			}
		}
	}
	check(t, "[15:04:05 E] x", "", record.Error)
	checkAll(t, []lineCase{
		{"2026-11-20 15:04:05 Error Shop.Orders - failed", when, record.Error},
		{"2026-11-20 15:04:05 [main] info shop.orders - started", when, record.Info},
		{"2026-11-20 15:04:05 [main] Error reading - failed", when, record.None},
		{"2026-11-20 15:04:05,12.5,error,x", when, record.None},
		{"2026-11-20 15:04:05,config,x", when, record.None},
		{"2026-11-20 15:04:05 success - x", when, record.None},
		{"2026-11-20 15:04:05;main;ERROR;failed", when, record.Error},
		{"2026-11-20 15:04:05,main,Error,failed", when, record.Error},
		{"2026-11-20 15:04:05, main, ERROR text", when, record.None},
		{`[20/Nov/2026:15:04:05 +0000] 10.0.0.1 "GET / HTTP/1.1" 502 12 0.003`, when, record.Error},
		{`10.0.0.1 - [20/Nov/2026:15:04:05 +0000] "GET /a?x=HTTP/1 HTTP/2.0" 404 12`, when, record.Warn},
		{`[20/Nov/2026:15:04:05 +0000] 10.0.0.1 "GET / HTTP/1.1" 5020 12`, when, record.None},
		{"2026-11-20 15:04:05,A,12 of them", when, record.None},
		{"2026-11-20 15:04:05|A|12 of them", when, record.None},
		{"debug 2026-11-20 15:04:05 of Ceph", when, record.None},
		{"Note 2026-11-20 15:04:05 x", "", record.None},
		{"[config 2026-11-20 15:04:05] x", "", record.None},
		{"Error in 2026-11-20 15:04:05 x", "", record.None},
		{"time=2026-11-20 15:04:05 level=error msg=x", when, record.Error},
		{"ts=11/20/2026 4:04:05.000 PM +01:00, level=error, msg=x", when, record.Error},
		{"time=20.11.2026 15:04:05.123456 level=error", "2026-11-20T15:04:05.123456Z", record.Error},
	})
}

func TestSpellingsOfNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"time", "Time", "TIME", "TS", "timestamp", "TimeStamp", "time_stamp", "@Timestamp", "log.timestamp", "Log-Timestamp", "DATETIME", "date_time",
		"utcTime", "UtcTimestamp", "TimestampUTC", "loggedAt", "LOGGED_AT", "occurred_at", "epochMs", "timestampNs", "longdate", "CreatedAt", "local_time",
	} {
		check(t, `{"`+name+`":"2026-11-20T15:04:05Z","level":"error"}`, when, record.Error)
	}
	for _, name := range []string{
		"level", "Lvl", "LOGLEVEL", "Log_Level", "log-level", "log.level", "LevelName", "level_label", "Severity", "severityName", "LOG_SEVERITY", "@Level",
	} {
		check(t, `{"time":"2026-11-20T15:04:05Z","`+name+`":"error"}`, when, record.Error)
	}
	checkAll(t, []lineCase{
		{"\ufeff" + `{"time":"2026-11-20T15:04:05Z","level":"error"}`, when, record.Error},
		{"\ufeff[15:04:05 ERR] x", "", record.Error},
		{`{"request_time":"2026-11-20T15:04:05Z","levels":"error"}`, "", record.None},
		{`{"TimeZone":"2026-11-20T15:04:05Z","_level_of_detail_and_so_on_and_on":"error"}`, "", record.None},
		{`{"created":"2020-01-01T00:00:00Z","Time":"2026-11-20T15:04:05Z"}`, when, record.None},
		{`{"time":"2026-11-20T16:04:05+01:00[Europe/Berlin]","severity":17}`, when, record.None},
		{`{"time":"2026-11-20T15:04:05Z[UTC]","level":35}`, when, record.Info},
		{`{"time":"\/Date(1795187045000)\/","level":"error"}`, when, record.Error},
		{`{"time":"/Date(1795187045000)/","level":"error"}`, when, record.Error},
		{"2026-11-20T15:04:05Z[main] ERROR x", when, record.Error},
	})
}
