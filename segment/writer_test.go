package segment_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/record"
	"logstow/segment"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	records := []record.Record{
		rec(0, record.Info, "app.log", "first"),
		rec(time.Second, record.None, "", ""),
		rec(time.Second, record.Error, "app.log", "panic: x\n\tat y\n\n\tat z\r"),
		rec(61*time.Second, record.Fatal, "b\tc", "\xff\x00\n"),
		rec(time.Hour-1, record.Info, "app.log", "last"),
	}
	opts := options()
	opts.NoFilter = true
	blob, m := write(t, opts, records...)
	f, err := segment.ReadFooter(t.Context(), ranges(blob), int64(len(blob)), m.Footer)
	if err != nil {
		t.Fatal(err)
	}
	want := &segment.Footer{
		Metadata: blobnaming.Metadata{
			Start: at(0), End: at(time.Hour - 1), Records: 5, RawBytes: uint64(f.Blocks[0].Raw),
			Levels: record.Counts{record.None: 1, record.Info: 2, record.Error: 1, record.Fatal: 1},
			Batch:  m.Batch, Instance: options().Instance, Seq: 7, Footer: f.Blocks[0].Stored,
		},
		Service: "queue", BucketStart: hour, BucketWidth: 3600, Salt: options().Salt,
		Sources: []string{"-", "app.log", "b_c"},
		Minutes: []record.Minute{
			{Start: hour, Levels: record.Counts{record.None: 1, record.Info: 1, record.Error: 1}},
			{Start: hour + 60, Levels: record.Counts{record.Fatal: 1}},
			{Start: hour + 59*60, Levels: record.Counts{record.Info: 1}},
		},
		OnMinute: []record.Counts{{record.Info: 1}, {}, {}},
		Blocks: []segment.Block{{
			Stored: f.Blocks[0].Stored, Raw: f.Blocks[0].Raw, Hash: f.Blocks[0].Hash,
			Records: 5, Levels: m.Levels, Start: at(0), End: at(time.Hour - 1),
		}},
	}
	if diff := gocmp.Diff(want, f); diff != "" {
		t.Errorf("footer (-want +got):\n%s", diff)
	}
	if err := f.Check(m); err != nil {
		t.Error(err)
	}
	if diff := gocmp.Diff(cleaned(records), parse(t, blockTexts(t, blob)[0])); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// cleaned are records as they come back.
func cleaned(records []record.Record) []record.Record {
	records = slices.Clone(records)
	for i := range records {
		records[i].Source = record.CleanSource(records[i].Source)
	}
	return records
}

func TestRandomRecordsComeBack(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many segments")
	rnd := testrand.New(t)
	compressor := segment.NewCompressor()
	for range 50 {
		opts := options()
		opts.Compressor = compressor
		opts.BlockSize = 1 + rnd.IntN(8<<10)
		records := randomRecords(rnd, 1+rnd.IntN(500))
		blob, m := write(t, opts, records...)
		f, err := verify(t, blob)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Check(m); err != nil {
			t.Fatal(err)
		}
		rest := records
		for i, text := range blockTexts(t, blob) {
			// A block holds the next records in the order of their times.
			n := int(f.Blocks[i].Records)
			want := slices.Clone(rest[:n])
			slices.SortStableFunc(want, func(x, y record.Record) int { return cmp.Compare(x.Time, y.Time) })
			if diff := gocmp.Diff(want, parse(t, text)); diff != "" {
				t.Fatalf("block %d (-want +got):\n%s", i, diff)
			}
			if len(text) > opts.BlockSize && n > 1 {
				t.Fatalf("block %d has %d bytes and %d records", i, len(text), n)
			}
			rest = rest[n:]
		}
		if len(rest) > 0 {
			t.Fatalf("%d records are missing", len(rest))
		}
	}
}

