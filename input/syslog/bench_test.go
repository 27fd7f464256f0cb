package syslog_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/listen"
	"logstow/input/socket"
	"logstow/internal/test/await"
	"logstow/internal/test/inputtest"
)

// BenchmarkStream is one TCP connection to a durable buffer.
func BenchmarkStream(b *testing.B) {
	for _, dir := range []string{"", b.TempDir()} {
		b.Run(map[bool]string{true: "memory", false: "disk"}[dir == ""], func(b *testing.B) {
			sink, err := buffer.Open(b.Context(), buffer.Options{Dir: dir, Instance: "test", Memory: 1 << 30})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = sink.Close() }()
			opts := input.Options{Sink: sink, Stats: new(input.Stats)}
			s, stop := serve(b, socket.Options{Options: opts, Endpoint: listen.Endpoint{Address: "tcp://:0"}})
			var text bytes.Buffer
			for i := range 1000 {
				fmt.Fprintf(&text, "<165>1 2026-11-21T08:14:15.003Z mymachine.example.com evntslog 4711 - - An application event log entry with some text %d\n", i)
			}
			c := inputtest.Dial(b, s.Addr())
			b.SetBytes(int64(text.Len()))
			n := int64(0)
			for b.Loop() {
				inputtest.Write(b, c, text.String())
				n += 1000
			}
			_ = c.Close()
			await.Until(b, 2*time.Minute, "all is read", func() bool { return opts.Stats.Records.Load() >= n })
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
			if err := stop(); err != nil {
				b.Error(err)
			}
		})
	}
}
