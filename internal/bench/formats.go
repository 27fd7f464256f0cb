package main

import (
	"errors"
	"os"
	"path/filepath"
)

// benchFormats measures what fields cost: shipping lines of each kind with a parser and with none, and a
// query and aggregates of a field next to a scan that counts a text.
func (b *suite) benchFormats() error {
	for _, kind := range []struct{ name, pattern, where, number string }{
		{"json", "connection reset", "status >= 500", "duration_ms"},
		{"nginx", "catalog/items", "status >= 500", "bytes"},
		{"hdfs", "", "", ""},
	} {
		of := *b
		of.input, of.store, of.size = filepath.Join(b.dir, kind.name+".log"), filepath.Join(b.dir, kind.name), b.size/2
		if err := of.generate(kind.name); err != nil {
			return err
		}
		if err := of.benchFields(kind.name, kind.pattern, kind.where, kind.number); err != nil {
			return err
		}
		if err := errors.Join(os.Remove(of.input), os.RemoveAll(of.store)); err != nil {
			return err
		}
	}
	return nil
}

// benchFields measures one kind.
func (b *suite) benchFields(kind, pattern, where, number string) error {
	buffer := filepath.Join(b.dir, "buffer")
	ship := func(parser string) *command {
		c := b.command("shipper", "run", "--once", "--service", "bench", "--buffer-dir", buffer, "--parse", parser, b.input)
		c.before = func() error { return errors.Join(os.RemoveAll(b.store), os.RemoveAll(buffer)) }
		return c
	}
	rows, err := b.interleaved(ship("none"), ship("auto"))
	if err != nil {
		return err
	}
	rows[0].print("ship lines of "+kind+", --parse none", nil, "")
	rows[1].print("ship lines of "+kind+", --parse auto", &rows[0], "none")
	if where == "" {
		return nil
	}
	ask := func(command string, args ...string) *command {
		return b.command("logq", append([]string{command, "-s", "bench", "--from", from, "--to", to}, args...)...)
	}
	rows, err = b.interleaved(
		ask("query", "--count", pattern), ask("query", "--count", "--where", where),
		ask("stats", "--compute", "p99("+number+")"), ask("stats", "--by", "method", "--compute", "avg("+number+")"),
	)
	if err != nil {
		return err
	}
	rows[0].print("count PATTERN in "+kind, nil, "")
	for i, name := range []string{"count by a field of ", "p99 of a field of ", "average of a field by another of "} {
		rows[i+1].print(name+kind, &rows[0], "count PATTERN")
	}
	return nil
}
