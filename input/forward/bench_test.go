package forward_test

import (
	"fmt"
	"testing"

	"logstow/buffer"
	"logstow/input/forward"
)

// BenchmarkPacked is one connection that waits for the acknowledgement of each
// message of 5,000 events, to a buffer in memory.
func BenchmarkPacked(b *testing.B) {
	for _, compressed := range []bool{false, true} {
		b.Run(map[bool]string{false: "packed", true: "gzip"}[compressed], func(b *testing.B) {
			buf, err := buffer.Open(buffer.Options{Instance: "test", Memory: 1 << 30})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = buf.Close() }()
			opts := options(newSink())
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
			zipped := zip(b, packed)
			n := 0
			for b.Loop() {
				n++
				id := fmt.Sprint(n)
				if compressed {
					write(b, c, pack(b, []any{"app", zipped, map[string]any{"chunk": id, "compressed": "gzip"}}))
				} else {
					write(b, c, pack(b, []any{"app", packed, chunk(id)}))
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
