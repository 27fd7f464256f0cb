package input

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"logstow/buffer"
)

// waitingSink waits until release is closed.
type waitingSink struct {
	Sink
	release chan struct{}
	waiting chan struct{}
}

func (s waitingSink) Append(context.Context, buffer.Chunk) (buffer.LSN, error) {
	s.waiting <- struct{}{}
	<-s.release
	return 0, nil
}

// Of many inputs few read files at a time, and the others take no memory for it. One that does not get a turn ends with its context.
func TestFilesInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const files = 5 * fileReads
		sink := waitingSink{release: make(chan struct{}), waiting: make(chan struct{}, files)}
		shared := NewReadBuffers(1)
		feeds := make([]*Feed, files)
		var all sync.WaitGroup
		for i := range feeds {
			f, err := NewFeed(Options{Service: "web", Sink: sink, Buffers: shared})
			if err != nil {
				t.Fatal(err)
			}
			feeds[i] = f
			all.Go(func() {
				if err := f.ReadFile(t.Context(), f.NewSource("a"), strings.NewReader("line\n"), time.Time{}); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := len(sink.waiting); n != fileReads {
			t.Errorf("%d files are read at a time, want %d", n, fileReads)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		f := feeds[0]
		other, err := NewFeed(f.opts)
		if err != nil {
			t.Fatal(err)
		}
		if err := other.ReadFile(ended, other.NewSource("a"), strings.NewReader("line\n"), time.Time{}); err == nil {
			t.Error("no error after the end of the context")
		}
		close(sink.release)
		all.Wait()
		for i, f := range feeds {
			if f.split.buf != nil || f.stamper.records != nil {
				t.Fatalf("feed %d keeps buffers", i)
			}
		}
		if len(sink.waiting) != files {
			t.Errorf("%d of %d files are read", len(sink.waiting), files)
		}
	})
}

// discardingSink accepts everything.
type discardingSink struct{ Sink }

func (discardingSink) Append(context.Context, buffer.Chunk) (buffer.LSN, error) { return 0, nil }

// A feed that returns its shared buffers retains no line in them that was longer than they are.
func TestLongLineIsNotRetained(t *testing.T) {
	t.Parallel()
	f, err := NewFeed(Options{Service: "web", Sink: discardingSink{}, Buffers: NewReadBuffers(0)})
	if err != nil {
		t.Fatal(err)
	}
	f.takeBuffers()
	usual := f.usual
	f.split.filled(copy(f.split.space(), "short\n"))
	for f.split.end <= readSize {
		n := len(f.split.space())
		f.split.filled(copy(f.split.space(), strings.Repeat("x", n)))
	}
	f.split.buf[f.split.end-1] = '\n'
	if err := f.processLines(t.Context(), f.NewSource("a"), time.Time{}, true); err != nil {
		t.Fatal(err)
	}
	f.giveBuffers()
	records := usual.records[:cap(usual.records)]
	for i := range records {
		if records[i].Message != nil {
			t.Fatalf("record %d of %d retains a line of %d bytes", i, len(records), len(records[i].Message))
		}
	}
	if len(records) < 2 {
		t.Errorf("%d records", len(records))
	}
}