func TestSharedByManyGoroutines(t *testing.T) {
	t.Parallel()
	compressor, decoder := segment.NewCompressor(), segment.NewDecoder()
	records := randomRecords(testrand.New(t), 2000)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			opts := options()
			opts.Compressor, opts.BlockSize = compressor, 64<<10
			var blob bytes.Buffer
			w := segment.NewWriter(&blob, opts)
			for _, r := range records {
				if err := w.Append(r); err != nil {
					t.Error(err)
					return
				}
			}
			m, err := w.Close(1)
			if err != nil {
				t.Error(err)
				return
			}
			f, err := segment.ReadFooter(t.Context(), ranges(blob.Bytes()), int64(blob.Len()), m.Footer)
			if err != nil {
				t.Error(err)
				return
			}
			for _, b := range f.Blocks {
				if _, err := decoder.DecodeBlock(nil, blob.Bytes()[b.Offset:][:b.Stored], b); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func TestMemoryOfCallerIsNotKept(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := segment.NewWriter(&b, options())
	message := []byte("before")
	if err := w.Append(record.Record{Time: at(0), Source: "a", Message: message}); err != nil {
		t.Fatal(err)
	}
	copy(message, "after!")
	if _, err := w.Close(1); err != nil {
		t.Fatal(err)
	}
	if got := parse(t, blockTexts(t, b.Bytes())[0])[0].Message; string(got) != "before" {
		t.Errorf("message is %q", got)
	}
}

func TestHugeRecords(t *testing.T) {
	t.Parallel()
	huge := bytes.Repeat([]byte("0123456789abcdef0123456789abcde\n"), record.MaxSize/32)
	blob, _ := write(t, options(),
		rec(0, record.Info, "a", "small"),
		record.Record{Time: at(1), Source: "a", Message: huge},
		rec(2, record.Info, "a", "small"))
	texts := blockTexts(t, blob)
	if len(texts) != 3 {
		t.Fatalf("%d blocks", len(texts))
	}
	if got := parse(t, texts[1]); len(got) != 1 || !bytes.Equal(got[0].Message, huge) {
		t.Error("the message came back changed")
	}
}

func TestRejectedRecords(t *testing.T) {
	t.Parallel()
	good := rec(time.Minute, record.Info, "a", "good")
	for _, c := range []struct {
		name string
		bad  record.Record
	}{
		{"too long", record.Record{Time: at(0), Source: "a", Message: make([]byte, record.MaxSize+1)}},
		{"too long as text", record.Record{Time: at(0), Source: "a", Message: bytes.Repeat([]byte("\n"), 9<<20)}},
		{"before the bucket", rec(-1, record.Info, "a", "")},
		{"after the bucket", rec(time.Hour, record.Info, "a", "")},
		{"first time there is", record.Record{Time: -1 << 63, Source: "a"}},
		{"last time there is", record.Record{Time: 1<<63 - 1, Source: "a"}},
		{"unknown level", rec(0, record.Fatal+1, "a", "")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			w := segment.NewWriter(&b, options())
			if err := w.Append(good); err != nil {
				t.Fatal(err)
			}
			if err := w.Append(c.bad); !errors.Is(err, segment.ErrRecord) {
				t.Fatalf("error is %v", err)
			}
			if err := w.Append(good); err != nil {
				t.Fatal(err)
			}
			if m, err := w.Close(1); err != nil || m.Records != 2 {
				t.Fatalf("%d records, error %v", m.Records, err)
			}
			if _, err := verify(t, b.Bytes()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWrongOptions(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*segment.Options){
		"service":       func(o *segment.Options) { o.Service = "A" },
		"instance":      func(o *segment.Options) { o.Instance = "" },
		"class":         func(o *segment.Options) { o.Class = "Audit" },
		"parser":        func(o *segment.Options) { o.Parse = "regexp/1 '\x00'" },
		"no width":      func(o *segment.Options) { o.BucketWidth = 0 },
		"odd width":     func(o *segment.Options) { o.BucketWidth = 90 },
		"past the hour": func(o *segment.Options) { o.BucketStart += 60 },
		"odd start":     func(o *segment.Options) { o.BucketStart++; o.BucketWidth = 60 },
		"far future":    func(o *segment.Options) { o.BucketStart = 1 << 62 / 3600 * 3600 },
		"block size":    func(o *segment.Options) { o.BlockSize = segment.MaxBlockRaw + 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := options()
			change(&opts)
			w := segment.NewWriter(io.Discard, opts)
			err := w.Append(rec(0, record.Info, "a", ""))
			if err == nil || errors.Is(err, segment.ErrRecord) {
				t.Errorf("append: %v", err)
			}
			if _, again := w.Close(1); !errors.Is(again, err) {
				t.Errorf("close: %v", again)
			}
		})
	}
}

func TestManySources(t *testing.T) {
	t.Parallel()
	for _, n := range []int{segment.MaxSources, segment.MaxSources + 1, 3 * segment.MaxSources} {
		var records []record.Record
		var want []string
		for i := range n {
			want = append(want, fmt.Sprintf("source-%06d", i))
			records = append(records, rec(0, record.Info, want[i], "x"))
		}
		if n > segment.MaxSources {
			want = []string{segment.ManySources}
		}
		blob, _ := write(t, options(), records...)
		f, err := verify(t, blob)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(f.Sources, want) {
			t.Errorf("%d sources are listed as %d: %.40v", n, len(f.Sources), f.Sources)
		}
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	opts := options()
	opts.BlockSize = 1 // a block for each record
	var b bytes.Buffer
	w := segment.NewWriter(&b, opts)
	for i := range segment.MaxBlocks {
		if w.Full() {
			t.Fatalf("full before block %d", i)
		}
		if err := w.Append(rec(time.Duration(i), record.Info, "a", "x")); err != nil {
			t.Fatal(err)
		}
	}
	if !w.Full() {
		t.Error("not full")
	}
	if err := w.Append(rec(0, record.Info, "a", "x")); !errors.Is(err, segment.ErrFull) {
		t.Errorf("append: %v", err)
	}
	if _, err := w.Close(1); err != nil {
		t.Fatal(err)
	}
	f, err := verify(t, b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Blocks) != segment.MaxBlocks {
		t.Errorf("%d blocks", len(f.Blocks))
	}
	// A footer this large takes more than the guess, but no more than one request more.
	reads := 0
	read := ranges(b.Bytes())
	counted := func(ctx context.Context, off, n int64) ([]byte, error) { reads++; return read(ctx, off, n) }
	if _, err := segment.ReadFooter(t.Context(), counted, int64(b.Len()), -1); err != nil || reads != 2 {
		t.Errorf("%d reads, error %v", reads, err)
	}
	if int64(b.Len())-f.Footer < segment.TailGuess {
		t.Error("the footer is small: the test shows nothing")
	}
}

func TestEmptyAndClosed(t *testing.T) {
	t.Parallel()
	w := segment.NewWriter(io.Discard, options())
	if _, err := w.Close(1); !errors.Is(err, segment.ErrEmpty) {
		t.Errorf("close of an empty segment: %v", err)
	}
	w = segment.NewWriter(io.Discard, options())
	if err := w.Append(rec(0, record.Info, "a", "x")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(1); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(1); !errors.Is(err, segment.ErrClosed) {
		t.Errorf("second close: %v", err)
	}
	if err := w.Append(rec(0, record.Info, "a", "x")); !errors.Is(err, segment.ErrClosed) {
		t.Errorf("append after close: %v", err)
	}
}

func TestDiscardWaitsForTheBlockInFlight(t *testing.T) {
	t.Parallel()
	opts := options()
	opts.BlockSize = 100
	w := segment.NewWriter(failing{}, opts)
	for range 2 {
		if err := w.Append(rec(0, record.Info, "a", strings.Repeat("x", 100))); err != nil {
			t.Fatal(err)
		}
	}
	w.Discard()
	w.Discard()
	if _, err := w.Close(1); !errors.Is(err, segment.ErrClosed) {
		t.Errorf("close: %v", err)
	}
}

func TestSizeFollowsWhatIsWritten(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	opts := options()
	opts.BlockSize, opts.NoFilter = 64<<10, true
	var b bytes.Buffer
	w := segment.NewWriter(&b, opts)
	noise := make([]byte, 1000)
	var before int64
	for i := range 1000 {
		for j := range noise {
			noise[j] = byte(rnd.Uint32())
		}
		if err := w.Append(rec(time.Duration(i), record.Info, "a", string(noise))); err != nil {
			t.Fatal(err)
		}
		if i < 200 {
			before = w.Size()
			continue
		}
		// Noise does not compress: the estimate must be close to the text.
		if size, text := w.Size(), int64(i+1)*1040; size < before || size < text*95/100 || size > text*105/100 {
			t.Fatalf("after %d records: size %d of %d bytes of text, %d before", i, size, text, before)
		}
	}
	if _, err := w.Close(1); err != nil {
		t.Fatal(err)
	}
}

// The estimate counts what the token filter will take.
func TestSizeCountsFilter(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	opts := options()
	opts.BlockSize = 64 << 10
	var b bytes.Buffer
	w := segment.NewWriter(&b, opts)
	for i := range 30000 {
		message := fmt.Sprintf("request %016x of %08x is done", rnd.Uint64(), rnd.Uint32())
		if err := w.Append(rec(time.Duration(i), record.Info, "a", message)); err != nil {
			t.Fatal(err)
		}
	}
	size := w.Size()
	m, err := w.Close(1)
	if err != nil {
		t.Fatal(err)
	}
	if n := int64(b.Len()); size < n*95/100 || size > n*105/100 {
		t.Errorf("%d bytes estimated, %d written", size, n)
	}
	if filter := m.Filter.Partitions * m.Filter.SliceLength; filter < int64(b.Len())/20 {
		t.Errorf("the filter takes %d of %d bytes: too few for this test", filter, b.Len())
	}
}

// failing fails after n bytes.
type failing struct{ n *int }

var errDisk = errors.New("disk is gone")

func (f failing) Write(b []byte) (int, error) {
	if f.n == nil || len(b) > *f.n {
		return 0, errDisk
	}
	*f.n -= len(b)
	return len(b), nil
}

func TestFailingWriter(t *testing.T) {
	t.Parallel()
	opts := options()
	opts.BlockSize = 60
	opts.Compressor = segment.NewCompressor()
	records := []record.Record{
		rec(0, record.Info, "a", "one"), rec(1, record.Info, "a", "two"),
		rec(2, record.Info, "a", "three"), rec(3, record.Info, "a", "four"),
	}
	blob, _ := write(t, opts, records...)
	for n := range len(blob) {
		left := n
		w := segment.NewWriter(failing{&left}, opts)
		var failed error
		for _, r := range records {
			err := w.Append(r)
			if failed != nil && !errors.Is(err, failed) {
				t.Fatalf("%d bytes: append after %v: %v", n, failed, err)
			}
			failed = cmp.Or(failed, err)
		}
		for range 2 {
			if _, err := w.Close(1); !errors.Is(err, errDisk) {
				t.Fatalf("%d bytes: close: %v", n, err)
			}
		}
		if err := w.Append(records[0]); !errors.Is(err, errDisk) {
			t.Fatalf("%d bytes: append after close: %v", n, err)
		}
	}
}

func TestShortWrite(t *testing.T) {
	t.Parallel()
	w := segment.NewWriter(short{}, options())
	if err := w.Append(rec(0, record.Info, "a", "x")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(1); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("close: %v", err)
	}
}

type short struct{}

func (short) Write(b []byte) (int, error) { return len(b) - 1, nil }

func TestAnyZstdToolPrintsIt(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("zstd")
	if err != nil {
		t.Skipf("no zstd tool: %v", err)
	}
	opts := options()
	opts.BlockSize = 4 << 10
	records := randomRecords(testrand.New(t), 1000)
	records = append(records, rec(0, record.Info, "a", strings.Repeat("huge ", 9<<20/5)))
	blob, _ := write(t, opts, records...)
	zstd := exec.CommandContext(t.Context(), tool, "-dc")
	zstd.Stdin = bytes.NewReader(blob)
	got, err := zstd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := bytes.Join(blockTexts(t, blob), nil); !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %d expected", len(got), len(want))
	}
}
