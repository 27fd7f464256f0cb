package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/effort"
	"logstow/internal/test/loggen"
)

// Among 100,000 lines before and after a deployment, a message that is new, one that vanished and one that
// doubled are reported, and nothing else; each template finds its records.
func TestPatternsOfDeployment(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "ships and compares 100,000 lines")
	const lines = 100_000
	start := time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC)
	deployed := start.Add(time.Hour)
	generated := func(kind string, n int64, mean int64) string {
		var b bytes.Buffer
		if err := loggen.Write(&b, loggen.Options{Kind: kind, Size: n * mean, Start: start, Span: 2 * time.Hour, Seed: 7}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	shop, storage := generated("json", lines/2, 303), generated("hdfs", lines/2+500, 153)
	var planted strings.Builder
	plant := func(from time.Time, n int, format string) {
		for i := range n {
			at := from.Add(time.Duration(i) * 30 * time.Second).Format(time.RFC3339)
			fmt.Fprintf(&planted, `{"time":%q,"level":"warn","msg":%q}`+"\n", at, fmt.Sprintf(format, 4711*i%1000, i))
		}
	}
	plant(deployed.Add(time.Minute), 7, "replica %d of shard %d fell behind")
	plant(start, 5, "legacy token %d accepted for tenant %d")
	plant(start, 40, "connection pool %d exhausted after %d ms")
	plant(deployed, 80, "connection pool %d exhausted after %d ms")
	plant(start, 30, "slow statement %d took %d ms") // nearly doubled
	plant(deployed, 59, "slow statement %d took %d ms")
	if n := strings.Count(shop+storage, "\n"); n < lines || n > lines+lines/50 {
		t.Fatalf("%d lines", n)
	}
	s := target{store: t.TempDir()}
	s.ship(t, "shop", shop+planted.String())
	s.ship(t, "storage", storage)

	type change struct {
		Change, Template string
		Before, After    int
		Services         []string
	}
	of := []string{"--from", start.Format(time.RFC3339), "--to", deployed.Add(time.Hour).Format(time.RFC3339)}
	var got []change
	out := s.must(t, append([]string{"logq", "patterns", "--before", deployed.Format(time.RFC3339), "-o", "json"}, of...)...)
	for line := range bytes.Lines(out) {
		var c change
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		got = append(got, c)
	}
	shops := []string{"shop"}
	want := []change{
		{"new", "replica <_> of shard <_> fell behind", 0, 7, shops},
		{"gone", "legacy token <_> accepted for tenant <_>", 5, 0, shops},
		{"up", "connection pool <_> exhausted after <_>", 40, 80, shops},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, c := range got {
		n := strings.TrimSpace(string(s.must(t, append([]string{"logq", "query", "--count", "--pattern", c.Template}, of...)...)))
		if n != fmt.Sprint(c.Before+c.After) {
			t.Errorf("%q finds %s records, %d are counted", c.Template, n, c.Before+c.After)
		}
	}
	// Less is read if the ranges are far from each other.
	r := s.command(t, nil, append([]string{"logq", "patterns", "--before", "2026-11-20T14:05:00Z", "--after", "2026-11-20T15:55:00Z", "--explain"}, of...)...)
	whole := s.command(t, nil, append([]string{"logq", "patterns", "--before", "2026-11-20T15:00:00Z", "--explain"}, of...)...)
	if most := max(r.maxRSS, whole.maxRSS); most > 128<<20 {
		t.Errorf("%d bytes of memory", most)
	}
	if blocksRead(t, r.errs)*2 > blocksRead(t, whole.errs) {
		t.Errorf("ten minutes of two hours:\n%s\nall:\n%s", r.errs, whole.errs)
	}
}

// blocksRead is the number of blocks that a report names.
func blocksRead(t *testing.T, report string) (n int) {
	t.Helper()
	for line := range strings.Lines(report) {
		if _, err := fmt.Sscanf(line, "blocks: %d of", &n); err == nil {
			return n
		}
	}
	t.Fatalf("no blocks in %s", report)
	return 0
}
