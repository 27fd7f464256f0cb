package buffer_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/buffer"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/record"
)

// manyLines makes records of a source, numbered from number on, with about size bytes of text. Their times are from at on, at
// most spread later, and in no order.
func manyLines(rnd *rand.Rand, source string, number *int, size int, at time.Time, spread time.Duration) (records []record.Record) {
	for size > 0 {
		message := fmt.Sprintf("%s-%d %s %s", source, *number, noise(rnd, 1+rnd.IntN(250)), strings.Repeat("padding ", rnd.IntN(60)))
		*number++
		when := at.Add(time.Duration(rnd.Int64N(int64(spread/time.Second)+1)) * time.Second)
		records = append(records, record.Record{Time: when.UnixNano(), Level: record.Warn, Source: source, Message: []byte(message)})
		size -= len(message) + 40
	}
	return records
}

// logSize is the size of the buffer's log, without copies.
func logSize(t *testing.T, dir string) (size int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "wal", "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	return size
}

// Chunks of all sizes, of one bucket and of several, on time and late, come out once and in order; after Close and
// Open too. The log has large ones compressed.
func TestLargeChunks(t *testing.T) {
	t.Parallel()
	seed := testrand.Seed(t)
	for name, change := range map[string]func(*buffer.Options){
		"defaults":      nil,
		"no filter":     func(o *buffer.Options) { o.NoFilter = true },
		"small batches": func(o *buffer.Options) { o.FlushSize = 1 << 20 },
		"tiny batches":  func(o *buffer.Options) { o.FlushSize = 64 << 10 },
		"columns":       func(o *buffer.Options) { o.Columns = []string{"x"} },
		"few open":      func(o *buffer.Options) { o.MaxOpen = 1 },
		"late":          func(o *buffer.Options) { o.MaxLateness = 30 * time.Minute },
		"little memory": func(o *buffer.Options) { o.Memory = 4 << 20 },
		"once":          func(o *buffer.Options) { o.Once = true },
	} {
		rnd := rand.New(rand.NewPCG(seed, 1))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b := durable(t, dir, change)
			want := map[string]int64{} // times by message
			var got []sealed
			read := noon.Add(time.Hour + time.Minute)
			number, last, late := 0, "", uint64(0)
			for range (effort.Cases{Test: 1, Full: 8}).N() {
				source := []string{"a.log", "b.log"}[rnd.IntN(2)]
				size := []int{1, 3000, 600 << 10, 1400 << 10, 3 << 20}[rnd.IntN(5)]
				at := []time.Time{noon, noon, noon.Add(50 * time.Minute), noon.Add(time.Hour)}[rnd.IntN(4)]
				c := buffer.Chunk{Service: "web", Read: read.UnixNano(), Records: manyLines(rnd, source, &number, size, at, time.Duration(rnd.IntN(12))*time.Minute)}
				last = fmt.Sprint(number)
				c.Positions = []buffer.Position{{Input: "in", Value: []byte(last)}}
				for _, r := range c.Records {
					want[string(r.Message)] = r.Time
				}
				mustAppend(t, b, c)
				if rnd.IntN(2) == 0 {
					b.Flush(t.Context())
				}
				for j := range c.Records { // the buffer has copied it
					clear(c.Records[j].Message)
				}
				if rnd.IntN(2) == 0 {
					late += b.Stats().Late
					mustClose(t, b)
					b = durable(t, dir, change)
				}
			}
			if p, ok := b.Position("in"); !ok || string(p) != last {
				t.Errorf("position %q, want %s", p, last)
			}
			done := make(chan struct{})
			go func() { defer close(done); b.Drain(t.Context()) }()
			got = append(got, rest(t, b)...)
			<-done
			checkLines(t, got, want, late+b.Stats().Late, read.UnixNano())
		})
	}
}

