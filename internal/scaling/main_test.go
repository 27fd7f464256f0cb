package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// The tables of docs/scaling.md are what this program prints.
func TestDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/scaling.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, flush := range []time.Duration{time.Minute, 10 * time.Minute} {
		var b bytes.Buffer
		if err := printTable(&b, fleet{flush: flush, rate: 2000, keep: 30 * 24 * time.Hour}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if !strings.Contains(string(page), "    "+line) {
				t.Errorf("docs/scaling.md does not have, for %v: %s", flush, line)
			}
		}
	}
}

// More shippers are never less of anything, and instances spread over partitions.
func TestLoad(t *testing.T) {
	t.Parallel()
	f := fleet{flush: time.Minute, rate: 2000, keep: 30 * 24 * time.Hour}
	var last load
	for _, n := range []int{1, 10, 1000, 100_000} {
		f.shippers = n
		l := f.load()
		if l.creates <= last.creates || l.requests <= last.requests || l.share <= last.share || l.pages < last.pages || l.retain <= last.retain ||
			l.writeCost <= last.writeCost || l.keepCost <= last.keepCost || l.accounts < 1 {
			t.Errorf("%d shippers: %+v after %+v", n, l, last)
		}
		last = l
	}
	if last.hot > 0.08 {
		t.Errorf("the busiest of 16 partitions has %.0f%%", 100*last.hot)
	}
}
