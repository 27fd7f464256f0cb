package agent

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"logstow/internal/test/storetest"
	"logstow/upload"
)

// The estimate is of what was stored in between, by service: --max-flush-interval saves where little text is stored, a relay where
// segments are small.
func TestEstimate(t *testing.T) {
	t.Parallel()
	const cent, flushSize = 0.01, 8 << 20
	before := map[string]upload.Delivered{"web": {Segments: 1000, RawBytes: 1 << 40, StoredBytes: 1 << 40}, "ended": {Segments: 7}}
	after := map[string]upload.Delivered{
		"web":   {Segments: 1060, RawBytes: 1<<40 + 1<<20, StoredBytes: 1<<40 + 1<<18}, // one a minute, 1 MiB of text an hour
		"busy":  {Segments: 60, RawBytes: 1 << 30, StoredBytes: 10 * flushSize},
		"large": {Segments: 60, RawBytes: 8 << 30, StoredBytes: 60 * flushSize},
		"rare":  {Segments: 1, RawBytes: 100, StoredBytes: 100},
		"ended": {Segments: 7},
		"":      {Segments: 2},
	}
	got := estimateRequests(before, after, time.Hour, cent, flushSize)
	hourly := 720 * cent
	want := Estimate{
		Dollars: 183 * hourly,
		Services: map[string]float64{
			"web": 60 * hourly, "busy": 60 * hourly, "large": 60 * hourly, "rare": hourly, "": 2 * hourly,
		},
		MaxFlushInterval: (5 + 60 + 60 + 1 + 2) * hourly,
		Relay:            (6 + 10 + 60 + 0.1 + 0.2) * hourly,
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Error(diff)
	}
	if order := got.byCost(); !cmp.Equal(order, []string{"busy", "large", "web", "", "rare"}) {
		t.Errorf("%q", order)
	}
}

// Requests to storage that is billed are estimated after an hour, then once a day.
func TestEstimateLoop(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]int{"azblob://logs": 3, "./logs": 0} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			dir := t.TempDir()
			log := slog.New(slog.NewTextHandler(&out, nil))
			p := &pipeline{
				log: log, opened: newStores(log, func(string) string { return "" }, nil), uploader: upload.New(upload.Options{Store: storetest.OpenLocal(t)}),
				note: &noteWriter{dir: dir, log: log, damaged: func() uint64 { return 0 }},
			}
			p.FlushSize = 8 << 20
			p.opened.configure(Stores{All: []string{spec}})
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Hour)
			defer cancel()
			p.estimateLoop(ctx)
			if n := strings.Count(out.String(), "estimated cost of requests"); n != want {
				t.Errorf("%s: %d estimates in 50 hours, want %d: %s", spec, n, want, out.String())
			}
			if n, ok := ReadNote(dir); ok != (want > 0) || ok && n.Requests == nil {
				t.Errorf("%s: note %+v", spec, n)
			}
		})
	}
}
