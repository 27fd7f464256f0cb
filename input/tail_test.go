package input_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/multiline"
	"logstow/input/tail"
)

// keeper is a sink that keeps records and positions, and now and then refuses.
type keeper struct {
	history
	kept map[string][]byte
}

func (k *keeper) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	positions := c.Positions
	c.Positions = nil
	lsn, err := k.history.Append(ctx, c)
	if err != nil {
		return 0, err
	}
	for _, p := range positions {
		k.kept[p.Input] = bytes.Clone(p.Value)
		if len(p.Value) == 0 {
			delete(k.kept, p.Input)
		}
	}
	return lsn, nil
}

func (k *keeper) Position(name string) ([]byte, bool) {
	v, ok := k.kept[name]
	return v, ok
}

func (k *keeper) Positions(prefix string) []buffer.Position {
	var out []buffer.Position
	for name, value := range k.kept {
		if strings.HasPrefix(name, prefix) {
			out = append(out, buffer.Position{Input: name, Value: value})
		}
	}
	slices.SortFunc(out, func(a, b buffer.Position) int { return strings.Compare(a.Input, b.Input) })
	return out
}

// A file that grows while it is tailed, with runs that end and runs that crash:
// each record comes exactly once.
func TestTailResumesMixedStreams(t *testing.T) {
	t.Parallel()
	for _, format := range formats() {
		for seed := range uint64(4) {
			r := rand.New(rand.NewPCG(seed, 4))
			m := mix(r, format, 80)
			path := filepath.Join(t.TempDir(), "x")
			k := &keeper{kept: make(map[string][]byte)}
			written, runs, crashed := 0, 0, 0
			for last := false; !last; {
				step := min(r.IntN(600), len(m.text)-written)
				last = written+step == len(m.text)
				file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
				if err == nil {
					_, err = file.Write(m.text[written : written+step])
					err = errors.Join(err, file.Close())
				}
				if err != nil {
					t.Fatal(err)
				}
				written += step
				for done := false; !done; {
					runs++
					k.left = 1 + r.IntN(4)
					if len(k.counts) > 10_000 || runs > 10_000 {
						t.Fatalf("%v, seed %d: no end", format, seed)
					}
					tailer, err := tail.New(tail.Options{
						Options: input.Options{Service: "x", Sink: k, Lines: input.Lines{Multiline: multiline.Options{Start: regexp.MustCompile("^S"), Timeout: time.Hour}}},
						Paths:   []string{path}, FromStart: true, Resume: true, Polling: true, Once: last,
					})
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithCancel(t.Context())
					if !last {
						cancel() // it reads what is there, and ends
					}
					err = tailer.Run(ctx)
					cancel()
					if err != nil && !errors.Is(err, errCrash) {
						t.Fatal(err)
					}
					if done = err == nil; !done {
						crashed++
					}
				}
			}
			if diff := cmp.Diff(m.records, k.bySource()); diff != "" {
				t.Fatalf("%v, seed %d, %d runs: %s\n%s", format, seed, runs, diff, m.text)
			}
			if crashed == 0 || runs < 5 {
				t.Errorf("%v, seed %d: %d of %d runs crashed", format, seed, crashed, runs)
			}
		}
	}
}

// What is held is handed over when a file is quiet.
func TestTailFlushes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("ERROR one\njava.lang.Error: x\n\tat a.b.C(D.java:1)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 10)
	tailer, err := tail.New(tail.Options{
		Options: input.Options{Service: "x", Sink: sinkFunc(func(c buffer.Chunk) {
			for _, r := range c.Records {
				got <- string(r.Message)
			}
		}), Lines: input.Lines{Multiline: multiline.Options{Auto: true, Timeout: time.Millisecond}}},
		Paths: []string{path}, FromStart: true, Resume: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- tailer.Run(ctx) }()
	select {
	case m := <-got:
		if !strings.HasSuffix(m, "(D.java:1)") || !strings.HasPrefix(m, "ERROR one") {
			t.Errorf("got %q", m)
		}
	case <-time.After(time.Minute):
		t.Error("what was written is still held")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// sinkFunc is a sink that only takes records.
type sinkFunc func(c buffer.Chunk)

func (f sinkFunc) Append(_ context.Context, c buffer.Chunk) (buffer.LSN, error) {
	f(c)
	return 0, nil
}
func (f sinkFunc) Position(string) ([]byte, bool)           { return nil, false }
func (f sinkFunc) Positions(string) []buffer.Position       { return nil }
func (f sinkFunc) Synced(context.Context, buffer.LSN) error { return nil }
