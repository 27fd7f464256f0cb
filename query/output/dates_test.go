package output_test

import (
	"bytes"
	"testing"
	"time"

	"logstow/query/output"
	"logstow/record"
)

// The first record of another day has its date, and what follows it: in the zone of what is printed.
func TestDayChanges(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 2*60*60)
	var out bytes.Buffer
	w, err := output.New(&out, output.Options{Format: output.Pretty, Location: zone, Today: time.Date(2026, 11, 20, 12, 0, 0, 0, zone)})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"2026-11-19T22:00:00Z", "2026-11-20T21:59:59Z", "2026-11-20T22:00:00Z", "2026-11-20T15:00:00Z"} {
		m := match("x")
		moment, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		m.Time = moment.UnixNano()
		m.Line = append(record.AppendTime(nil, m.Time), m.Line[record.TimeLen:]...)
		if err := w.Write(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const rest = " ERROR api app.log: x\n"
	want := "00:00:00.000" + rest + "23:59:59.000" + rest + "2026-11-21 00:00:00.000" + rest + "2026-11-20 17:00:00.000" + rest
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
