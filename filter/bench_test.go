package filter_test

import (
	"bytes"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/filter"
	"logstow/internal/test/loggen"
	"logstow/record"
	"logstow/segment"
)

// BenchmarkCollect compares making a filter with compressing the same blocks, in
// turns: the least time of each counts, as others may use the machine.
func BenchmarkCollect(b *testing.B) {
	for name, blocks := range samples(b) {
		b.Run(name, func(b *testing.B) {
			var c filter.Collector
			compressor := segment.NewCompressor()
			var size, stored, slice, keys int64
			var out, compressed []byte
			least := [2]time.Duration{1 << 62, 1 << 62}
			for b.Loop() {
				size, stored, keys = 0, 0, 0
				var times [2]time.Duration
				var f filter.Builder
				for _, block := range blocks {
					start := time.Now()
					set := c.Collect(block.text, block.hidden())
					f.Add(set)
					times[0] += time.Since(start)
					start = time.Now()
					compressed = compressor.Encode(compressed[:0], block.text)
					times[1] += time.Since(start)
					size += int64(len(block.text))
					stored += int64(len(compressed))
					keys += int64(set.Len())
				}
				start := time.Now()
				out, _, slice = f.Append(out[:0])
				times[0] += time.Since(start)
				for i := range least {
					least[i] = min(least[i], times[i])
				}
			}
			b.ReportMetric(float64(size)/1e6/least[0].Seconds(), "MB/s")
			b.ReportMetric(float64(size)/1e6/least[1].Seconds(), "compress-MB/s")
			b.ReportMetric(least[0].Seconds()/least[1].Seconds(), "of-compress")
			b.ReportMetric(100*float64(len(out))/float64(stored), "%stored")
			b.ReportMetric(8*float64(len(out))/float64(keys), "bits/key")
			b.ReportMetric(float64(keys)/float64(size)*(1<<20), "keys/MiB")
			b.ReportMetric(float64(slice), "slice-B")
		})
	}
}

// A block is the text of a block and where its messages are.
type block struct {
	text     []byte
	messages [][2]int
}

// hidden are the parts of the text that are no messages.
func (b block) hidden() iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		at := 0
		for _, m := range b.messages {
			if !yield(at, m[0]) {
				return
			}
			at = m[1]
		}
	}
}

// newBlock makes a block of messages.
func newBlock(messages ...[]byte) block {
	var b block
	for i, m := range messages {
		now := 1795186800_000000000 + int64(i)*104729123
		b.text = record.AppendText(b.text, record.Record{Time: now, Level: record.Info, Source: "app.log", Message: m})
		n := len(m) + bytes.Count(m, []byte("\n")) + 1
		b.messages = append(b.messages, [2]int{len(b.text) - n, len(b.text)})
	}
	return b
}

// samples are the blocks of generated logs and of the real ones.
func samples(tb testing.TB) iter.Seq2[string, []block] {
	return func(yield func(string, []block) bool) {
		for _, kind := range []string{"json", "hdfs"} {
			var b bytes.Buffer
			start := time.Unix(1795186800, 0)
			if err := loggen.Write(&b, loggen.Options{Kind: kind, Size: 16 << 20, Start: start, Span: time.Hour, Seed: 1}); err != nil {
				tb.Fatal(err)
			}
			if !yield(kind, cut(b.Bytes())) {
				return
			}
		}
		var all []block
		for _, name := range loghub(tb) {
			b, err := os.ReadFile(name)
			if err != nil {
				tb.Fatal(err)
			}
			blocks := cut(b)
			all = append(all, blocks...)
			if !yield(strings.TrimSuffix(filepath.Base(name), ".log"), blocks) {
				return
			}
		}
		if len(all) > 0 {
			yield("eight", all)
		}
	}
}

// cut makes blocks of the lines of a log.
func cut(log []byte) (blocks []block) {
	var lines [][]byte
	size := 0
	for line := range bytes.Lines(log) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		const head = 45
		if size += len(line) + head; size > segment.DefaultBlockSize {
			blocks = append(blocks, newBlock(lines...))
			lines, size = nil, len(line)+head
		}
		lines = append(lines, line)
	}
	return append(blocks, newBlock(lines...))
}

// loghub are the files of real logs, in the folder that LOGSTOW_LOGHUB names or
// beside the module; none where there is no such folder.
func loghub(tb testing.TB) []string {
	tb.Helper()
	dir := os.Getenv("LOGSTOW_LOGHUB")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data", "loghub")
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		tb.Fatal(err)
	}
	slices.Sort(names)
	return names
}
