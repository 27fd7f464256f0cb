package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// benchExport compares exports of a compacted store with decompressing the same segments, and prints what they wrote.
func (b *suite) benchExport() error {
	buffer := filepath.Join(b.dir, "buffer")
	ship := b.command("shipper", "run", "--once", "--service", "bench", "--buffer-dir", buffer, b.input)
	ship.before = func() error { return errors.Join(os.RemoveAll(b.store), os.RemoveAll(buffer)) }
	for _, c := range []*command{ship, b.command("shipper", "compact", "--after", "0s", "--grace", "0s", "--max-age", "3650d")} {
		if _, err := c.run(); err != nil {
			return err
		}
	}
	segments, err := segmentsIn(b.store)
	if err != nil {
		return err
	}
	names := []string{"decompress and count alone, compacted"}
	commands := []*command{b.part("scan", append([]string{"connection reset"}, segments...)...)}
	compressions := []string{"snappy", "zstd"}
	table := func(compression string) string { return filepath.Join(b.dir, "table-"+compression) }
	for _, compression := range compressions {
		to := table(compression)
		c := b.command("shipper", "export", "--to", to, "--compression", compression, "--max-age", "3650d", "--temp-dir", b.dir)
		c.before = func() error { return os.RemoveAll(to) }
		commands, names = append(commands, c), append(names, "export, --compression "+compression)
	}
	if _, err := b.compare("decompress alone", names, commands...); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	for _, compression := range compressions {
		size, err := filesIn(table(compression), func(path string) bool { return filepath.Ext(path) == ".parquet" })
		if err != nil {
			return err
		}
		fmt.Printf("  %s: %.1f MB written\n", compression, float64(size)/1e6)
		if err := os.RemoveAll(table(compression)); err != nil {
			return err
		}
	}
	return nil
}

// segmentsIn returns the segments in a directory.
func segmentsIn(dir string) (paths []string, err error) {
	err = filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".log") {
			paths = append(paths, path)
		}
		return err
	})
	return paths, err
}
