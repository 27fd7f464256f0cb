package clitest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"logstow/query/output"
)

// Picture is what a command prints on a terminal of a width.
type Picture struct {
	Name    string // of the file
	Line    string // the command line
	Columns int    // of the terminal
	// Wide allows lines of standard output that are wider than the terminal: formats for programs, and records that wrap.
	Wide           bool
	Stdout, Stderr string
	Status         int
}

var (
	// progressLine is what a progress line draws and removes after a second, which depends on the load.
	progressLine = regexp.MustCompile(`\r[^\r\n]*\x1b\[K`)
	colour       = regexp.MustCompile(`\x1b\[[0-9;]*m`)
)

// Check compares a picture with the file DIR/NAME.COLUMNS, or writes it. In the file, standard output is behind "> ", standard error
// behind "! ", and escape sequences are readable (\e[31m). No line of standard output may be wider than the terminal; messages on standard
// error may, for they have commands to copy.
func (p Picture) Check(t *testing.T, dir string, update bool) {
	t.Helper()
	for line := range strings.Lines(p.Stdout) {
		plain := colour.ReplaceAllString(strings.TrimSuffix(line, "\n"), "")
		if n := output.Columns(plain); n > p.Columns && !p.Wide {
			t.Errorf("%s: %d columns on a terminal of %d: %s", p.Line, n, p.Columns, plain)
		}
	}
	got := fmt.Sprintf("$ %s\n%s%sstatus %d\n", p.Line, behind("> ", p.Stdout),
		behind("! ", progressLine.ReplaceAllString(p.Stderr, "")), p.Status)
	path := filepath.Join(dir, fmt.Sprintf("%s.%d", p.Name, p.Columns))
	if update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", path, diff)
	}
}

// behind is text with a prefix before each line, in which control characters and other bytes that are not text are readable.
func behind(prefix, text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(prefix)
		line, ended := strings.CutSuffix(line, "\n")
		for len(line) > 0 {
			r, n := utf8.DecodeRuneInString(line)
			switch {
			case r == '\x1b':
				out.WriteString(`\e`)
			case r == utf8.RuneError && n == 1, r < ' ' && r != '\t', r == 0x7f:
				fmt.Fprintf(&out, `\x%02x`, line[0])
			default:
				out.WriteRune(r)
			}
			line = line[n:]
		}
		out.WriteString("\n")
		if !ended {
			out.WriteString(prefix + "(no newline)\n")
		}
	}
	return out.String()
}
