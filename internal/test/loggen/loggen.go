// Package loggen writes realistic log lines for the demo, the benchmarks and
// the tests: JSON lines of a web service, its access log as nginx writes it, and plain text in the
// manner of HDFS.
// The same seed gives the same bytes.
package loggen

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"
)

// Needle is the text that exactly one line of a JSON output holds, in its note field.
const Needle = "NEEDLE-7f3a9c51"

// Options describe the log to write.
type Options struct {
	// Kind is "json", "nginx" or "hdfs".
	Kind string
	// Size is the number of bytes to reach with whole lines.
	Size int64
	// Start is the first line's time.
	Start time.Time
	// Span is the time from the first line to about the last.
	Span time.Duration
	// Seed makes the output repeatable.
	Seed uint64
}

// meanLine is the mean length of a line in bytes, by which a line's time is
// advanced; the real lengths differ little.
const (
	meanJSON  = 302
	meanNginx = 236
	meanHDFS  = 153
)

// Write writes lines until o.Size is reached. One JSON line in the middle holds [Needle].
func Write(w io.Writer, o Options) error {
	g := generator{rnd: rand.New(rand.NewPCG(o.Seed, 0x6c6f6773746f77))}
	line, mean := g.json, int64(meanJSON)
	switch o.Kind {
	case "json":
	case "nginx":
		line, mean = g.nginx, meanNginx
	case "hdfs":
		line, mean = g.hdfs, meanHDFS
	default:
		return fmt.Errorf("generate logs of kind %q: no such kind (json, nginx or hdfs)", o.Kind)
	}
	step := max(1, int64(o.Span)/max(1, o.Size/mean))
	now := o.Start.UTC()
	var written int64
	buf := make([]byte, 0, 1<<16)
	for written < o.Size {
		g.needle = !g.found && written >= o.Size/2
		before := len(buf)
		buf = line(buf, now)
		written += int64(len(buf) - before)
		now = now.Add(time.Duration(g.rnd.Int64N(2*step) + 1))
		if len(buf) > 1<<16-4096 || written >= o.Size {
			if _, err := w.Write(buf); err != nil {
				return fmt.Errorf("write generated logs: %w", err)
			}
			buf = buf[:0]
		}
	}
	return nil
}

type generator struct {
	rnd    *rand.Rand
	needle bool
	found  bool
}

// json appends one line of a web service's structured log.
func (g *generator) json(b []byte, now time.Time) []byte {
	level, status, msg := "INFO", 200, "request served"
	switch p := g.rnd.IntN(1000); {
	case p < 84:
		level, status, msg = "ERROR", 502, "upstream connection reset by peer"
	case p < 167:
		level, status, msg = "WARN", 429, "rate limit close to exhausted"
	case p < 334:
		level, status, msg = "DEBUG", 200, "cache lookup finished"
	case p < 400:
		status, msg = 201, "resource created"
	}
	paths := [...]string{"orders", "users", "payments", "search", "carts", "catalog/items", "sessions", "health"}
	methods := [...]string{"GET", "POST", "PUT", "DELETE"}
	b = append(b, `{"time":"`...)
	b = now.AppendFormat(b, "2006-01-02T15:04:05.000000Z07:00")
	b = append(b, `","level":"`...)
	b = append(b, level...)
	b = append(b, `","msg":"`...)
	b = append(b, msg...)
	b = append(b, `","method":"`...)
	b = append(b, methods[g.rnd.IntN(len(methods))]...)
	b = append(b, `","path":"/api/v1/`...)
	b = append(b, paths[g.rnd.IntN(len(paths))]...)
	b = append(b, '/')
	b = strconv.AppendInt(b, g.rnd.Int64N(1_000_000), 10)
	b = append(b, `","status":`...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, `,"duration_ms":`...)
	b = strconv.AppendFloat(b, float64(g.rnd.IntN(50000))/100, 'f', 2, 64)
	b = append(b, `,"bytes":`...)
	b = strconv.AppendInt(b, g.rnd.Int64N(100_000), 10)
	b = append(b, `,"trace_id":"`...)
	b = g.hex(b, 32)
	b = append(b, `","user":"user-`...)
	b = strconv.AppendInt(b, g.rnd.Int64N(20_000), 10)
	b = append(b, `","pod":"api-6d5f7c9b4-`...)
	b = append(b, [...]string{"x2x8k", "p9qlm", "zt4wv"}[g.rnd.IntN(3)]...)
	b = append(b, `","region":"westeurope","note":"`...)
	if g.needle {
		b = append(b, Needle...)
		g.found, g.needle = true, false
	}
	return append(b, "\"}\n"...)
}

