package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// benchSorting compares queries that look at a value of every record, and for many identifiers, with the count of a
// text.
func (b *suite) benchSorting(kind string) error {
	if kind != "json" {
		return nil
	}
	ids := filepath.Join(b.dir, "ids")
	if err := b.writeIDs(ids, 100_000); err != nil {
		return err
	}
	query := func(args ...string) *command {
		return b.command("logq", append([]string{"query", "-s", "bench", "--from", from, "--to", to, "-o", "raw"}, args...)...)
	}
	names := []string{"full scan, --count PATTERN", "20 slowest: --sort 'duration_ms desc' -n 20", "--distinct user", "--ids-from 100,000, --count"}
	_, err := b.compare("full scan", names,
		query("--count", "connection reset"), query("--sort", "duration_ms desc", "-n", "20"), query("--distinct", "user"), query("--ids-from", ids, "--count"))
	return err
}

// writeIDs writes up to n identifiers of the input.
func (b *suite) writeIDs(name string, n int) (err error) {
	in, err := os.Open(b.input)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := os.Create(name)       //nolint:gosec // in the suite's own directory
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := bufio.NewWriter(out)
	id := regexp.MustCompile(`"trace_id":"([0-9a-f]{32})"`)
	lines := bufio.NewScanner(in)
	for ; n > 0 && lines.Scan(); n-- {
		if found := id.FindSubmatch(lines.Bytes()); found != nil {
			fmt.Fprintf(w, "%s\n", found[1])
		}
	}
	return errors.Join(lines.Err(), w.Flush())
}
