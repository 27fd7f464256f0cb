package compaction_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/compaction"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
)

// BenchmarkRun compacts an hour of many instances that flush each minute; LOGSTOW_SEGMENTS
// says how many segments that are.
func BenchmarkRun(b *testing.B) {
	segments := 600
	if n, err := strconv.Atoi(os.Getenv("LOGSTOW_SEGMENTS")); err == nil {
		segments = n
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	compressor := segment.NewCompressor()
	var raw, stored int64
	for b.Loop() {
		b.StopTimer()
		s := openStore(b)
		raw, stored = 0, 0
		for i := range segments {
			p := minute(b, rnd, compressor, fmt.Sprintf("pod-%d", i%(segments/60+1)), i*60/segments, uint64(i+1))
			raw, stored = raw+int64(p.meta.RawBytes), stored+int64(len(p.body))
			if _, err := s.Blobs().Create(b.Context(), p.name.String(), p.body, store.CreateOptions{Metadata: p.meta.Encode()}); err != nil {
				b.Fatal(err)
			}
		}
		o := compaction.DefaultOptions()
		o.After, o.Grace, o.TempDir, o.Rate = 0, 0, b.TempDir(), 0
		b.StartTimer()
		r := run(b, s, o)
		b.ReportMetric(float64(r.Outputs), "outputs/op")
		b.ReportMetric(float64(r.BytesOut)/float64(r.BytesIn), "out/in")
		b.ReportMetric(float64(r.Requests.Get), "reads/op")
	}
	b.SetBytes(raw)
	b.ReportMetric(float64(stored), "stored/op")
}

// minute is a segment of one minute of an instance, of 300 JSON lines of a web service.
func minute(tb testing.TB, rnd *rand.Rand, c *segment.Compressor, instance string, minute int, number uint64) plain {
	tb.Helper()
	var body bytes.Buffer
	bucket := hour()
	batch := blobnaming.Batch{}
	for i := range batch {
		batch[i] = byte(rnd.Uint32())
	}
	w := segment.NewWriter(&body, segment.Options{
		Service: "web", Instance: instance, Batch: batch, BucketStart: bucket.Unix(), BucketWidth: 3600, Compressor: c,
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
