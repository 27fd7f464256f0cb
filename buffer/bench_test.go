package buffer_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"logstow/buffer"
	"logstow/record"
)

// BenchmarkAppend measures Append, with compression and a consumer that loads the batches and
// discards them. "buckets" is the number of buckets among which the records alternate.
func BenchmarkAppend(b *testing.B) {
	for _, bench := range []struct {
		buckets int
		disk    bool
	}{{1, false}, {4, false}, {1, true}, {4, true}} {
		buckets := bench.buckets
		b.Run(fmt.Sprintf("buckets=%d/disk=%t", buckets, bench.disk), func(b *testing.B) {
			c := buffer.Chunk{Service: "web", Read: noon.UnixNano()}
			size := 0
			for i := range 6000 {
				message := fmt.Appendf(nil, `{"time":"2026-11-20T12:00:%02d.%06dZ","level":"info","msg":"request done","path":"/api/v1/orders/%d","status":200,"duration_ms":%d,"trace_id":"%016x"}`,
					i/1000, i*7919%1000000, i*31, i*17%400, uint64(i+1)*0x9e3779b97f4a7c15)
				c.Records = append(c.Records, record.Record{
					Time:  noon.Add(time.Duration(i%buckets) * time.Hour).Add(time.Duration(i) * time.Millisecond).UnixNano(),
					Level: record.Info, Source: "app.log", Message: message,
				})
				size += len(message) + 1
			}
			opts := buffer.Options{}
			if bench.disk {
				opts.Dir = b.TempDir()
			}
			buf := open(b, opts)
			done := background(func() error {
				for {
					batch, err := buf.Next(b.Context())
					if errors.Is(err, io.EOF) {
						return nil
					}
					if err != nil {
						return err
					}
					err = batch.Load(b.Context())
					if err == nil {
						_, err = batch.Body()
					}
					if err == nil {
						err = batch.Done()
					}
					if err != nil {
						return err
					}
				}
			})
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				mustAppend(b, buf, c)
			}
			buf.Drain(b.Context())
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		})
	}
}
