package patterns_test

import (
	"bytes"
	"testing"
	"time"

	"logstow/internal/loggen"
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
