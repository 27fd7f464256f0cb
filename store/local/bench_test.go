package local_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"logstow/store"
	"logstow/store/local"
)

// segmentMetadata is about a segment's metadata.
func segmentMetadata(i int) map[string]string {
	return map[string]string{
		"StartTime": "2026-11-20T15:04:05.123456789Z", "EndTime": "2026-11-20T15:59:05.123456789Z",
		"LogVersion": "logstow/1", "Records": "123456", "RawBytes": "98765432", "Levels": "T0 D0 I100000 W20000 E3400 F56",
		"Batch": fmt.Sprintf("%032x", i), "Instance": "queue-7f9c6d5b4-x2x9z", "Seq": fmt.Sprint(1763650000000000000 + i), "Footer": "8123456",
	}
}

func segmentName(i int) string {
	return fmt.Sprintf("queue/2026/%02d/%02d/%02d00/%06d.log", 1+i/7200%12, 1+i/240%30, i/10%24, 1+i%10)
}

func fill(b *testing.B, n int) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "store")
	s := openStore(b, dir)
	for i := range n {
		if _, err := s.Blobs().Create(b.Context(), segmentName(i), []byte("x"), store.CreateOptions{Metadata: segmentMetadata(i)}); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// BenchmarkOpenList is what a fresh process pays before it reads its first segment.
func BenchmarkOpenList(b *testing.B) {
	for _, n := range []int{100, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := fill(b, n)
			b.ReportAllocs()
			for b.Loop() {
				s, err := local.Open(b.Context(), dir)
				if err != nil {
					b.Fatal(err)
				}
				listed := 0
				for page, err := range s.Blobs().List(b.Context(), "") {
					if err != nil {
						b.Fatal(err)
					}
					listed += len(page)
				}
				if listed != n {
					b.Fatalf("%d listed", listed)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkListHour(b *testing.B) {
	s := openStore(b, fill(b, 2400))
	b.ReportAllocs()
	for b.Loop() {
		for page, err := range s.Blobs().List(b.Context(), "queue/2026/01/05/13") {
			if err != nil || len(page) != 10 {
				b.Fatal(len(page), err)
			}
		}
	}
}

func BenchmarkCreate(b *testing.B) {
	for _, size := range []int{4 << 10, 8 << 20} {
		for _, parallel := range []int{1, 4} {
			b.Run(fmt.Sprintf("%dKiB/%d", size>>10, parallel), func(b *testing.B) {
				s := openStore(b, filepath.Join(b.TempDir(), "store"))
				body := make([]byte, size)
				var next atomic.Int64
				b.SetBytes(int64(size))
				b.ReportAllocs()
				b.SetParallelism(parallel)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						i := int(next.Add(1))
						if _, err := s.Blobs().Create(b.Context(), segmentName(i)+fmt.Sprint(i), body, store.CreateOptions{Metadata: segmentMetadata(i)}); err != nil {
							b.Error(err)
						}
					}
				})
			})
		}
	}
}

func BenchmarkUpsert(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := openStore(b, filepath.Join(b.TempDir(), "store"))
			if err := s.Tables().CreateTable(b.Context(), "bench"); err != nil {
				b.Fatal(err)
			}
			var batch []store.Entity
			for i := range n {
				e := store.Entity{Key: store.Key{Partition: "queue|0a", Row: fmt.Sprintf("%019d_1800_%06d", i, i)}, Properties: map[string]any{"Minutes": make([]byte, 600)}}
				for k, v := range segmentMetadata(i) {
					e.Properties[k] = v
				}
				batch = append(batch, e)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Tables().Upsert(b.Context(), "bench", batch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
