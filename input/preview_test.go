package input_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/input"
	"logstow/internal/test/testrand"
	"logstow/record"
)

// Events become the same records, and are counted alike, whether they were previewed or not; and what the preview tells comes true.
func TestPreview(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	times := []int64{0, 1, noon().UnixNano(), noon().Add(-time.Hour).UnixNano(), noon().Add(2 * time.Hour).UnixNano(), noon().Add(48 * time.Hour).UnixNano(), -5}
	messages := []string{
		"", "x", "2026-11-20T10:00:00Z ERROR x", "2026-11-20T14:00:00Z x", "1985-01-01T00:00:00Z x", "2026-11-20 10:00:00 CST x", "03/04/2026 10:00:00 WARN x",
		"25/04/2026 10:00:00 x", strings.Repeat("long ", 1000), `{"level":"warn","time":"2026-11-20T09:00:00Z"}`,
	}
	for _, from := range []input.TimeFrom{input.TimeDefault, input.TimeAuto, input.TimeLine, input.TimeProtocol} {
		var events []input.Event
		for range 300 {
			events = append(events, input.Event{
				Time: times[rnd.IntN(len(times))], Level: []record.Level{record.None, record.Info}[rnd.IntN(2)], Fallback: []record.Level{record.None, record.Debug}[rnd.IntN(2)],
				Source: strings.Repeat("s", rnd.IntN(4)/3), Message: []byte(messages[rnd.IntN(len(messages))]),
			})
		}
		var stamped, previewed sink
		var stats, previewedStats input.Stats
		r := receiver(t, input.Options{Sink: &stamped, Stats: &stats, TimeFrom: from, MaxRecord: 4096})
		if err := r.Receive(t.Context(), "", events); err != nil {
			t.Fatal(err)
		}
		r = receiver(t, input.Options{Sink: &previewed, Stats: &previewedStats, TimeFrom: from, MaxRecord: 4096})
		opts := r.Options()
		opts.Now = func() time.Time { return noon().Add(-time.Millisecond) } // before it is received
		preview := input.NewPreview(&opts)
		outcomes := make([]input.Outcome, len(events))
		for i := range events {
			preview.From("x", events[i].Source)
			outcomes[i] = preview.Event(&events[i])
		}
		if err := r.Receive(t.Context(), "", events); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stamped.got(), previewed.got()); diff != "" {
			t.Errorf("from %d: %s", from, diff)
		}
		for i, record := range previewed.records {
			if made := outcomes[i]; made.Level != record.Level || made.Time != record.Time && (made.Time != 0 || record.Time != noon().UnixNano()) {
				t.Errorf("from %d: %d %s, previewed %+v", from, record.Time, record.Level, made)
			}
		}
		if a, b := stats.TimesRejected.Load(), previewedStats.TimesRejected.Load(); a != b || a == 0 && from != input.TimeProtocol {
			t.Errorf("from %d: %d times were rejected, %d of previewed events", from, a, b)
		}
		if a, b := stats.Ahead.Load(), previewedStats.Ahead.Load(); a != b {
			t.Errorf("from %d: %d ahead, %d of previewed events", from, a, b)
		}
		if a, b := stats.Cut.Load(), previewedStats.Cut.Load(); a != b || a == 0 {
			t.Errorf("from %d: %d truncated, %d of previewed events", from, a, b)
		}
	}
}
