package input_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"logstow/input"
	"logstow/record/recognize"
)

// Times that are consistently ahead of the clock by the offset of a zone are counted,
// and logged once with the zone that fits, whether lines are read or received.
func TestTimesAhead(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		zone  *time.Location
		ahead time.Duration
		lines int
		// want is what is logged, "" nothing; counted are the records of Stats.Ahead.
		want    string
		counted int64
	}{
		{"two hours", nil, 2*time.Hour - 3*time.Second, 20, "ahead=2h0m0s.*UTC+02:00", 20},
		{"an hour, read late", nil, time.Hour - 4*time.Minute, 20, "ahead=1h0m0s.*UTC+01:00", 20},
		{"a clock that is slightly wrong", nil, time.Hour + 20*time.Second, 20, "ahead=1h0m0s.*UTC+01:00", 20},
		{"five and a half hours", nil, 5*time.Hour + 30*time.Minute - time.Second, 20, "ahead=5h30m0s.*UTC+05:30", 20},
		{"an hour ahead of a zone", berlin, time.Hour - time.Second, 20, "time_zone=Europe/Berlin.*UTC+02:00", 20},
		{"few records", nil, 2*time.Hour - time.Second, 4, "", 4},
		{"not the offset of a zone", nil, 2*time.Hour + 7*time.Minute, 20, "", 20},
		{"a clock that is wrong by minutes", nil, 20 * time.Minute, 20, "", 0},
		{"now", nil, -time.Second, 20, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			zone := c.zone
			if zone == nil {
				zone = time.UTC
			}
			line := noon().Add(c.ahead).In(zone).Format("2006-01-02 15:04:05") + " INFO x"
			check := func(t *testing.T, run func(o input.Options)) {
				t.Helper()
				var log bytes.Buffer
				stats := new(input.Stats)
				run(input.Options{
					Service: "web", Sink: new(sink), Now: noon, Stats: stats, Recognize: recognize.Options{Zone: c.zone},
					Log: slog.New(slog.NewTextHandler(&log, nil)),
				})
				got := log.String()
				logged := strings.Count(got, "timestamps ahead of the clock")
				if c.want == "" && logged != 0 || c.want != "" && logged != 1 {
					t.Errorf("logged %d times: %s", logged, got)
				}
				for part := range strings.SplitSeq(c.want, ".*") {
					if !strings.Contains(got, part) || c.want != "" && !strings.Contains(got, "--time-zone") {
						t.Errorf("no %s in %s", part, got)
					}
				}
				if got := stats.Ahead.Load(); got != c.counted {
					t.Errorf("%d records counted, want %d", got, c.counted)
				}
			}
			t.Run("lines", func(t *testing.T) {
				t.Parallel()
				check(t, func(o input.Options) {
					f, err := input.NewFeed(o)
					if err != nil {
						t.Fatal(err)
					}
					src := f.NewSource("app.log")
					for range c.lines { // as they come when a file is followed
						if err := f.Read(t.Context(), src, strings.NewReader(line+"\n"), time.Time{}); err != nil {
							t.Fatal(err)
						}
					}
				})
			})
			t.Run("events", func(t *testing.T) {
				t.Parallel()
				check(t, func(o input.Options) {
					r, err := input.NewReceiver(o)
					if err != nil {
						t.Fatal(err)
					}
					for i := range c.lines {
						if err := r.Receive(t.Context(), "", []input.Event{{Source: fmt.Sprint(i), Message: []byte(line)}}); err != nil {
							t.Fatal(err)
						}
					}
				})
			})
		})
	}
}
