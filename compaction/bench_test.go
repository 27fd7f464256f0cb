//go:build unix

package compaction_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/compaction"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
)

// BenchmarkRun compacts an hour of many instances that flush each minute; LOGSTOW_SEGMENTS
// is the number of segments. CPU is compared with that of decompressing all blocks and
// compressing them again into one segment with a filter.
func BenchmarkRun(b *testing.B) {
	segments := 600
	if n, err := strconv.Atoi(os.Getenv("LOGSTOW_SEGMENTS")); err == nil {
		segments = n
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	compressor := segment.NewCompressor()
	var raw, stored int64
	var compacting, recompressing time.Duration
	for b.Loop() {
		b.StopTimer()
		s := openStore(b)
		raw, stored = 0, 0
		var all []plain
		for i := range segments {
			p := minute(b, rnd, compressor, fmt.Sprintf("pod-%d", i%(segments/60+1)), i*60/segments, uint64(i+1))
			raw, stored = raw+int64(p.meta.RawBytes), stored+int64(len(p.body))
			all = append(all, p)
			if _, err := s.Blobs().Create(b.Context(), p.name.String(), p.body, store.CreateOptions{Metadata: p.meta.Encode()}); err != nil {
				b.Fatal(err)
			}
		}
		o := compaction.DefaultOptions()
		o.After, o.Grace, o.TempDir, o.Rate = 0, 0, b.TempDir(), 0
		began := cpu(b)
		recompress(b, compressor, all)
		recompressing += cpu(b) - began
		began = cpu(b)
		b.StartTimer()
		r := run(b, s, o)
		compacting += cpu(b) - began
		b.ReportMetric(float64(r.Outputs), "outputs/op")
		b.ReportMetric(float64(r.BytesOut)/float64(r.BytesIn), "out/in")
		b.ReportMetric(float64(r.Requests.Get), "reads/op")
	}
	b.SetBytes(raw)
	b.ReportMetric(float64(compacting)/float64(recompressing), "cpu/recompressing")
	b.ReportMetric(float64(stored), "stored/op")
}

// cpu is the CPU time of the process.
func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// recompress decompresses all segments and compresses their records into one.
func recompress(tb testing.TB, c *segment.Compressor, all []plain) {
	tb.Helper()
	w := segment.NewWriter(io.Discard, segment.Options{
		Service: "web", Instance: "x", BucketStart: hour().Unix(), BucketWidth: 3600, Compressor: c,
	})
	var text []byte
	decoder := segment.NewDecoder()
	for _, p := range all {
		read := func(_ context.Context, off, n int64) ([]byte, error) { return p.body[off : off+n], nil }
		f, err := segment.ReadFooter(tb.Context(), read, int64(len(p.body)), p.meta.Footer)
		if err != nil {
			tb.Fatal(err)
		}
		for _, block := range f.Blocks {
			if text, err = decoder.DecodeBlock(text[:0], p.body[block.Offset:block.Offset+block.Stored], block); err != nil {
				tb.Fatal(err)
			}
			for rest := text; len(rest) > 0; {
				var line record.Line
				if line, rest, err = record.Next(rest); err != nil {
					tb.Fatal(err)
				}
				if err := w.Append(record.Record{Time: line.Time, Level: line.Level, Source: "app.log", Message: line.Raw}); err != nil {
					tb.Fatal(err)
				}
			}
		}
	}
	if _, err := w.Close(1); err != nil {
		tb.Fatal(err)
	}
}

// minute is a segment of one minute of an instance, of 300 JSON lines of a web service.
func minute(tb testing.TB, rnd *rand.Rand, c *segment.Compressor, instance string, minute int, number uint64) plain {
	tb.Helper()
	var body bytes.Buffer
	bucket := hour()
	salt := [16]byte{}
	for i := range salt {
		salt[i] = byte(rnd.Uint32())
	}
	w := segment.NewWriter(&body, segment.Options{
		Service: "web", Instance: instance, Salt: salt, BucketStart: bucket.Unix(), BucketWidth: 3600, Compressor: c,
	})
	at := bucket.Add(time.Duration(minute) * time.Minute).UnixNano()
	for range 300 {
		at += rnd.Int64N(390e6)
		message := fmt.Sprintf(`{"method":%q,"path":"/api/v1/items/%d","status":%d,"took_ms":%d,"trace_id":"%016x%016x","user":"u%d"}`,
			[]string{"GET", "POST"}[rnd.IntN(2)], rnd.IntN(1000), []int{200, 200, 200, 404, 500}[rnd.IntN(5)], rnd.IntN(900), rnd.Uint64(), rnd.Uint64(), rnd.IntN(500))
		if err := w.Append(record.Record{Time: min(at, bucket.Add(time.Duration(minute+1)*time.Minute).UnixNano()-1), Level: record.Info, Source: "app.log", Message: []byte(message)}); err != nil {
			tb.Fatal(err)
		}
	}
	m, err := w.Close(int64(number))
	if err != nil {
		tb.Fatal(err)
	}
	return plain{blobnaming.Name{Service: "web", Bucket: bucket, Number: number}, m, body.Bytes()}
}
