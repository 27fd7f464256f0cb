package recognize_test

import (
	"strings"
	"testing"
	"time"

	"logstow/record"
	"logstow/record/recognize"
)

func TestRepeats(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 15, 4, 5, 123456000, time.UTC).UnixNano()
	early := time.Date(1969, 12, 31, 23, 59, 59, 500000000, time.UTC).UnixNano()
	for _, c := range []struct {
		name, value string
		at          int64
		level       record.Level
		want        bool
	}{
		{"time", `"2026-11-20T15:04:05.123456Z"`, at, record.None, true},
		{"@timestamp", `"2026-11-20T16:04:05.123456+01:00"`, at, record.None, true},
		{"ts", `1795187045.123456`, at, record.None, true},
		{"ts", `1795187045123`, at, record.None, false},
		{"time", `"2026-11-20T15:04:05.123Z"`, at, record.None, false},
		{"time", `"2026-11-20T15:04:06.123456Z"`, at, record.None, false},
		{"time", `"2026-11-20T16:04:05.123456Z"`, at, record.None, false},
		{"time", `"2026-11-20 20:34:05.123456"`, at, record.None, true}, // of some zone
		{"time", `"2026-11-20 15:05:05.123456"`, at, record.None, false},
		{"time", `"2026-11-21 05:04:05.123456"`, at, record.None, true},
		{"time", `"2026-11-21 05:19:05.123456"`, at, record.None, false},
		{"time", `"2026-11-20 01:04:05.123456"`, at, record.None, true},
		{"time", `"2026-11-20 00:49:05.123456"`, at, record.None, false},
		{"time", `"Nov 20 15:04:05.123456"`, at, record.None, true},
		{"time", `"Nov 19 15:04:05.123456"`, at, record.None, false},
		{"started", `"2026-11-20T15:04:05.123456Z"`, at, record.None, false},
		{"time", `"1969-12-31T23:59:59.5Z"`, early, record.None, true},
		{"time", `"1969-12-31T23:59:58.5Z"`, early, record.None, false},
		{"time", `{"$date":"2026-11-20T15:04:05.123456Z"}`, at, record.None, false},
		{"time", `noon`, at, record.None, false},
		{"time", ``, at, record.None, false},
		{"level", `"error"`, at, record.Error, true},
		{"level", `ERROR`, at, record.Error, true},
		{"level", `error`, at, record.Warn, false},
		{"lvl", `"err"`, at, record.Error, true},
		{"severity", `"E"`, at, record.Error, true},
		{"severity", `"severe"`, at, record.Error, false},
		{"level", `" WARNING "`, at, record.Warn, true},
		{"level", `wrn`, at, record.Warn, true},
		{"level", `notice`, at, record.Info, false},
		{"level", `Informational`, at, record.Info, true},
		{"level", `dbug`, at, record.Debug, true},
		{"level", `panic`, at, record.Fatal, false},
		{"level", `30`, at, record.Info, true},
		{"level", `35`, at, record.Info, false},
		{"level", `50`, at, record.Info, false},
		{"levelno", `20`, at, record.Info, true},
		{"severityNumber", `9`, at, record.Info, false},
		{"level", `"-"`, at, record.None, false},
		{"level", `""`, at, record.Info, false},
		{"msg", `"error"`, at, record.Error, false},
	} {
		r := recognize.New(recognize.Options{})
		for range 2 {
			if got := r.Repeats([]byte(c.name), []byte(c.value), c.at, c.level); got != c.want {
				t.Errorf("%s=%s: %v", c.name, c.value, got)
			}
		}
	}
}

