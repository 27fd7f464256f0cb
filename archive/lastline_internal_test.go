package archive

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// All lines are passed on, and what is behind the last line break if it is kept, however the text arrives.
func TestLastLine(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, c := range []struct{ in, all, held string }{
		{"", "", ""},
		{"a\nb\n", "a\nb\n", ""},
		{"a\nb", "a\n", "b"},
		{"b", "", "b"},
		{"\n\nb", "\n\n", "b"},
		{strings.Repeat("x", 100_000) + "\ny" + strings.Repeat("z", 100_000), strings.Repeat("x", 100_000) + "\n", "y" + strings.Repeat("z", 100_000)},
	} {
		for _, keep := range []bool{false, true} {
			for _, end := range []error{nil, broken} {
				for name, wrap := range map[string]func(io.Reader) io.Reader{"bytes": iotest.OneByteReader, "with its end": iotest.DataErrReader, "halves": iotest.HalfReader} {
					var in io.Reader = strings.NewReader(c.in)
					if end != nil {
						in = io.MultiReader(in, iotest.ErrReader(end))
					}
					held := ""
					r := newLastLine(wrap(in), func(text []byte, err error) bool {
						if held = string(text); !errors.Is(err, end) {
							t.Errorf("%s: ended with %v, want %v", name, err, end)
						}
						return keep
					})
					got, err := io.ReadAll(r)
					want := c.all
					if keep {
						want = c.in
					}
					if string(got) != want || held != c.held || !errors.Is(err, end) {
						t.Errorf("%s, %.20q, keep %v: %.40q, held %.20q, %v", name, c.in, keep, got, held, err)
					}
				}
			}
		}
	}
}
