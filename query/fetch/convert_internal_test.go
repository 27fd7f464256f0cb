package fetch

import (
	"context"
	"errors"
	"testing"

	"logstow/query/source"
)

// Text is decoded until the context ends.
func TestDecodingEndsWithContext(t *testing.T) {
	t.Parallel()
	f := &Fetcher{Recorder: source.NewRecorder(1)}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	decoded := f.limitDecoded(ctx, &source.Segment{})
	if err := decoded([]byte("a\nb\n")); err != nil {
		t.Error(err)
	}
	cancel(stop)
	if err := decoded([]byte("c\n")); !errors.Is(err, stop) {
		t.Error(err)
	}
	if r := f.Recorder.Report(); r.BytesDecoded != 4 || r.LinesDecoded != 2 {
		t.Errorf("%d bytes and %d lines decoded", r.BytesDecoded, r.LinesDecoded)
	}
}
