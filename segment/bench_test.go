package segment_test

import (
	"bytes"
	"io"
	"testing"
	"time"

	"logstow/columns"
	"logstow/internal/test/loggen"
	"logstow/record"
	"logstow/segment"
)

// lines are 32 MiB of generated log lines as records, and their size with newlines.
func lines(tb testing.TB, kind string) (records []record.Record, size int64) {
	tb.Helper()
	const span = 59 * time.Minute
	var b bytes.Buffer
	if err := loggen.Write(&b, loggen.Options{Kind: kind, Size: 32 << 20, Start: time.Unix(hour, 0), Span: span, Seed: 1}); err != nil {
		tb.Fatal(err)
	}
	size = int64(b.Len())
	all := bytes.Split(bytes.TrimSuffix(b.Bytes(), []byte("\n")), []byte("\n"))
	for i, line := range all {
		now := at(time.Duration(i) * span / time.Duration(len(all)) / 1000 * 1000)
		if own, found := bytes.CutPrefix(line, []byte(`{"time":"`)); found {
			t, err := time.Parse(time.RFC3339Nano, string(own[:bytes.IndexByte(own, '"')]))
			if err != nil {
				tb.Fatal(err)
			}
			now = t.UnixNano()
		}
		records = append(records, record.Record{Time: now, Level: record.Info, Source: "app.log", Message: line})
	}
	return records, size
}

// BenchmarkAppend is the cost of a record without compression: blocks of the
// greatest size are never ended.
func BenchmarkAppend(b *testing.B) {
	r := rec(0, record.Info, "app.log", string(bytes.Repeat([]byte("x"), 280)))
	opts := options()
	opts.BlockSize = segment.MaxBlockRaw
	w := segment.NewWriter(io.Discard, opts)
	n := 0
	b.SetBytes(int64(len(r.Message)) + 1)
	b.ReportAllocs()
	for b.Loop() {
		if n++; n == 50_000 {
			b.StopTimer()
			w.Discard()
			w, n = segment.NewWriter(io.Discard, opts), 0
			b.StartTimer()
		}
		r.Time = at(time.Duration(n) * time.Millisecond)
		if err := w.Append(r); err != nil {
			b.Fatal(err)
		}
	}
	w.Discard()
}

// BenchmarkWrite writes whole segments; stored/raw is the stored size by that of the lines.
func BenchmarkWrite(b *testing.B) {
	for _, kind := range []string{"json", "hdfs"} {
		b.Run(kind, func(b *testing.B) {
			records, size := lines(b, kind)
			opts := options()
			opts.Compressor = segment.NewCompressor()
			b.SetBytes(size)
			b.ReportAllocs()
			var stored int64
			for b.Loop() {
				var out counter
				w := segment.NewWriter(&out, opts)
				for _, r := range records {
					if err := w.Append(r); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := w.Close(1); err != nil {
					b.Fatal(err)
				}
				stored = int64(out)
			}
			b.ReportMetric(float64(size)/float64(stored), "ratio")
		})
	}
}

// BenchmarkCompress compresses the same lines alone, in blocks: what BenchmarkWrite is compared with.
func BenchmarkCompress(b *testing.B) {
	for _, kind := range []string{"json", "hdfs"} {
		b.Run(kind, func(b *testing.B) {
			records, size := lines(b, kind)
			var blocks [][]byte
			var block []byte
			for _, r := range records {
				block = append(append(block, r.Message...), '\n')
				if len(block) >= segment.DefaultBlockSize {
					blocks, block = append(blocks, block), nil
				}
			}
			blocks = append(blocks, block)
			compressor := segment.NewCompressor()
			var out []byte
			stored := 0
			b.SetBytes(size)
			for b.Loop() {
				stored = 0
				for _, block := range blocks {
					out = compressor.Encode(out[:0], block)
					stored += len(out)
				}
			}
			b.ReportMetric(float64(size)/float64(stored), "ratio")
		})
	}
}

type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// BenchmarkSmall writes segments of a few records, as a quiet service does.
func BenchmarkSmall(b *testing.B) {
	opts := options()
	opts.Compressor = segment.NewCompressor()
	r := rec(0, record.Info, "app.log", "GET /healthz 200")
	b.ReportAllocs()
	for b.Loop() {
		w := segment.NewWriter(io.Discard, opts)
		for range 10 {
			if err := w.Append(r); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := w.Close(1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, kind := range []string{"json", "hdfs"} {
		records, _ := lines(b, kind)
		blob, m := write(b, options(), records...)
		read, size := ranges(blob), int64(len(blob))
		f, err := segment.ReadFooter(b.Context(), read, size, m.Footer)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("decode/"+kind, func(b *testing.B) {
			decoder := segment.NewDecoder()
			var text []byte
			b.SetBytes(int64(f.RawBytes))
			b.ReportAllocs()
			for b.Loop() {
				for _, block := range f.Blocks {
					text, err = decoder.DecodeBlock(text[:0], blob[block.Offset:block.Offset+block.Stored], block)
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run("verify/"+kind, func(b *testing.B) {
			b.SetBytes(int64(f.RawBytes))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := segment.Verify(b.Context(), read, size); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("verify-stored/"+kind, func(b *testing.B) {
			b.SetBytes(int64(f.RawBytes))
			for b.Loop() {
				if _, err := segment.VerifyStored(b.Context(), read, size); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("footer/"+kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := segment.ReadFooter(b.Context(), read, size, m.Footer); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkColumns builds the columns of the same lines; compress is compression alone of these blocks. share is the
// columns' part of the size of the blocks.
func BenchmarkColumns(b *testing.B) {
	for _, kind := range []string{"json", "nginx", "hdfs"} {
		records, _ := lines(b, kind)
		compressor := segment.NewCompressor()
		var size int64
		var blocks [][]record.Record
		for n := 0; len(records) > 0; records = records[n:] {
			n = min(len(records), 4500)
			blocks = append(blocks, records[:n])
		}
		texts, stored := make([][]byte, len(blocks)), make([]int64, len(blocks))
		for i, block := range blocks {
			for _, r := range block {
				texts[i] = record.AppendText(texts[i], r)
			}
			size += int64(len(texts[i]))
			stored[i] = int64(len(compressor.Encode(nil, texts[i])))
		}
		b.Run("compress/"+kind, func(b *testing.B) {
			b.SetBytes(size)
			var out []byte
			for b.Loop() {
				for _, text := range texts {
					out = compressor.Encode(out[:0], text)
				}
			}
		})
		b.Run("build/"+kind, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			var all []columns.Column
			var scratch columns.Scratch
			for b.Loop() {
				builder := columns.NewBuilder("", columns.Options{})
				for i, text := range texts {
					builder.AddBlock(&scratch, text, len(blocks[i]), blocks[i][0].Time, stored[i])
				}
				all = builder.Columns()
			}
			b.StopTimer()
			taken, of := 0, int64(0)
			for _, n := range stored {
				of += n
			}
			for _, c := range all {
				n := 0
				for _, p := range c.Pages {
					n += len(p)
				}
				taken += n
				b.Logf("%-20s %6.3f%%", c.Name, 100*float64(n)/float64(of))
			}
			b.ReportMetric(100*float64(taken)/float64(of), "share-%")
		})
	}
}
