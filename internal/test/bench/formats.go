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
	names := []string{"ship lines of " + kind + ", --parse none", "ship lines of " + kind + ", --parse auto"}
	if _, err := b.compare("none", names, ship("none"), ship("auto")); err != nil || where == "" {
		return err
	}
	ask := func(command string, args ...string) *command {
		return b.command("logq", append([]string{command, "-s", "bench", "--from", from, "--to", to}, args...)...)
	}
	names = []string{"count PATTERN in " + kind, "count by a field of " + kind, "p99 of a field of " + kind, "average of a field by another of " + kind}
	_, err := b.compare("count PATTERN", names,
		ask("query", "--count", pattern), ask("query", "--count", "--where", where),
		ask("stats", "--compute", "p99("+number+")"), ask("stats", "--by", "method", "--compute", "avg("+number+")"),
	)
	return err
}
