package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/effort"
)

// TestNeedle looks for one identifier in hundreds of segments: at most one request for each
// that does not hold it, and none again when it is queried a second time.
func TestNeedle(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "ships 125,000 lines")
	// So many lines that a segment is too large to be read as a whole.
	const segments, lines = 500, 250
	trace := func(n uint64) string { return fmt.Sprintf("%016x%016x", n*0x9e3779b97f4a7c15, n*0xd6e8feb86659fd93) }
	onBothStores(t, func(t *testing.T, s target) {
		var b strings.Builder
		start := time.Date(2026, 11, 18, 0, 0, 0, 0, time.UTC)
		for i := range segments {
			for j := range lines {
				at := start.Add(time.Duration(i)*5*time.Minute + time.Duration(j)*time.Second)
				fmt.Fprintf(&b, "%s INFO order order-%07d trace %s\n", at.Format(time.RFC3339), i*lines+j, trace(uint64(i*lines+j)))
			}
		}
		s.ship(t, "x", b.String(), "--bucket", "5m")
		s.env = append(s.env, "LOGSTOW_CACHE_DIR="+t.TempDir())
		ask := func(pattern string) (found string, gets, lists, filtered int) {
			t.Helper()
			r := s.command(t, nil, "logq", "query", "-s", "x", "--from", "2026-11-18", "--to", "2026-11-20", "-o", "json", "--explain", pattern)
			if r.status > 1 {
				t.Fatalf("status %d: %s", r.status, r.errs)
			}
			var done struct {
				Listed   int `json:"segments_listed"`
				Filtered int `json:"segments_filtered"`
				Requests struct{ List, Get int }
			}
			if err := json.Unmarshal([]byte(r.errs[strings.IndexByte(r.errs, '\n')+1:]), &done); err != nil {
				t.Fatalf("%v in %s", err, r.errs)
			}
			if done.Listed != segments {
				t.Fatalf("%d segments listed", done.Listed)
			}
			return string(r.out), done.Requests.Get, done.Requests.List, done.Filtered
		}
		for _, pattern := range []string{"order-0014907", trace(21_415)} {
			found, gets, lists, filtered := ask(pattern)
			if strings.Count(found, "\n") != 1 || !strings.Contains(found, pattern) {
				t.Errorf("%s: found %s", pattern, found)
			}
			if gets > segments+20 || filtered < segments-10 {
				t.Errorf("%s: %d requests for %d segments, %d skipped by their filter", pattern, gets, segments, filtered)
			}
			again, more, _, _ := ask(pattern)
			if again != found || s.dir == "" && more != 0 {
				t.Errorf("%s: again, with %d requests: %s", pattern, more, again)
			}
			t.Logf("%s: %d requests beside %d listings, %d segments skipped, again %d", pattern, gets, lists, filtered, more)
		}
	})
}