// nginx appends one line in the combined log format.
func (g *generator) nginx(b []byte, now time.Time) []byte {
	status := 200
	switch p := g.rnd.IntN(1000); {
	case p < 84:
		status = 502
	case p < 167:
		status = 404
	case p < 300:
		status = 304
	}
	b = fmt.Appendf(b, "203.0.%d.%d - ", g.rnd.IntN(200), g.rnd.IntN(250))
	if g.rnd.IntN(3) == 0 {
		b = fmt.Appendf(b, "user-%d", g.rnd.IntN(20_000))
	} else {
		b = append(b, '-')
	}
	b = now.AppendFormat(b, " [02/Jan/2006:15:04:05 -0700] \"")
	b = append(b, [...]string{"GET", "GET", "GET", "POST"}[g.rnd.IntN(4)]...)
	b = append(b, " /api/v1/"...)
	b = append(b, [...]string{"orders", "users", "payments", "search", "carts", "catalog/items"}[g.rnd.IntN(6)]...)
	b = fmt.Appendf(b, "/%d?page=%d HTTP/1.1\" %d %d \"https://shop.example/", g.rnd.IntN(1_000_000), g.rnd.IntN(20), status,
		g.rnd.IntN(100_000))
	b = append(b, [...]string{"", "cart", "checkout"}[g.rnd.IntN(3)]...)
	b = append(b, "\" \""...)
	b = append(b, [...]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
		"curl/8.5.0",
	}[g.rnd.IntN(3)]...)
	return append(b, "\"\n"...)
}

// hdfs appends one plain line: date, thread, level, component, text with block ids and addresses.
func (g *generator) hdfs(b []byte, now time.Time) []byte {
	b = now.AppendFormat(b, "060102 150405 ")
	b = strconv.AppendInt(b, g.rnd.Int64N(4000)+1, 10)
	level := " INFO "
	if g.rnd.IntN(40) == 0 {
		level = " WARN "
	}
	b = append(b, level...)
	switch g.rnd.IntN(4) {
	case 0:
		b = append(b, "dfs.DataNode$DataXceiver: Receiving block "...)
		b = g.block(b)
		b = g.address(append(b, " src: /"...), true)
		b = g.address(append(b, " dest: /"...), true)
	case 1:
		b = append(b, "dfs.FSNamesystem: BLOCK* NameSystem.addStoredBlock: blockMap updated: "...)
		b = g.address(b, true)
		b = g.block(append(b, " is added to "...))
		b = append(b, " size 67108864"...)
	case 2:
		b = append(b, "dfs.DataNode$PacketResponder: Received block "...)
		b = g.block(b)
		b = g.address(append(b, " of size 67108864 from /"...), false)
	default:
		b = append(b, "dfs.FSNamesystem: BLOCK* NameSystem.allocateBlock: /user/root/rand/_temporary/_task_200811101024_0001_m_"...)
		b = fmt.Appendf(b, "%06d_0/part-%05d. ", g.rnd.IntN(2000), g.rnd.IntN(2000))
		b = g.block(b)
	}
	return append(b, '\n')
}

func (g *generator) block(b []byte) []byte {
	b = append(b, "blk_"...)
	return strconv.AppendInt(b, int64(g.rnd.Uint64()), 10)
}

func (g *generator) address(b []byte, port bool) []byte {
	b = fmt.Appendf(b, "10.251.%d.%d", g.rnd.IntN(200), g.rnd.IntN(250))
	if port {
		b = append(b, ':')
		b = strconv.AppendInt(b, 32768+g.rnd.Int64N(28000), 10)
	}
	return b
}

func (g *generator) hex(b []byte, n int) []byte {
	const digits = "0123456789abcdef"
	var bits uint64
	for i := range n {
		if i%16 == 0 {
			bits = g.rnd.Uint64()
		}
		b = append(b, digits[bits&15])
		bits >>= 4
	}
	return b
}
