package patterns_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/heap"

	"logstow/internal/test/loggen"
	"logstow/query/patterns"
	"logstow/record"
)

// generated are the lines of a generated log.
func generated(tb testing.TB, kind string, size int64) [][]byte {
	tb.Helper()
	var b bytes.Buffer
	start := time.Unix(1795186800, 0)
	if err := loggen.Write(&b, loggen.Options{Kind: kind, Size: size, Start: start, Span: time.Hour, Seed: 1}); err != nil {
		tb.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(b.Bytes(), []byte("\n")), []byte("\n"))
}

// Throughput of counting, by what the lines are.
func BenchmarkAdd(b *testing.B) {
	inputs := map[string][][]byte{"json": generated(b, "json", 8<<20), "hdfs": generated(b, "hdfs", 8<<20)}
	for _, log := range labelledLogs() {
		inputs["loghub"] = append(inputs["loghub"], readLog(b, log.file)...)
	}
	inputs["object"] = replaced(inputs["json"], `"msg":`, `"about":`)
	inputs["logfmt"] = replaced(inputs["hdfs"], " INFO ", ` level=info msg=ok text=`)
	for _, name := range []string{"json", "object", "hdfs", "logfmt", "loghub"} {
		b.Run(name, func(b *testing.B) {
			size := 0
			for _, line := range inputs[name] {
				size += len(line)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				c := patterns.NewCounter(patterns.Always())
				for n, line := range inputs[name] {
					c.Add("web", record.Record{Time: int64(n), Message: line})
				}
			}
		})
	}
}

// replaced are lines with a text in place of another.
func replaced(lines [][]byte, from, to string) (out [][]byte) {
	for _, line := range lines {
		out = append(out, bytes.Replace(line, []byte(from), []byte(to), 1))
	}
	return out
}

// A counter of as many shapes as it keeps, and making templates of them.
func BenchmarkManyShapes(b *testing.B) {
	r, names := rand.New(rand.NewPCG(1, 2)), strings.Split(named(3000), " ")
	for _, n := range []int{patterns.MaxShapes - 100, 8 * patterns.MaxShapes} {
		messages := make([][]byte, n)
		size := 0
		for i := range messages {
			pick := func() string { return names[r.IntN(len(names))] }
			messages[i] = fmt.Appendf(nil, "%s: order from %s was shipped to %s by carrier %s at %d", names[r.IntN(20)], pick(), pick(), pick(), i)
			size += len(messages[i])
		}
		b.Run(fmt.Sprintf("add-%d", n), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				counted(messages)
			}
		})
		b.Run(fmt.Sprintf("result-%d", n), func(b *testing.B) {
			templates, shapes, held := 0, 0, int64(0)
			for b.Loop() {
				b.StopTimer()
				before := heap.Live()
				c := counted(messages)
				shapes, held = c.Shapes(), heap.Live()-before
				b.StartTimer()
				templates = len(c.Result().Templates)
			}
			b.ReportMetric(float64(shapes), "shapes")
			b.ReportMetric(float64(templates), "templates")
			b.ReportMetric(float64(held)/1e6, "MB-held")
		})
	}
}

func counted(messages [][]byte) *patterns.Counter {
	c := patterns.NewCounter(patterns.Always())
	for n, message := range messages {
		c.Add("web", record.Record{Time: int64(n), Message: message})
	}
	return c
}
