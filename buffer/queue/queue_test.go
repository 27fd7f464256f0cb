package queue_test

import (
	"bytes"
	"log/slog"
	"slices"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/buffer/internal/wait"
	"logstow/buffer/queue"
	"logstow/buffer/sealed"
	"logstow/buffer/unindexed"
	"logstow/buffer/wal"
	"logstow/record"
	"logstow/segment"
)

// item returns a batch in memory with a Seq.
func item(t *testing.T, seq int64) *queue.Item {
	t.Helper()
	var b bytes.Buffer
	w := segment.NewWriter(&b, segment.Options{Service: "web", Instance: "i", Salt: [16]byte{1, byte(seq)}, BucketStart: 3600, BucketWidth: 3600})
	if err := w.Append(record.Record{Time: 3600e9, Message: []byte("message")}); err != nil {
		t.Fatal(err)
	}
	meta, err := w.Close(seq)
	if err != nil {
		t.Fatal(err)
	}
	key := wal.Key{Service: "web", Start: 3600e9, Width: 3600e9}
	item := queue.NewItem(key, meta, int64(b.Len()), time.Unix(5, 6), queue.InMemory(b.Bytes()), 100)
	item.Minutes = w.Minutes()
	return item
}

// A long queue does not keep the minutes of its batches; Load reads the same ones again.
func TestMinutesInBacklog(t *testing.T) {
	t.Parallel()
	q := queue.New(wait.NewMemory(1<<20), entities(t), wait.NewFailure(), slog.New(slog.DiscardHandler))
	const n = 40
	want := item(t, 1).Minutes
	for seq := range int64(n) {
		q.Expect()
		q.Put(item(t, seq))
	}
	kept := 0
	for range n {
		b, err := q.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if b.Minutes != nil {
			kept++
		}
		if err := b.Load(t.Context()); err != nil || !slices.Equal(b.Minutes, want) {
			t.Errorf("minutes %v, %v, want %v", b.Minutes, err, want)
		}
		if err := b.Done(); err != nil {
			t.Error(err)
		}
	}
	if kept != 16 {
		t.Errorf("%d of %d batches kept their minutes, want 16", kept, n)
	}
}

// The memory that batches count against is free again after delivery.
func TestMemoryOfBatches(t *testing.T) {
	t.Parallel()
	memory := wait.NewMemory(1 << 20)
	q := queue.New(memory, entities(t), wait.NewFailure(), slog.New(slog.DiscardHandler))
	key := wal.Key{Service: "web", Start: 3600e9, Width: 3600e9}
	q.Expect()
	q.Put(queue.NewItem(key, blobnaming.Metadata{}, 100<<10, time.Unix(5, 6), queue.InMemory(make([]byte, 100<<10)), 108<<10))
	used := func(want int64) {
		t.Helper()
		if n, _ := memory.Used(); n != want {
			t.Errorf("%d bytes are used, want %d", n, want)
		}
	}
	used(108 << 10)
	b, err := q.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	freed := memory.Freed.Next()
	if err := b.DoneWithEntity("etag"); err != nil {
		t.Fatal(err)
	}
	<-freed
	used(0)
	if _, err := b.Body(); err == nil {
		t.Error("the bytes of a stored batch are kept")
	}
	if s := q.Stats(); s.Done != 1 || s.Sending != 0 {
		t.Errorf("%+v", s)
	}
}

// A batch in memory keeps its bytes until it is removed.
func TestInMemoryDropsBytes(t *testing.T) {
	t.Parallel()
	s := queue.InMemory([]byte("segment"))
	if err := s.SetState(sealed.State{Name: "name"}, false); err != nil {
		t.Fatal(err)
	}
	if b, err := s.Read(3, 4); err != nil || string(b) != "ment" {
		t.Errorf("%q, %v", b, err)
	}
	if err := s.Remove(); err != nil {
		t.Fatal(err)
	}
	if b, err := s.Read(0, 1); err == nil {
		t.Errorf("%q is kept", b)
	}
}

// entities returns entities in memory.
func entities(t *testing.T) *unindexed.Entities {
	t.Helper()
	all, err := unindexed.Open(t.Context(), unindexed.Options{Limit: 10, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
