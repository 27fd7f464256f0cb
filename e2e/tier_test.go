package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// TestTiers moves days to cooler tiers: logq answers the same, by listing and by
// index, and reports what reading them costs; --max-cost stops where that would pass it.
func TestTiers(t *testing.T) {
	t.Parallel()
	s := azuriteTarget(t)
	now := time.Now().UTC()
	var b strings.Builder
	for _, age := range []int{1, 10, 20, 40} { // one in the hot tier, two in cool, one in cold
		for i := range 20_000 {
			at := now.AddDate(0, 0, -age).Truncate(24 * time.Hour).Add(time.Duration(i) * time.Millisecond)
			fmt.Fprintf(&b, "%s INFO order-%d of %d days %d\n", at.Format(time.RFC3339Nano), i, age, i*7919%10007)
		}
	}
	s.ship(t, "x", b.String())
	from := now.AddDate(0, 0, -50).Format(time.DateOnly)
	type told struct {
		Cost      float64 `json:"cost_usd"`
		Retrieved int64   `json:"bytes_retrieved"`
		Read      int64   `json:"bytes_stored_read"`
		AtMost    struct {
			Bytes int64
			Cost  float64 `json:"cost_usd"`
		} `json:"at_most"`
		Requests struct{ List, Get, Table int64 }
	}
	ask := func(plan string) (out string, before, after told) {
		t.Helper()
		r := s.command(t, nil, "logq", "query", "-s", "x", "--from", from, "-o", "json", "--explain", "--plan", plan, "--no-cache")
		first, second, _ := strings.Cut(r.errs, "\n")
		for text, to := range map[string]*told{first: &before, second: &after} {
			if err := json.Unmarshal([]byte(text), to); err != nil || r.status != 0 {
				t.Fatalf("status %d: %v in %s", r.status, err, r.errs)
			}
		}
		return string(r.out), before, after
	}
	want, before, hot := ask("list")
	if strings.Count(want, "\n") != 80_000 || hot.Retrieved != 0 || hot.Cost <= 0 || hot.Cost > before.AtMost.Cost+1e-3 {
		t.Fatalf("%d lines, %+v", strings.Count(want, "\n"), hot)
	}
	_, _, hotByIndex := ask("index")
	s.must(t, "shipper", "retain", "--keep", "365d", "--cool-after", "5d", "--cold-after", "30d")

	sizes := map[string]int64{}
	for line := range strings.Lines(string(s.must(t, "logq", "segments", "-o", "json"))) {
		var row struct {
			Tier   string
			Stored int64 `json:"stored_bytes"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		sizes[row.Tier] += row.Stored
	}
	if sizes["Hot"] == 0 || sizes["Cool"] == 0 || sizes["Cold"] == 0 || len(sizes) != 3 {
		t.Fatalf("bytes in tiers: %v", sizes)
	}
	for plan, hot := range map[string]told{"list": hot, "index": hotByIndex} {
		got, before, after := ask(plan)
		if got != want {
			t.Errorf("%s: other lines than before", plan)
		}
		// A blob is read as a whole here, or nearly.
		if most := sizes["Cool"] + sizes["Cold"]; after.Retrieved > most || after.Retrieved < most*3/4 || after.Retrieved >= after.Read {
			t.Errorf("%s: %d bytes retrieved of %d: %+v", plan, after.Retrieved, most, after)
		}
		rest := after.Cost - float64(after.Requests.List)*0.055/1e4 - float64(after.Requests.Table)*0.00036/1e4
		share := float64(after.Retrieved) / float64(sizes["Cool"]+sizes["Cold"])
		bytes := share * (float64(sizes["Cool"])*0.01 + float64(sizes["Cold"])*0.03) / 1e9
		gets := rest - bytes
		if gets < float64(after.Requests.Get)*0.0044/1e4 || gets > float64(after.Requests.Get)*0.10/1e4 {
			t.Errorf("%s: %g dollars are left for %d requests to read: %+v", plan, gets, after.Requests.Get, after)
		}
		if after.Cost <= hot.Cost || before.AtMost.Cost < rest {
			t.Errorf("%s: cost %g, hot %g, at most %g", plan, after.Cost, hot.Cost, before.AtMost.Cost)
		}
		limit := math.Nextafter(after.Cost, 0)
		if r := s.command(t, nil, "logq", "query", "-s", "x", "--from", from, "--plan", plan, "--no-cache", "--max-cost", fmt.Sprint(limit*0.9)); r.status == 0 {
			t.Errorf("%s: --max-cost %g let it pass", plan, limit)
		}
	}
}
