package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"logstow/internal/test/loggen"
)

// question is what VictoriaLogs and logq are asked.
type question struct {
	name string
	// logsql is the query in LogsQL, limit the parameter of that name.
	logsql, limit string
	// args are those of logq, without the service and the range.
	args []string
}

func questions() []question {
	return []question{
		{
			name:   "one line of all, by an identifier",
			logsql: `note:"` + loggen.Needle + `"`,
			args:   []string{"query", "-o", "raw", loggen.Needle},
		},
		{
			name: "errors of two minutes, printed", logsql: `_time:[2026-11-20T15:06:00Z, 2026-11-20T15:08:00Z) {level="ERROR"}`,
			args: []string{"query", "-l", "error", "-o", "raw", "--from", "2026-11-20T15:06:00Z", "--to", "2026-11-20T15:08:00Z"},
		},
		{name: "newest 100", logsql: `*`, limit: "100", args: []string{"query", "--newest", "-n", "100", "-o", "raw"}},
		{
			name:   "substring, 8% of the lines, printed",
			logsql: `"connection reset"`,
			args:   []string{"query", "-o", "raw", "connection reset"},
		},
		{name: "all lines, printed", logsql: `*`, args: []string{"query", "-o", "raw"}},
		{name: "count by level", logsql: `* | stats by (level) count()`, args: []string{"stats", "--by", "level"}},
		{
			name:   "count of status >= 500",
			logsql: `status:>=500 | stats count()`,
			args:   []string{"query", "--count", "--where", "status >= 500"},
		},
		{name: "count by method", logsql: `* | stats by (method) count()`, args: []string{"stats", "--by", "method"}},
		{
			name: "p99 of the duration by method", logsql: `* | stats by (method) quantile(0.99, duration_ms)`,
			args: []string{"stats", "--by", "method", "--compute", "p99(duration_ms)"},
		},
		{
			name: "mean and maximum of the duration by status", logsql: `* | stats by (status) avg(duration_ms), max(duration_ms)`,
			args: []string{"stats", "--by", "status", "--compute", "avg(duration_ms), max(duration_ms)"},
		},
		{
			name:   "the 20 slowest",
			logsql: `* | sort by (duration_ms desc) limit 20`,
			args:   []string{"query", "-o", "raw", "--sort", "duration_ms desc", "-n", "20"},
		},
		{name: "distinct users", logsql: `* | stats count_uniq(user)`, args: []string{"stats", "--compute", "distinct(user)"}},
		{name: "the 10 most frequent users", logsql: `* | top 10 by (user)`, args: []string{"stats", "--by", "user", "-n", "10"}},
	}
}

// benchPeer compares with VictoriaLogs, whose program it starts: first taking in the same lines, then queries. VictoriaLogs is
// warm and asked over HTTP; logq is a new process each time.
func (b *suite) benchPeer(program string) error {
	if err := b.peerIngest(program); err != nil {
		return err
	}
	plain := b.store
	compacted := *b
	compacted.store = filepath.Join(b.dir, "compacted")
	if err := os.CopyFS(compacted.store, os.DirFS(plain)); err != nil {
		return err
	}
	r, err := compacted.command("shipper", "compact", "--after", "0s", "--grace", "0s", "--max-age", "3650d", "--columns",
		"duration_ms,bytes,user").run()
	if err != nil {
		return err
	}
	size, err := sizeOf(compacted.store)
	if err != nil {
		return err
	}
	printIngest("shipper compact", r, size)
	s, address, err := b.startPeer(program)
	if err != nil {
		return err
	}
	err = b.peerQueries(s, address, &compacted)
	_, stopErr := s.stop()
	return errors.Join(err, stopErr)
}

// startPeer starts VictoriaLogs and returns its URL.
func (b *suite) startPeer(program string) (*server, string, error) {
	return b.serve(regexp.MustCompile(`started server at (http://[^/\s]+)`), program, "-httpListenAddr=127.0.0.1:0",
		"-storageDataPath="+filepath.Join(b.dir, "peer"), "-retentionPeriod=100y")
}