func TestRepeatedStart(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 15, 4, 5, 123000000, time.UTC).UnixNano()
	whole := time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC).UnixNano()
	for _, c := range []struct {
		line  string // | is at the end of the start
		at    int64
		level record.Level
	}{
		{"2026-11-20T15:04:05.123Z |text", at, record.None},
		{"2026-11-20T15:04:05.123Z ERROR |text", at, record.Error},
		{"2026-11-20T16:04:05.123+01:00\terror\t|text", at, record.Error},
		{"2026-11-20 20:34:05,123 - INFO - |text", at, record.Info}, // of some zone
		{"2026-11-20 15:04:05,123 - |root - INFO - text", at, record.Info},
		{"[2026-11-20 15:04:05.123] [error] |[main] text", at, record.Error},
		{"[2026-11-20 15:04:05.123][WARN]: |text", at, record.Warn},
		{"(2026-11-20 15:04:05.123) |text", at, record.Warn},
		{"ERROR 2026-11-20 15:04:05.123 |text", at, record.Error},
		{"[INFO] 2026-11-20 15:04:05.123: |text", at, record.Info},
		{"ERROR: |text", at, record.Error},
		{"15:04:05.123 INFO  |text", at, record.Info},
		{"20:34:05.123 |text", at, record.Info},
		{"Nov 20 15:04:05 |host app[1]: text", whole, record.None},
		{"E1120 15:04:05.123000    |1234 a.go:1] text", at, record.Error},
		{"2026-11-20T15:04:05.123Z WARNING |", at, record.Warn},
		{"2026-11-20T15:04:05.123Z |", at, record.None},
		{"2026-11-20T15:04:05.123Z |-5 degrees", at, record.None},
		{"|2026-11-20T15:04:05.123Z\n  at f", at, record.None},
		// Not the same, or not alone.
		{"|2026-11-20T15:04:06.123Z ERROR text", at, record.Error},
		{"|2026-11-20T15:04:05Z ERROR text", at, record.Error},
		{"|E1120 15:04:05.123000 1234 a.go:1] text", at, record.Warn},
		{"2026-11-20T15:04:05.123Z |ERROR text", at, record.Warn},
		{"2026-11-20T15:04:05.123Z |NOTICE text", at, record.Info},
		{"2026-11-20T15:04:05.123Z |CRITICAL text", at, record.Fatal},
		{"2026-11-20T15:04:05.123Z |error text", at, record.Error},
		{"2026-11-20T15:04:05.123Z |INFO[0012] text", at, record.Info},
		{"2026-11-20T15:04:05.123Z |ERROR+2 text", at, record.Error},
		{"2026-11-20T15:04:05.123Z |[main] ERROR text", at, record.Error},
		{"|Error reading file", at, record.Error},
		{"|10.0.0.1 2026-11-20T15:04:05.123Z text", at, record.None},
		{"|[2026-11-20T15:04:05.123Z text", at, record.None},
		{"|", at, record.None},
		{"|[", at, record.Error},
	} {
		before, after, _ := strings.Cut(c.line, "|")
		r := recognize.New(recognize.Options{})
		for range 2 {
			if got := r.RepeatedStart([]byte(before+after), c.at, c.level); got != len(before) {
				t.Errorf("%q: %d, want %d", before+after, got, len(before))
			}
		}
	}
}

// Whatever a line is, what only repeats is at its start, on its first line.
func FuzzRepeatedStart(f *testing.F) {
	at := time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC).UnixNano()
	for _, line := range []string{"2026-11-20T15:04:05Z ERROR x", "[15:04:05.000] [error]: x", "ERROR\t(2026-11-20 15:04:05)", "E1120 15:04:05.000000 1 a.go:1] x", "<ERROR> - x", "[", "", "1795187045 I | x"} {
		f.Add(line, uint8(record.Error))
	}
	f.Fuzz(func(t *testing.T, line string, level uint8) {
		r := recognize.New(recognize.Options{})
		n := r.RepeatedStart([]byte(line), at, record.Level(level%uint8(record.Fatal+1)))
		if n < 0 || n > len(line) || strings.Contains(line[:n], "\n") {
			t.Fatalf("%d of %q", n, line)
		}
	})
}
