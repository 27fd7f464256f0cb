package decompress_test

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"logstow/internal/decompress"
)

// A stream has the text that a reader has, in pieces of any size.
func TestStream(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct{ in, want string }{
		"nothing": {"", ""}, "short": {"a\n", "a\n"}, "plain": {"one line\nand another\n", "one line\nand another\n"},
		"gzip": {member(t, "text of gzip\n"), "text of gzip\n"}, "zstd": {frame(t, "text of zstd\n"), "text of zstd\n"},
		"nearly zip": {"PK\n", "PK\n"}, "nearly bzip2": {"BZh1 is no bzip2", "BZh1 is no bzip2"}, "skippable": {"Px", "Px"},
	} {
		for _, in := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in)), iotest.DataErrReader(strings.NewReader(c.in))} {
			if got, err := io.ReadAll(decompress.Stream(in)); err != nil || string(got) != c.want {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
		if c.in != c.want {
			continue
		}
		got, err := io.ReadAll(decompress.Stream(io.MultiReader(strings.NewReader(c.in), iotest.ErrReader(broken))))
		if !errors.Is(err, broken) || string(got) != c.want {
			t.Errorf("%s before an error: %q, %v", name, got, err)
		}
	}
	for _, in := range []string{xz, bzip2, lz4, zip} {
		s := decompress.Stream(strings.NewReader(in))
		for range 2 {
			if got, err := io.ReadAll(s); !errors.Is(err, decompress.ErrUnsupported) || len(got) > 0 {
				t.Errorf("%q: %q, %v", in, got, err)
			}
		}
	}
}

// A line is returned before the next one is written.
func TestStreamWaitsForNothing(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	lines := bufio.NewScanner(decompress.Stream(r))
	for _, line := range []string{"a", "bc", "", "PKZ"} {
		go func() { _, _ = io.WriteString(w, line+"\n") }()
		if !lines.Scan() || lines.Text() != line {
			t.Errorf("%q: %q", line, lines.Text())
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
