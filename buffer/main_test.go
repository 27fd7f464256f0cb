package buffer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"logstow/buffer"
	"logstow/record"
	"logstow/segment"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// noon is the default time of the tests' records.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// open opens a buffer that is closed when the test ends.
func open(t testing.TB, opts buffer.Options) *buffer.Buffer {
	t.Helper()
	opts.Instance = "test"
	b, err := buffer.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	closing := b // set to nil below: package testing retains the closures of parallel tests
	t.Cleanup(func() {
		if err := closing.Close(); err != nil {
			t.Error(err)
		}
		closing = nil
	})
	return b
}

func rec(at time.Time, message string) record.Record {
	return record.Record{Time: at.UnixNano(), Level: record.Info, Source: "a.log", Message: []byte(message)}
}

// chunk is a chunk of the service "web", read an hour after noon.
func chunk(records ...record.Record) buffer.Chunk {
	return buffer.Chunk{Service: "web", Read: noon.Add(time.Hour).UnixNano(), Records: records}
}

func mustAppend(t testing.TB, b *buffer.Buffer, c buffer.Chunk) buffer.LSN {
	t.Helper()
	lsn, err := b.Append(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return lsn
}

// next takes the next batch, which must be waiting.
func next(t testing.TB, b *buffer.Buffer) *buffer.Batch {
	t.Helper()
	batch, err := b.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := batch.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return batch
}

// rest takes all batches of a drained buffer and calls Done on them.
func rest(t testing.TB, b *buffer.Buffer) (batches []sealed) {
	t.Helper()
	for {
		batch, err := b.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return batches
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := batch.Load(t.Context()); err != nil {
			if err := batch.Quarantine(err.Error()); err != nil {
				t.Fatal(err)
			}
			continue
		}
		batches = append(batches, decode(t, batch))
		if err := batch.Done(); err != nil {
			t.Fatal(err)
		}
	}
}

// sealed is a batch with its records, in the order of the segment.
type sealed struct {
	*buffer.Batch
	records []record.Record
	parse   string
}

// messages returns a batch's messages, separated by spaces.
func (s sealed) messages() string {
	var all []string
	for _, r := range s.records {
		all = append(all, string(r.Message))
	}
	return strings.Join(all, " ")
}

func decode(t testing.TB, batch *buffer.Batch) sealed {
	t.Helper()
	body, err := batch.Body()
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(body)) != batch.Size {
		t.Fatalf("Size is %d, the body has %d bytes", batch.Size, len(body))
	}
	zr, err := zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer zr.Close()
	text, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	read := func(_ context.Context, off, n int64) ([]byte, error) { return body[off : off+n], nil }
	footer, err := segment.ReadFooter(t.Context(), read, batch.Size, batch.Meta.Footer)
	if err != nil {
		t.Fatal(err)
	}
	s := sealed{Batch: batch, parse: footer.Parse}
	for line := range strings.Lines(string(text)) {
		columns := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 5)
		at, err := time.Parse(time.RFC3339Nano, columns[0])
		if err != nil || len(columns) != 5 {
			t.Fatalf("line %q: %v", line, err)
		}
		s.records = append(s.records, record.Record{Time: at.UnixNano(), Source: columns[2], Message: []byte(columns[4])})
	}
	if uint64(len(s.records)) != batch.Meta.Records {
		t.Fatalf("metadata has %d records, the body %d", batch.Meta.Records, len(s.records))
	}
	var minutes uint64
	for _, m := range batch.Minutes {
		for _, n := range m.Levels {
			minutes += n
		}
	}
	if minutes != batch.Meta.Records {
		t.Fatalf("Minutes count %d records of %d", minutes, batch.Meta.Records)
	}
	return s
}

// noise makes text that does not compress.
func noise(rnd *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('!' + rnd.IntN(90))
	}
	return string(b)
}

// background runs f in a goroutine and returns a channel for its error.
func background(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// fill makes n records with the same time.
func fill(n int, at time.Time, message string) []record.Record {
	records := make([]record.Record, n)
	for i := range records {
		records[i] = rec(at, fmt.Sprint(message, i))
	}
	return records
}
