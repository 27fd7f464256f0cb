// Package stdin reads lines from standard input, or from any stream that can be read once.
package stdin

import (
	"context"
	"io"
	"os"
	"time"

	"logstow/input"
	"logstow/input/otlp"
)

// Source is the source of the records read from standard input.
const Source = "stdin"

// StopWait limits the time to flush after ctx has ended.
const StopWait = 10 * time.Second

// Spec configures the input.
type Spec struct{}

// Kind implements [input.Spec].
func (Spec) Kind() input.Kind { return input.Kind{Name: "stdin"} }

// Keys implements [input.Spec].
func (Spec) Keys() []input.Key { return []input.Key{{Name: "stdin", To: new(bool)}} }

// Open implements [input.Spec].
func (Spec) Open(_ context.Context, with input.Opening) (input.Reader, error) {
	with.Parts = otlp.Parts(with.Options)
	return reader{with.Options}, nil
}

// reader reads standard input.
type reader struct{ opts input.Options }

// Run implements [input.Reader].
func (r reader) Run(ctx context.Context) error { return Run(ctx, os.Stdin, r.opts) }

// Run reads r to its end and flushes its lines, including a last line without a newline. If ctx ends first, it
// stops reading, flushes the lines that it has read and returns nil. A blocked read cannot be canceled: its
// goroutine may remain until the process ends or r is closed.
func Run(ctx context.Context, r io.Reader, opts input.Options) error {
	feed, err := input.NewFeed(opts)
	if err != nil {
		return err
	}
	late, cancel := input.Grace(ctx, StopWait)
	defer cancel()
	source := feed.NewSource(Source)
	p := startPump(ctx, r)
	defer p.stop()
	readErr := read(late, feed, source, p)
	if late.Err() != nil {
		return readErr
	}
	if err := feed.End(late, source, time.Time{}); err != nil {
		return err
	}
	return readErr
}

// read reads p to its end. At a pause, it flushes lines that waited for their continuation.
func read(ctx context.Context, feed *input.Feed, source *input.Source, p *pump) error {
	p.waiting = source.Waiting
	for {
		if err := feed.Read(ctx, source, p, time.Time{}); err != nil || !p.paused {
			return err
		}
		p.paused = false
		if err := feed.Flush(ctx, source, time.Time{}); err != nil {
			return err
		}
	}
}
