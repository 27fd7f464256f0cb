package batching

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/heap"

	"logstow/buffer/internal/wait"
	"logstow/buffer/queue"
	"logstow/buffer/spool"
	"logstow/record"
)

// Open batches take no more memory than they count for.
func TestOpenBatchesAreCharged(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	for _, records := range []int{1, 5, 100} {
		t.Run(fmt.Sprint(records), func(t *testing.T) {
			log, failure, memory := slog.New(slog.DiscardHandler), wait.NewFailure(), wait.NewMemory(1<<40)
			b := New(Options{
				Instance: "i", Width: time.Hour, FlushSize: 8 << 20, FlushInterval: -1, MaxOpen: 64, Once: true, Now: time.Now, Log: log,
				Queue: queue.New(memory, nil, failure, log), Memory: memory, Failure: failure,
			})
			defer func() {
				b.Stop()
				b.Close()
			}()
			const open = 500
			line := []byte(strings.Repeat("x", 100))
			before := heap.Live()
			for i := range records {
				for hour := range open {
					at := int64(hour)*int64(time.Hour) + int64(i%60)*int64(time.Minute)
					if _, err := b.Append(t.Context(), Chunk{Service: "web", Read: at, Records: []record.Record{{Time: at, Source: "s", Message: line}}}, spool.ChunkSize{}, 0); err != nil {
						t.Fatal(err)
					}
				}
			}
			took := heap.Live() - before
			charged, _ := memory.Used()
			t.Logf("a batch takes %d bytes and counts for %d", took/open, charged/open)
			if n := b.Stats().Open; n != open || took > charged || took < charged/4 {
				t.Errorf("%d batches take %d bytes, charged are %d", n, took, charged)
			}
		})
	}
}
