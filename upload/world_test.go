package upload_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"logstow/blobnaming"
	"logstow/buffer"
	"logstow/internal/test/storetest"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
	"logstow/tableindex"
	"logstow/upload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is the hour of the tests' records.
var start = time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)

// openStore opens an empty store.
func openStore(t *testing.T) store.Store {
	t.Helper()
	return storetest.OpenLocal(t)
}

// openBuffer opens a buffer in memory whose batches hold one call of fill each.
func openBuffer(t *testing.T) *buffer.Buffer {
	t.Helper()
	return openBufferWith(t, buffer.Options{})
}

// openBufferWith is openBuffer with options.
func openBufferWith(t *testing.T, opts buffer.Options) *buffer.Buffer {
	t.Helper()
	opts.Instance, opts.Once = "pod-1", true
	b, err := buffer.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// fill appends one batch of three records of service x and seals it.
func fill(t *testing.T, b *buffer.Buffer, message string) {
	t.Helper()
	c := buffer.Chunk{Service: "x", Read: start.UnixNano()}
	for i := range 3 {
		c.Records = append(c.Records, record.Record{
			Time: start.Add(time.Duration(i) * time.Second).UnixNano(), Source: "s",
			Message: fmt.Appendf(nil, "%s line %d", message, i),
		})
	}
	if _, err := b.Append(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	b.Flush(t.Context())
}

// fillMany appends n batches, numbered from 0 in their messages, and drains.
func fillMany(t *testing.T, b *buffer.Buffer, n int) {
	t.Helper()
	for i := range n {
		fill(t, b, fmt.Sprintf("batch %d", i))
	}
	b.Drain(t.Context())
}

// run uploads with short backoff and one worker, unless opts differ.
func run(ctx context.Context, opts upload.Options) (upload.Stats, error) {
	if opts.Workers == 0 {
		opts.Workers = 1
	}
	if opts.Backoff == (upload.Backoff{}) {
		opts.Backoff = upload.Backoff{Min: time.Microsecond, Max: time.Millisecond}
	}
	s := upload.New(opts)
	err := s.Run(ctx)
	return s.Stats(), err
}

// stored reads all messages of service x from the listed blobs.
func stored(t *testing.T, s store.Store) map[string]int {
	t.Helper()
	messages := make(map[string]int)
	for page, err := range s.Blobs().List(t.Context(), "x/") {
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page {
			read := func(ctx context.Context, off, n int64) ([]byte, error) { return s.Blobs().Read(ctx, b.Ref(), off, n) }
			footer, err := segment.Verify(t.Context(), read, b.Size)
			if err != nil {
				t.Errorf("%s: %v", b.Name, err)
				continue
			}
			if meta, err := blobnaming.ParseMetadata(b.Metadata); err != nil || meta != footer.Metadata {
				t.Errorf("%s: metadata %v, %v", b.Name, b.Metadata, err)
			}
			for _, block := range footer.Blocks {
				data, err := read(t.Context(), block.Offset, block.Stored)
				if err != nil {
					t.Fatal(err)
				}
				text, err := segment.NewDecoder().DecodeBlock(nil, data, block)
				if err != nil {
					t.Fatal(err)
				}
				for len(text) > 0 {
					var line record.Line
					if line, text, err = record.Next(text); err != nil {
						t.Fatal(err)
					}
					messages[string(line.Raw)]++
				}
			}
		}
	}
	return messages
}

// indexed counts the entities of service x, and fails for one that differs from its blob.
func indexed(t *testing.T, s store.Store) (entities int) {
	t.Helper()
	blobs := make(map[string]store.Blob)
	for page, err := range s.Blobs().List(t.Context(), "x/") {
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page {
			blobs[b.Name] = b
		}
	}
	for page, err := range tableindex.Range(t.Context(), s.Tables(), s.Container(), "x", start.Add(-time.Hour), start.Add(time.Hour)) {
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			entities++
			if b, ok := blobs[r.Name.String()]; !ok || b.ETag != r.ETag || b.Size != r.Size {
				t.Errorf("entity %v does not fit blob %+v", r, b)
			}
		}
	}
	return entities
}

// exactlyOnce checks that n batches are stored once each and indexed.
func exactlyOnce(t *testing.T, s store.Store, n int) {
	t.Helper()
	got := stored(t, s)
	if len(got) != 3*n {
		t.Errorf("%d different records stored, want %d", len(got), 3*n)
	}
	for message, times := range got {
		if times != 1 {
			t.Errorf("%q is stored %d times", message, times)
		}
	}
	if entities := indexed(t, s); entities != n {
		t.Errorf("%d entities in the index, want %d", entities, n)
	}
}
