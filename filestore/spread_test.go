package filestore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/filestore"
	"logstow/internal/test/testrand"
)

// Lines whose times are spread over many hours without an order have one segment for each hour, however many
// runs they are: the number of segments is what a query of them costs.
func TestSpreadTimes(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	s := newStore(t)
	hours := map[time.Time]bool{}
	var text strings.Builder
	const lines = 20_000 // 700 runs: more than are merged at once
	for range lines {
		at := now().Add(-time.Duration(rnd.Int64N(int64(100 * time.Hour)))).Truncate(time.Second)
		hours[at.Truncate(time.Hour)] = true
		fmt.Fprintf(&text, "%s x\n", at.Format(time.RFC3339))
	}
	add(t, s, "spread", strings.NewReader(text.String()))
	segments := 0
	for page, err := range s.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		segments += len(page)
	}
	if records := len(found(t, s)); records != lines {
		t.Errorf("%d records of %d", records, lines)
	}
	// A merge every 256 runs: three.
	if segments > 3*len(hours) {
		t.Errorf("%d segments of %d hours", segments, len(hours))
	}
}

// Lines of the same time are in the order of the files and of their lines, whether the run of each is
// written at once or merged.
func TestSpreadTies(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var want []string
	for file := range 3 {
		var text strings.Builder
		line := func(at time.Time) {
			n := len(want)
			fmt.Fprintf(&text, "%s %d\n", at.Format(time.RFC3339), n)
			want = append(want, fmt.Sprintf("%s - f%d %s %d", at.Format("01-02T15:04:05"), file, at.Format(time.RFC3339), n))
		}
		for range 10 {
			for range 50 { // a run of one hour
				line(now())
			}
			for i := range 50 { // one of many
				line(now().Add(-time.Duration(i%25) * time.Hour))
			}
		}
		add(t, s, fmt.Sprint("f", file), strings.NewReader(text.String()))
	}
	slices.SortStableFunc(want, func(a, b string) int { return strings.Compare(a[:14], b[:14]) })
	if got := found(t, s); !slices.Equal(got, want) {
		t.Errorf("%d records, want %d:\n%s\nwant\n%s", len(got), len(want), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The file of the runs that are merged is closed like the other one, and what cannot be written to it ends adding.
func TestSpreadFailure(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "%s x\n", now().Add(-time.Duration(i%50)*time.Hour).Format(time.RFC3339))
	}
	dir := t.TempDir()
	s, err := filestore.New(filestore.Options{Now: now, TempDir: dir, RunSize: 4000})
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, "x", strings.NewReader(text.String()))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(t.Context(), "x", strings.NewReader(text.String()), now()); err == nil || !strings.Contains(err.Error(), "temporary") {
		t.Errorf("%v", err)
	}
}
