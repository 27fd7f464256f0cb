package forward_test

import (
	"fmt"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"logstow/buffer"
	"logstow/input/forward"
	"logstow/internal/test/inputtest"
)

// BenchmarkPacked is one connection that waits for the acknowledgement of each
// message of 5,000 events, to a buffer in memory.
func BenchmarkPacked(b *testing.B) {
	for _, compressed := range []bool{false, true} {
		b.Run(map[bool]string{false: "packed", true: "gzip"}[compressed], func(b *testing.B) {
			buf, err := buffer.Open(b.Context(), buffer.Options{Instance: "test", Memory: 1 << 30})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = buf.Close() }()
			opts := options(inputtest.NewSink())
			opts.Sink, opts.Now = buf, nil
			server, stop := serve(b, forward.Options{Options: opts})
			const count = 5000
			var packed []byte
			for i := range count {
				record := ordered{"level", "info", "log", fmt.Sprintf("request %d served by the usual handler in time", i), "status", 200, "path", "/api/orders"}
				packed = append(packed, pack(b, event(i, record))...)
			}
			c := dial(b, server)
			b.SetBytes(int64(len(packed)))
			zipped := inputtest.Gzip(b, packed)
			n := 0
			for b.Loop() {
				n++
				id := fmt.Sprint(n)
				if compressed {
					inputtest.Write(b, c, pack(b, []any{"app", zipped, map[string]any{"chunk": id, "compressed": "gzip"}}))
				} else {
					inputtest.Write(b, c, pack(b, []any{"app", packed, chunk(id)}))
				}
				acknowledged(b, c, id)
			}
			b.ReportMetric(float64(n*count)/b.Elapsed().Seconds(), "records/s")
			if err := stop(); err != nil {
				b.Error(err)
			}
		})
	}
}

// BenchmarkMessages are single events, each with an acknowledgement, sent without
// waiting for it, to a buffer on disk.
func BenchmarkMessages(b *testing.B) {
	buf, err := buffer.Open(b.Context(), buffer.Options{Dir: b.TempDir(), Instance: "test"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = buf.Close() }()
	opts := options(inputtest.NewSink())
	opts.Sink, opts.Now = buf, nil
	server, stop := serve(b, forward.Options{Options: opts})
	const count = 2000
	line := text("request served by the usual handler in time")
	c := dial(b, server)
	n := 0
	for b.Loop() {
		var all []byte
		for range count {
			n++
			all = append(all, pack(b, []any{"app", second, line, chunk(fmt.Sprint(n))})...)
		}
		sent := make(chan error, 1)
		go func() {
			_, err := c.Write(all)
			sent <- err
		}()
		d := msgpack.NewDecoder(c)
		for range count {
			if _, err := d.DecodeMap(); err != nil {
				b.Fatal(err)
			}
		}
		if err := <-sent; err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
	if err := stop(); err != nil {
		b.Error(err)
	}
}