// checkLines checks that batches have each message once, with its time or, if late, that of reading; and in each bucket the
// messages of a source with equal times in order of their numbers.
func checkLines(t *testing.T, batches []sealed, want map[string]int64, late uint64, read int64) {
	t.Helper()
	slices.SortFunc(batches, func(x, y sealed) int { return cmp.Compare(x.Meta.Seq, y.Meta.Seq) })
	seen, wasLate := map[string]bool{}, uint64(0)
	type place struct {
		bucket, time int64
		source       string
	}
	last := map[place]int{}
	for _, s := range batches {
		for _, r := range s.records {
			m := string(r.Message)
			at, known := want[m]
			if !known || seen[m] {
				t.Fatalf("%.40q is there again or was never appended", m)
			}
			seen[m] = true
			if r.Time != at {
				wasLate++
			}
			if r.Time != at && r.Time != read {
				t.Fatalf("%.40q has time %d, want %d", m, r.Time, at)
			}
			var n int
			if _, err := fmt.Sscanf(m, r.Source+"-%d", &n); err != nil {
				t.Fatal(err)
			}
			p := place{s.BucketStart.Unix(), r.Time, r.Source}
			if before, ok := last[p]; ok && n < before {
				t.Fatalf("%.40q follows number %d", m, before)
			}
			last[p] = n
		}
	}
	if len(seen) != len(want) {
		t.Errorf("%d records of %d", len(seen), len(want))
	}
	if wasLate > late {
		t.Errorf("%d records have the time read, %d were counted as late", wasLate, late)
	}
}

// The log has a large chunk as compressed blocks, a small one and one of several buckets as they are.
func TestLogOfLargeChunks(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	for name, tc := range map[string]struct {
		size, change int
		spread       time.Duration
		options      func(*buffer.Options)
		compressed   bool
	}{
		"large":           {size: 1 << 20, compressed: true},
		"larger":          {size: 3 << 20, compressed: true},
		"too large":       {size: 5 << 20},
		"small":           {size: 400 << 10},
		"several buckets": {size: 1 << 20, spread: 2 * time.Hour},
		"small batches":   {size: 1 << 20, options: func(o *buffer.Options) { o.FlushSize = 512 << 10 }},
		"small disk":      {size: 1 << 20, options: func(o *buffer.Options) { o.MaxSize = 8 << 20 }},
		"1 MiB batches":   {size: 1 << 20, options: func(o *buffer.Options) { o.FlushSize = 1 << 20 }, compressed: true},
	} {
		dir := t.TempDir()
		b := durable(t, dir, tc.options)
		number, before := 0, logSize(t, dir)
		c := chunk(manyLines(rnd, "a.log", &number, tc.size, noon, tc.spread)...)
		for i := range c.Records {
			c.Records[i].Message = fmt.Appendf(nil, "a.log-%d %s", i, strings.Repeat("padding ", len(c.Records[i].Message)/8))
		}
		mustAppend(t, b, c)
		if size := logSize(t, dir) - before; (size < int64(tc.size)/2) != tc.compressed {
			t.Errorf("%s: %d bytes of text take %d in the log", name, tc.size, size)
		}
	}
}

// A large chunk that is late, though for the bucket of the time at which it was read, gets that time.
func TestLateLargeChunk(t *testing.T) {
	t.Parallel()
	rnd, number := testrand.New(t), 0
	b := durable(t, t.TempDir(), func(o *buffer.Options) { o.MaxOpen = 1 })
	mustAppend(t, b, chunk(rec(noon.Add(2*time.Hour), "ahead"))) // the only open bucket
	c := chunk(manyLines(rnd, "a.log", &number, 1<<20, noon, 0)...)
	c.Read = noon.Add(time.Minute).UnixNano()
	mustAppend(t, b, c)
	if late := b.Stats().Late; late != uint64(number) {
		t.Errorf("%d of %d records are late", late, number)
	}
	b.Drain(t.Context())
	for _, s := range rest(t, b) {
		for _, r := range s.records {
			if r.Source == "a.log" && string(r.Message) != "ahead" && r.Time != c.Read {
				t.Fatalf("time %d, want %d", r.Time, c.Read)
			}
		}
	}
}

// A record that nearly fills a block does not share one with the others of its chunk.
func TestLargeRecordInLargeChunk(t *testing.T) {
	t.Parallel()
	rnd, number := testrand.New(t), 0
	b := durable(t, t.TempDir(), nil)
	c := chunk(manyLines(rnd, "a.log", &number, 900<<10, noon, 0)...)
	large := bytes.Repeat([]byte("x"), record.MaxSize)
	for i := range 900_000 { // each newline takes a byte more
		large[i*16] = '\n'
	}
	c.Records = append(c.Records, record.Record{Time: noon.UnixNano(), Source: "b.log", Message: large})
	mustAppend(t, b, c)
	b.Drain(t.Context())
	var records uint64
	for {
		batch, err := b.Next(t.Context())
		if err != nil {
			break
		}
		records += batch.Meta.Records
		if err := batch.Done(); err != nil {
			t.Fatal(err)
		}
	}
	if s := b.Stats(); records != uint64(number+1) || s.Unsealed+s.Failed+s.Quarantined > 0 {
		t.Errorf("%d records of %d, %+v", records, number+1, s)
	}
}

