package segment_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/goleak"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/segment"
)

var update = flag.Bool("update", false, "write golden files that are missing")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hour is the bucket of the tests: 2026-11-20T15:00:00Z.
const hour = 1795186800

// options are those of a test's segment.
func options() segment.Options {
	return segment.Options{
		Service:     "queue",
		Instance:    "queue-6d5f-abcde",
		Salt:        [16]byte{0: 1, 15: 255},
		BucketStart: hour,
		BucketWidth: 3600,
	}
}

// at is a time in the bucket of the tests.
func at(after time.Duration) int64 { return hour*int64(time.Second) + int64(after) }

// rec is a record of the tests.
func rec(after time.Duration, level record.Level, source, message string) record.Record {
	return record.Record{Time: at(after), Level: level, Source: source, Message: []byte(message)}
}

// write makes a segment.
func write(tb testing.TB, opts segment.Options, records ...record.Record) ([]byte, blobnaming.Metadata) {
	tb.Helper()
	var b bytes.Buffer
	w := segment.NewWriter(&b, opts)
	for i, r := range records {
		if err := w.Append(r); err != nil {
			tb.Fatalf("append record %d: %v", i, err)
		}
	}
	m, err := w.Close(7)
	if err != nil {
		tb.Fatalf("close: %v", err)
	}
	return b.Bytes(), m
}

// ranges reads from a blob in memory.
func ranges(blob []byte) segment.Range {
	return func(ctx context.Context, off, n int64) ([]byte, error) {
		if off < 0 || n <= 0 || off > int64(len(blob)) || n > int64(len(blob))-off {
			return nil, fmt.Errorf("range %d+%d is outside the blob's %d bytes: %w", off, n, len(blob), io.ErrUnexpectedEOF)
		}
		return blob[off : off+n : off+n], ctx.Err()
	}
}

// verify reads a whole segment.
func verify(tb testing.TB, blob []byte) (*segment.Footer, error) {
	tb.Helper()
	return segment.Verify(tb.Context(), ranges(blob), int64(len(blob)))
}

// blockTexts are the texts of a segment's blocks.
func blockTexts(tb testing.TB, blob []byte) [][]byte {
	tb.Helper()
	f, err := verify(tb, blob)
	if err != nil {
		tb.Fatal(err)
	}
	var texts [][]byte
	decoder := segment.NewDecoder()
	for _, b := range f.Blocks {
		text, err := decoder.DecodeBlock(nil, blob[b.Offset:b.Offset+b.Stored], b)
		if err != nil {
			tb.Fatal(err)
		}
		texts = append(texts, text)
	}
	return texts
}

// parse reads text back into records.
func parse(tb testing.TB, text []byte) []record.Record {
	tb.Helper()
	var records []record.Record
	for len(text) > 0 {
		line, rest, err := record.Next(text)
		if err != nil {
			tb.Fatal(err)
		}
		records = append(records, record.Record{
			Time: line.Time, Level: line.Level, Source: string(line.Source), Attributes: line.Attributes,
			Message: record.AppendMessage([]byte{}, line.Raw),
		})
		text = rest
	}
	return records
}

// randomRecords are records as odd as they come.
func randomRecords(rnd *rand.Rand, n int) []record.Record {
	const alphabet = "\n\n\t\r\x00\xff abc{}\"é"
	records := make([]record.Record, n)
	now := int64(0)
	for i := range records {
		switch rnd.IntN(4) {
		case 0: // the same time again
		case 1:
			now = rnd.Int64N(int64(time.Hour))
		default:
			now = min(now+rnd.Int64N(int64(time.Second)), int64(time.Hour)-1)
		}
		message := make([]byte, rnd.IntN(60))
		for j := range message {
			message[j] = alphabet[rnd.IntN(len(alphabet))]
		}
		records[i] = record.Record{
			Time:    at(time.Duration(now)),
			Level:   record.Level(rnd.IntN(record.Levels)),
			Source:  fmt.Sprintf("app/%d.log", rnd.IntN(5)),
			Message: message,
		}
	}
	return records
}
