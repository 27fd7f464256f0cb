package forward_test

import (
	"fmt"
	"io"
	"testing"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/forward"
	"logstow/input/listen"
	"logstow/internal/test/inputtest"
)

// What the buffer can never hold ends the connection that sent it, not the input.
func TestTooLargeForBuffer(t *testing.T) {
	t.Parallel()
	for head, options := range map[string]string{"\x93": "", "\x94": "\x81\xa5chunk\xa1c"} {
		sink := inputtest.NewSink()
		sink.Fail("x", fmt.Errorf("cannot append to buffer: %w", buffer.ErrTooLarge))
		s, err := forward.New(t.Context(), forward.Options{Options: input.Options{Service: "x", Sink: sink}, Endpoint: listen.Endpoint{Address: "127.0.0.1:0"}})
		if err != nil {
			t.Fatal(err)
		}
		stop := inputtest.Run(t, s)
		message := head + "\xa1t\x01\x81\xa3log\xa1x" + options
		first := inputtest.Dial(t, s.Addr())
		inputtest.Write(t, first, message)
		if answer, err := io.ReadAll(first); err != nil || len(answer) > 0 {
			t.Errorf("%q: answered %q, %v", options, answer, err)
		}
		sink.Fail("", nil)
		inputtest.Write(t, inputtest.Dial(t, s.Addr()), message)
		sink.Wait(t, 1)
		if err := stop(); err != nil {
			t.Errorf("%q: the input ended: %v", options, err)
		}
	}
}