// Large chunks do not make a batch larger than what can be sealed when the disk is full.
func TestLargeChunksOnSmallDisk(t *testing.T) {
	t.Parallel()
	rnd, number := testrand.New(t), 0
	b := durable(t, t.TempDir(), func(o *buffer.Options) { o.MaxSize = 24 << 20 })
	limit := int64(24<<20) / 4 // the reserve
	consumed := background(func() error {
		for {
			batch, err := b.Next(t.Context())
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil && batch.Size > limit {
				err = fmt.Errorf("a batch of %d bytes, the reserve is %d", batch.Size, limit)
			}
			if err := errors.Join(err, batch.Done()); err != nil {
				return err
			}
		}
	})
	for range 12 {
		mustAppend(t, b, chunk(manyLines(rnd, "a.log", &number, 1200<<10, noon, 0)...))
	}
	b.Drain(t.Context())
	if err := <-consumed; err != nil {
		t.Error(err)
	}
	if s := b.Stats(); s.Done < 2 {
		t.Errorf("one batch tests nothing: %+v", s)
	}
}

// A batch covers the records of its blocks and none behind them: each is there once after a crash.
func TestLargeChunkIsCovered(t *testing.T) {
	t.Parallel()
	rnd, number, dir := testrand.New(t), 0, t.TempDir()
	b := durable(t, dir, nil)
	for range 3 {
		mustAppend(t, b, chunk(manyLines(rnd, "a.log", &number, 700<<10, noon, 0)...))
		b.Flush(t.Context())
		mustAppend(t, b, chunk(rec(noon, "next")))
		mustClose(t, b)
		b = durable(t, dir, nil)
	}
	b.Drain(t.Context())
	large, small := 0, 0
	for _, s := range rest(t, b) {
		for _, r := range s.records {
			if string(r.Message) == "next" {
				small++
			} else {
				large++
			}
		}
	}
	if large != number || small != 3 {
		t.Errorf("%d records of %d, and %d of 3", large, number, small)
	}
}

// The log stays short though each chunk fills a batch, and so begins log files, while an old batch is open.
func TestLogStaysShort(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "writes many log files")
	rnd, number, dir := testrand.New(t), 0, t.TempDir()
	b := durable(t, dir, func(o *buffer.Options) { o.FlushSize, o.MaxSize = 64<<10, 64<<20 }) // log files of 8 MiB
	consumed := background(func() error {
		for {
			batch, err := b.Next(t.Context())
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err := errors.Join(err, batch.Done()); err != nil {
				return err
			}
		}
	})
	mustAppend(t, b, chunk(rec(noon, "old")))
	longest := int64(0)
	for range 30 {
		mustAppend(t, b, chunk(manyLines(rnd, "a.log", &number, 2<<20, noon.Add(time.Hour), 0)...))
		longest = max(longest, logSize(t, dir))
	}
	if limit := int64(3*8+8+4) << 20; longest > limit {
		t.Errorf("the log has %d bytes, at most %d are needed", longest, limit)
	}
	b.Drain(t.Context())
	if err := <-consumed; err != nil {
		t.Error(err)
	}
}

// A batch is full at 512 MiB of text, however well that compresses: it would take long to replay.
func TestBatchOfMuchText(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many records")
	b := durable(t, t.TempDir(), nil)
	line := strings.Repeat("the same words ", 1000)
	c := chunk(fill(200, noon, line)...)
	text := int64(0)
	for b.Stats().Waiting == 0 && text < 1<<30 {
		mustAppend(t, b, c)
		text += int64(200 * len(line))
	}
	if batch := next(t, b); text > 600<<20 || batch.Meta.RawBytes < 500<<20 || batch.Size > 8<<20 {
		t.Errorf("a batch of %d bytes, %d of text, after %d", batch.Size, batch.Meta.RawBytes, text)
	}
}
