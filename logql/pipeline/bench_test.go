package pipeline_test

import (
	"fmt"
	"testing"

	"logstow/logql/pipeline"
)

func benchLines(format string) [][]byte {
	lines := make([][]byte, 512)
	for i := range lines {
		lines[i] = fmt.Appendf(nil, format, i%60, []string{"GET", "POST"}[i%2], i%97, 200+i%5*100, i*7919%4000, i*104729)
	}
	return lines
}

const (
	jsonFormat   = `{"time":"2026-11-20T15:04:%02d.123Z","level":"info","logger":"api.orders","msg":"request done","method":"%s","path":"/v1/orders/%d","status":%d,"duration_ms":%d,"trace_id":"4bf92f3577b34da6a3ce929d%08x"}`
	logfmtFormat = `time=2026-11-20T15:04:%02d.123Z level=info logger=api.orders msg="request done" method=%s path=/v1/orders/%d status=%d duration_ms=%d trace_id=4bf92f3577b34da6a3ce929d%08x`
)

func bench(b *testing.B, stages, format string, needed []string, use func(p *pipeline.Processor)) {
	lines, stream := benchLines(format), webStream()
	p := compile(b, stages, needed).Processor()
	for _, line := range lines {
		p.Process(at, nil, line, stream)
	}
	b.SetBytes(int64(len(lines[0])))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if p.Process(at, nil, lines[i%len(lines)], stream) {
			use(p)
		}
	}
}

func BenchmarkContains(b *testing.B) {
	bench(b, `|= "orders/96"`, jsonFormat, nil, func(*pipeline.Processor) {})
}

func BenchmarkJSONTwoNeeded(b *testing.B) {
	var key []byte
	names := []string{"method", "status"}
	bench(b, `| json`, jsonFormat, names, func(p *pipeline.Processor) { key = p.AppendGroup(key[:0], false, names) })
}

func BenchmarkJSONAll(b *testing.B) {
	bench(b, `| json`, jsonFormat, nil, func(p *pipeline.Processor) { p.Labels() })
}

func BenchmarkJSONPaths(b *testing.B) {
	bench(b, `| json method, status`, jsonFormat, []string{"method", "status"}, func(p *pipeline.Processor) { p.Get("status") })
}

func BenchmarkLogfmtTwoNeeded(b *testing.B) {
	var key []byte
	names := []string{"method", "status"}
	bench(b, `| logfmt`, logfmtFormat, names, func(p *pipeline.Processor) { key = p.AppendGroup(key[:0], false, names) })
}

func BenchmarkLogfmtAll(b *testing.B) {
	bench(b, `| logfmt`, logfmtFormat, nil, func(p *pipeline.Processor) { p.Labels() })
}

func BenchmarkNumberFilter(b *testing.B) {
	bench(b, `| json | status >= 500`, jsonFormat, []string{}, func(*pipeline.Processor) {})
}

func BenchmarkNumberFilterLogfmt(b *testing.B) {
	bench(b, `| logfmt | status >= 500`, logfmtFormat, []string{}, func(*pipeline.Processor) {})
}

func BenchmarkLineFormat(b *testing.B) {
	bench(b, `| json | line_format "{{.method}} {{.path}} {{.status}}"`, jsonFormat, []string{}, func(*pipeline.Processor) {})
}

func BenchmarkTemplate(b *testing.B) {
	bench(b, `| json | line_format "{{.method | lower}} {{.path}}"`, jsonFormat, []string{}, func(*pipeline.Processor) {})
}

func BenchmarkUnwrap(b *testing.B) {
	bench(b, `| json | unwrap duration_ms`, jsonFormat, []string{}, func(p *pipeline.Processor) { p.Sample() })
}

func BenchmarkPattern(b *testing.B) {
	bench(b, "| pattern `<_>method=<method> path=<path> status=<status> <_>`", logfmtFormat, []string{"status"}, func(p *pipeline.Processor) { p.Get("status") })
}
