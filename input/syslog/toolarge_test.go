package syslog_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/listen"
	"logstow/input/socket"
	"logstow/input/syslog"
	"logstow/internal/test/inputtest"
)

// small is a buffer on a small disk, which never holds more than 1 MiB at once.
type small struct{ *inputtest.Sink }

func (s small) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	n := 0
	for _, r := range c.Records {
		n += len(r.Message)
	}
	if n > 1<<20 {
		return 0, fmt.Errorf("cannot append to buffer: %w", buffer.ErrTooLarge)
	}
	return s.Sink.Append(ctx, c)
}

// A message that the buffer can never hold is dropped and counted; the input and those beside it go on.
func TestTooLargeForBuffer(t *testing.T) {
	t.Parallel()
	sink := inputtest.NewSink()
	s, err := socket.New(t.Context(), socket.Options{Options: input.Options{Service: "x", MaxRecord: 4 << 20, Sink: small{sink}}, Endpoint: listen.Endpoint{Address: "tcp://127.0.0.1:0"}}, new(syslog.Spec).Protocol())
	if err != nil {
		t.Fatal(err)
	}
	stop := inputtest.Run(t, s)
	c := inputtest.Dial(t, s.Addr())
	for i := range 3 {
		inputtest.Write(t, c, fmt.Sprintf("<13>before %d\n<13>%s\n<13>after %d\n", i, strings.Repeat("x", 2<<20), i))
	}
	sink.Wait(t, 6)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if dropped := s.Stats().Dropped.Load(); dropped != 3 {
		t.Errorf("%d dropped, want 3", dropped)
	}
}

// The first message that is truncated is logged.
func TestTruncatedIsLogged(t *testing.T) {
	t.Parallel()
	sink := inputtest.NewSink()
	var logged strings.Builder
	s, err := socket.New(t.Context(), socket.Options{Options: input.Options{
		Service: "x", MaxRecord: 1 << 10, Sink: sink, Log: slog.New(slog.NewTextHandler(&logged, nil)),
	}, Endpoint: listen.Endpoint{Address: "tcp://127.0.0.1:0"}}, new(syslog.Spec).Protocol())
	if err != nil {
		t.Fatal(err)
	}
	stop := inputtest.Run(t, s)
	c := inputtest.Dial(t, s.Addr())
	for range 3 {
		inputtest.Write(t, c, "<13>"+strings.Repeat("x", 2<<10)+"\n")
	}
	sink.Wait(t, 3)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(logged.String(), "message truncated at the record limit"); n != 1 {
		t.Errorf("logged %d times: %s", n, logged.String())
	}
}
