package socket_test

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"logstow/input"
	"logstow/input/listen"
	"logstow/input/socket"
	"logstow/input/syslog"
	"logstow/internal/test/inputtest"
)

// The time for a message does not begin again with each of its bytes.
func TestSlowSender(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sink := inputtest.NewSink()
		sink.Unacknowledged = true
		opts := socket.Options{
			Options: input.Options{Service: "test", Sink: sink, Stats: new(input.Stats)}, Endpoint: listen.Endpoint{Address: "tcp://:0", MessageTimeout: 200 * time.Millisecond},
		}
		s, err := socket.New(t.Context(), opts, new(syslog.Spec).Protocol())
		if err != nil {
			t.Fatal(err)
		}
		pipes := inputtest.NewPipes()
		s.Listen(pipes)
		inputtest.Run(t, s)
		c, err := pipes.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		inputtest.Write(t, c, "<13>Nov 21 08:20:52 h app: sl")
		refused := make(chan bool, 1)
		go func() {
			for range 3000 { // a byte now and then does not help
				time.Sleep(20 * time.Millisecond)
				if _, err := c.Write([]byte("o")); err != nil {
					refused <- true
					return
				}
			}
			refused <- false
		}()
		began := time.Now()
		got := inputtest.Messages(sink.Wait(t, 1))
		if strings.TrimRight(got[0], "o") != "sl" {
			t.Errorf("%q", got)
		}
		if took := time.Since(began); took > 300*time.Millisecond {
			t.Errorf("it ended after %v", took)
		}
		if !<-refused {
			t.Error("all of it was taken")
		}
		if _, err := io.ReadAll(c); err != nil {
			t.Error(err)
		}
		if n := s.Connections.Slow.Load(); n != 1 {
			t.Errorf("%d slow", n)
		}
	})
}
