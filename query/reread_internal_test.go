package query

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"logstow/store"
)

// flaky changes one byte of each response with bytes that no earlier response had.
type flaky struct {
	*memory
	mu      sync.Mutex
	rnd     *rand.Rand
	served  [][2]int64 // from and end of the ranges, of one blob
	changed int
}

func (f *flaky) Read(ctx context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, err := f.memory.Read(ctx, ref, off, n)
	again := slices.ContainsFunc(f.served, func(r [2]int64) bool { return off < r[1] && r[0] < off+n })
	if f.served = append(f.served, [2]int64{off, off + n}); err == nil && !again {
		f.changed++
		body = bytes.Clone(body)
		body[f.rnd.IntN(len(body))] ^= 1 << f.rnd.IntN(8)
	}
	return body, err
}

// A network that changes bytes of responses does not make segments damaged: what fails its checksum is read again.
func TestChangedResponses(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(11, 12))
	for range rounds(160) {
		w := newWorld(t, rnd, false)
		w.add("a", "i", 200+rnd.IntN(20_000), w.salt(), small(origin(), slices.Repeat([]string{"a needle of 0123456789abcdef", "plain", fmt.Sprint(rnd.Int64())}, 1+rnd.IntN(100))...))
		for name, sel := range map[string]Selection{
			"all":        {},
			"identifier": {Patterns: []string{"0123456789abcdef"}},
			"absent":     {Patterns: []string{"0123456789abcdee"}},
			"level":      {Where: []string{"level == 'INFO'"}},
		} {
			sel.From, sel.To, sel.Services = origin(), origin().Add(24*time.Hour), []string{"a"}
			f := &flaky{memory: w.memory, rnd: rnd}
			q, err := New([]Store{{Name: "memory", Container: "c", Blobs: f}}, sel, Options{})
			if err != nil {
				t.Fatal(err)
			}
			lines := got(t, q)
			if report := q.Report(); !slices.Equal(lines, w.want(&sel)) || len(report.Problems)+len(report.Notes) > 0 {
				t.Errorf("%s: %d lines, problems %v, notes %q, %d responses changed", name, len(lines), report.Problems, report.Notes, f.changed)
			}
		}
	}
}
