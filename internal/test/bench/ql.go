package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// benchQL compares LogQL with the commands of logq that have the same answers, and a running server with a new process.
func (b *suite) benchQL(kind string) error {
	if kind != "json" {
		return nil
	}
	buffer := filepath.Join(b.dir, "buffer")
	ship := b.command("shipper", "run", "--once", "--service", "bench", "--buffer-dir", buffer, b.input)
	ship.before = func() error { return errors.Join(os.RemoveAll(b.store), os.RemoveAll(buffer)) }
	if _, err := ship.run(); err != nil {
		return err
	}
	logq := func(command string, args ...string) *command {
		return b.command("logq", append([]string{command, "-s", "bench", "--from", from, "--to", to}, args...)...)
	}
	ql := func(args ...string) *command {
		return b.command("logq", append([]string{"ql", "--from", from, "--to", to}, args...)...)
	}
	for _, pair := range []struct {
		base, name string
		commands   [2]*command
	}{
		{"query --count PATTERN", "ql count_over_time |= PATTERN", [2]*command{
			logq("query", "--count", "--substring", "connection reset"),
			ql(`count_over_time({service_name="bench"} |= "connection reset" [1h])`),
		}},
		{"stats --by status", "ql sum by (status), | json", [2]*command{
			logq("stats", "--by", "status"), ql(`sum by (status) (count_over_time({service_name="bench"} | json [1h]))`),
		}},
		{"stats --by minute", "ql rate[1m] by minute", [2]*command{
			logq("stats", "--by", "minute", "-o", "csv"), ql("--step", "1m", "-o", "csv", `rate({service_name="bench"}[1m])`),
		}},
		{"query PATTERN -o raw", "ql |= PATTERN", [2]*command{
			logq("query", "--substring", "connection reset", "-o", "raw"), ql(`{service_name="bench"} |= "connection reset"`),
		}},
		{"query --where status -o raw, 8%", "ql | json | status", [2]*command{
			logq("query", "--where", "status >= 500", "-o", "raw"), ql(`{service_name="bench"} | json | status >= 500`),
		}},
		{"query --where duration -o raw, 2%", "ql | json | duration", [2]*command{
			logq("query", "--where", "duration_ms > 490", "-o", "raw"), ql(`{service_name="bench"} | json | duration_ms > 490`),
		}},
		{"query --count --where status", "ql count_over_time, | json | status", [2]*command{
			logq("query", "--count", "--where", "status >= 500"),
			ql(`sum(count_over_time({service_name="bench"} | json | status >= 500 [1h]))`),
		}},
	} {
		if _, err := b.compare(pair.base, []string{pair.base, pair.name}, pair.commands[0], pair.commands[1]); err != nil {
			return err
		}
	}
	return b.benchServer(logq("query", "--newest", "-n", "100", "-o", "json"))
}

// benchServer compares the newest 100 records from a running server, at its first request and at later ones, with a new
// process.
func (b *suite) benchServer(process *command) error {
	var base row
	first, later := make([]time.Duration, 0, b.runs), make([]time.Duration, 0, b.runs)
	var walls []time.Duration
	for range b.runs {
		r, err := process.run()
		if err != nil {
			return err
		}
		base = r
		walls = append(walls, r.wall)
		one, more, err := b.requests()
		if err != nil {
			return err
		}
		first, later = append(first, one), append(later, more)
	}
	base.wall = median(walls)
	base.print("newest 100: logq query", nil, "")
	for _, of := range []struct {
		name string
		wall time.Duration
	}{{"first request", median(first)}, {"later request", median(later)}} {
		fmt.Printf("%-44s %8s %8.3f %9s %8.2f   wall time of logq\n", "newest 100: "+of.name+" of logq serve", "",
			of.wall.Seconds(), "", of.wall.Seconds()/base.wall.Seconds())
	}
	return nil
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// requests starts a server, and measures its first request and a later one.
func (b *suite) requests() (first, later time.Duration, err error) {
	s, address, err := b.serve(listening(), filepath.Join(b.dir, "logq"), "serve", "--store", b.store, "--listen", "127.0.0.1:0")
	if err != nil {
		return 0, 0, err
	}
	defer func() {
		_, stopErr := s.stop()
		err = errors.Join(err, stopErr)
	}()
	form := url.Values{"query": {`{service_name="bench"}`}, "limit": {"100"}, "start": {from}, "end": {to}}
	request := func() (time.Duration, error) {
		body, took, err := s.request("http://"+address+"/loki/api/v1/query_range?"+form.Encode(), "", nil)
		if n := strings.Count(string(body), `["179`); err == nil && n != 100 {
			err = fmt.Errorf("logq serve: %d records instead of 100", n)
		}
		return took, err
	}
	if first, err = request(); err != nil {
		return 0, 0, err
	}
	later, err = request()
	return first, later, err
}
