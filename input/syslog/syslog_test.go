package syslog_test

import (
	"testing"

	"go.uber.org/goleak"

	"logstow/input"
	"logstow/input/socket"
	"logstow/input/syslog"
	"logstow/internal/test/inputtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a server until the test ends; stop ends it sooner and returns Run's error.
func serve(t testing.TB, opts socket.Options) (s *socket.Server, stop func() error) {
	t.Helper()
	opts.Service = "test"
	s, err := socket.New(t.Context(), opts, new(syslog.Spec).Protocol())
	if err != nil {
		t.Fatal(err)
	}
	return s, inputtest.Run(t, s)
}

func newSink() *inputtest.Sink {
	s := inputtest.NewSink()
	s.Unacknowledged = true
	return s
}

func options(s *inputtest.Sink) input.Options { return input.Options{Sink: s, Stats: new(input.Stats)} }
