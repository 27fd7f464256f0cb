package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"unicode"
	"unicode/utf8"

	"logstow/internal/cli"
	"logstow/internal/hint"
)

const (
	// maxIDs is the maximum number of different identifiers of --ids-from.
	maxIDs = 100_000
	// maxIDLine is the maximum length in bytes of a line of the file.
	maxIDLine = 4 << 10
)

// readIDs reads the identifiers of --ids-from.
func (r *request) readIDs() error {
	if !r.c.IsSet("ids-from") {
		return nil
	}
	name, in := r.c.String("ids-from"), r.env.stdin
	switch {
	case name == "-" && slices.Contains(cli.List(r.c, "file"), "-"):
		return cli.Usagef("--ids-from - cannot be used together with --file -: both read standard input")
	case name != "-":
		f, err := os.Open(name) //nolint:gosec // the user's own file
		if err != nil {
			return cli.Usagef("--ids-from: %w", err)
		}
		defer func() { _ = f.Close() }() // it was only read
		in = f
	}
	var err error
	if r.sel.IDs, err = parseIDs(in); err != nil {
		return cli.Usagef("--ids-from %s: %w", name, err)
	}
	return nil
}

// parseIDs reads identifiers, one a line. Blank lines and blanks around an identifier are ignored, and so are
// repetitions.
func parseIDs(in io.Reader) (ids []string, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxIDLine)
	known := map[string]bool{}
	n := 1
	for ; lines.Scan(); n++ {
		line := lines.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if !utf8.Valid(line) {
			return nil, fmt.Errorf("line %d is not UTF-8", n)
		}
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || known[string(line)]:
			continue
		case bytes.IndexFunc(line, unicode.IsSpace) >= 0:
			return nil, hint.Wrap(fmt.Errorf("line %d contains a blank inside an identifier", n), "write one identifier per line")
		case len(ids) == maxIDs:
			return nil, hint.Wrap(fmt.Errorf("line %d: more than %d identifiers", n, maxIDs),
				"split the file, and run one query for each part")
		}
		id := string(line)
		known[id] = true
		ids = append(ids, id)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d is longer than %d bytes", n, maxIDLine)
	case err != nil:
		return nil, fmt.Errorf("cannot read line %d: %w", n, err)
	case len(ids) == 0:
		return nil, errors.New("the file has no identifiers")
	}
	return ids, nil
}