// peerIngest prints what taking in the input costs VictoriaLogs, in requests of 4 MB, and the shipper.
func (b *suite) peerIngest(program string) error {
	fmt.Printf("%-44s %8s %8s %9s %9s\n", "taking in", "CPU s", "wall s", "peak MiB", "MB stored")
	s, address, err := b.startPeer(program)
	if err != nil {
		return err
	}
	in, err := os.Open(b.input)
	if err == nil {
		err = send(s, address, in)
		err = errors.Join(err, in.Close())
	}
	r, stopErr := s.stop()
	if err := errors.Join(err, stopErr); err != nil {
		return err
	}
	size, err := filesIn(filepath.Join(b.dir, "peer"), func(string) bool { return true })
	if err != nil {
		return err
	}
	printIngest("VictoriaLogs", r, size)
	ship := b.command("shipper", "run", "--once", "--service", "bench", "--buffer-dir", filepath.Join(b.dir, "buffer"), b.input)
	if r, err = ship.run(); err != nil {
		return err
	}
	if size, err = sizeOf(b.store); err != nil {
		return err
	}
	printIngest("shipper run --once", r, size)
	return nil
}

func printIngest(name string, r row, size int64) {
	fmt.Printf("%-44s %8.2f %8.2f %9d %9.1f\n", name, r.cpu.Seconds(), r.wall.Seconds(), r.peak, float64(size)/1e6)
}

// send sends whole lines in requests of about 4 MB.
func send(s *server, address string, in io.Reader) error {
	const most = 4_000_000
	to := address + "/insert/jsonline?" + url.Values{"_stream_fields": {"level"}, "_time_field": {"time"}, "_msg_field": {"msg"}}.Encode()
	var body []byte
	for {
		rest := len(body)
		body = slices.Grow(body, most)[:most]
		n, err := io.ReadFull(in, body[rest:])
		body = body[:rest+n]
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		end := bytes.LastIndexByte(body, '\n') + 1
		if _, _, err := s.request(to, "application/stream+json", bytes.NewReader(body[:end])); err != nil || last {
			return err
		}
		body = append([]byte(nil), body[end:]...)
	}
}

// peerQueries prints the median wall time of each question, asked alternately.
func (b *suite) peerQueries(s *server, address string, compacted *suite) error {
	fmt.Printf("\n%-44s %12s %12s %12s   wall s\n", "query", "VictoriaLogs", "logq", "compacted")
	for _, q := range questions() {
		args := q.args
		if !slices.Contains(args, "--from") {
			args = append(slices.Clone(args), "--from", from, "--to", to)
		}
		args = append(slices.Clone(args), "-s", "bench")
		form := url.Values{"query": {q.logsql}}
		if q.limit != "" {
			form.Set("limit", q.limit)
		}
		var peer []time.Duration
		ask := func() (row, error) {
			answer, took, err := s.request(address+"/select/logsql/query?"+form.Encode(), "", nil)
			if err == nil && !json.Valid(firstLine(answer)) {
				err = fmt.Errorf("VictoriaLogs answers %s with %.200q", q.logsql, answer)
			}
			peer = append(peer, took)
			return row{}, err
		}
		if _, err := ask(); err != nil { // warms its cache
			return err
		}
		peer = nil
		of := *b
		plain, after := of.command("logq", args...), compacted.command("logq", args...)
		plain.before = func() error { _, err := ask(); return err }
		rows, err := b.interleaved(plain, after)
		if err != nil {
			return err
		}
		slices.SortFunc(peer, func(x, y time.Duration) int { return cmp.Compare(x, y) })
		fmt.Printf("%-44s %12.3f %12.3f %12.3f\n", q.name, peer[len(peer)/2].Seconds(), rows[0].wall.Seconds(), rows[1].wall.Seconds())
	}
	return nil
}

func firstLine(answer []byte) []byte {
	line, _, _ := bytes.Cut(answer, []byte("\n"))
	return line
}
