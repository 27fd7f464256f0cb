package batching

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"logstow/buffer/internal/wait"
	"logstow/buffer/queue"
	"logstow/buffer/spool"
	"logstow/buffer/wal"
	"logstow/internal/test/disktest"
	"logstow/record"
)

// open opens Batches in a spool on a small disk.
func open(t *testing.T, dir string, fs *disktest.FS) (*Batches, *spool.Spool) {
	t.Helper()
	log, failure, memory := slog.New(slog.DiscardHandler), wait.NewFailure(), wait.NewMemory(32<<20)
	s, found, err := spool.Open(t.Context(), spool.Options{
		Dir: dir, Instance: "i", FS: fs, FlushSize: 8 << 20, MaxSize: 1 << 30, RetryInterval: time.Millisecond,
		Now: time.Now, Log: log, Failure: failure,
	})
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{
		Instance: "i", Width: time.Hour, FlushSize: 8 << 20, FlushInterval: -1, MaxOpen: 64, Now: time.Now, Log: log,
		Spool: s, Queue: queue.New(memory, nil, failure, log), Memory: memory, Failure: failure, Seq: found.Seq,
	}), s
}

func mustClose(t *testing.T, b *Batches, s *spool.Spool) {
	t.Helper()
	b.Stop()
	b.Close()
	if err := s.Close(false); err != nil {
		t.Fatal(err)
	}
}

// Trim keeps log files that are not replayed yet.
func TestTrimWhileReplaying(t *testing.T) {
	t.Parallel()
	dir, fs := t.TempDir(), disktest.New()
	fs.Limit(spool.MinDisk)
	b, s := open(t, dir, fs)
	b.Replay()
	const lines = 9000
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixNano()
	for n := range lines {
		message := fmt.Appendf(nil, "line %d %0300d", n, n)
		c := Chunk{Service: fmt.Sprint("s", n%3), Read: at, Records: []record.Record{{Time: at, Source: "s", Message: message}}}
		if _, err := b.Append(t.Context(), c, spool.ChunkSize{}, 0); err != nil {
			t.Fatal(err)
		}
		b.Trim(false)
	}
	mustClose(t, b, s)
	if files := fs.Paths("/wal/"); len(files) < 3 {
		t.Fatalf("log files %v", files)
	}
	b, s = open(t, dir, fs)
	replayed := uint64(0)
	err := s.Replay(func(e wal.Records) error {
		replayed += uint64(len(e.Records))
		err := b.replayOne(e)
		if replayed%1000 == 0 {
			b.detachAll(false, b.sealer.sealAndEnqueue)
			b.Trim(true)
		}
		return err
	})
	if err != nil || replayed != lines {
		t.Errorf("%d records replayed, want %d: %v", replayed, lines, err)
	}
	mustClose(t, b, s)
}
