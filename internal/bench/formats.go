package main

import (
	"errors"
	"os"
	"path/filepath"
)

// benchFormats measures what fields cost: shipping lines of each kind with a parser and with none, and a
// query by a field next to a scan that counts a text.
func (b *suite) benchFormats() error {
	for _, kind := range []struct{ name, pattern, where string }{
		{"json", "connection reset", "status >= 500"},
		{"nginx", "catalog/items", "status >= 500"},
		{"hdfs", "", ""},
	} {
		of := *b
		of.input, of.store, of.size = filepath.Join(b.dir, kind.name+".log"), filepath.Join(b.dir, kind.name), b.size/2
		if err := of.generate(kind.name); err != nil {
			return err
		}
		if err := of.benchFields(kind.name, kind.pattern, kind.where); err != nil {
			return err
		}
		if err := errors.Join(os.Remove(of.input), os.RemoveAll(of.store)); err != nil {
			return err
		}
	}
	return nil
}

// benchFields measures one kind.
func (b *suite) benchFields(kind, pattern, where string) error {
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
	count := func(args ...string) *command {
		return b.command("logq", append([]string{"query", "-s", "bench", "--from", from, "--to", to, "--count"}, args...)...)
	}
	rows, err = b.interleaved(count(pattern), count("--where", where))
	if err != nil {
		return err
	}
	rows[0].print("count PATTERN in "+kind, nil, "")
	rows[1].print("count by a field of "+kind, &rows[0], "count PATTERN")
	return nil
}
