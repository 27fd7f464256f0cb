package batching

import (
	"errors"
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

// A chunk that is in the log, but not in its batch, makes the buffer fail; in memory, where it is nowhere, it
// does not.
func TestAppendFailsBehindLog(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixNano()
	unchecked := Chunk{Service: "web", Read: at, Records: []record.Record{{Time: at, Level: record.Level(record.Levels), Source: "s", Message: []byte("line")}}}

	b, s := open(t, t.TempDir(), disktest.New())
	b.Replay()
	if _, err := b.Append(t.Context(), unchecked, spool.ChunkSize{}, 0); err == nil || b.opts.Failure.Err() == nil {
		t.Errorf("append: %v, failure: %v", err, b.opts.Failure.Err())
	}
	b.Stop()
	b.Close()
	if err := s.Close(false); err == nil {
		t.Error("no failure is reported at the end")
	}

	log, failure, memory := slog.New(slog.DiscardHandler), wait.NewFailure(), wait.NewMemory(32<<20)
	b = New(Options{
		Instance: "i", Width: time.Hour, FlushSize: 8 << 20, FlushInterval: -1, MaxOpen: 64, Now: time.Now, Log: log,
		Queue: queue.New(memory, nil, failure, log), Memory: memory, Failure: failure,
	})
	if _, err := b.Append(t.Context(), unchecked, spool.ChunkSize{}, 0); err == nil || failure.Err() != nil {
		t.Errorf("append in memory: %v, failure: %v", err, failure.Err())
	}
	b.Stop()
	b.Close()
}

// An append that failed on a full disk keeps no part of the log.
func TestFailedAppendNeedsNoLog(t *testing.T) {
	t.Parallel()
	fs := disktest.New()
	b, s := open(t, t.TempDir(), fs)
	b.Replay()
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixNano()
	fs.Arm(1, disktest.Full)
	_, err := b.Append(t.Context(), Chunk{Service: "web", Read: at, Records: []record.Record{{Time: at, Source: "s", Message: []byte("line")}}}, spool.ChunkSize{}, 0)
	if !errors.Is(err, wal.ErrFull) {
		t.Errorf("append: %v", err)
	}
	if _, idle, ok := b.open.needed(s.Next()); !idle || !ok {
		t.Errorf("idle %v, may be removed %v", idle, ok)
	}
	mustClose(t, b, s)
}
