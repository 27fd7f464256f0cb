package main

import (
	"io"
	"strings"
	"testing"
)

// The pager starts with the first line that does not fit the screen: colours take no columns, and a
// line as wide as the screen is one.
func TestPagerStarts(t *testing.T) {
	t.Parallel()
	const red, plain = "\x1b[38;5;160m", "\x1b[0m"
	for _, c := range []struct {
		name, text string
		paged      bool
	}{
		{"short lines", strings.Repeat("a\n", 4), false},
		{"empty lines", strings.Repeat("\n", 5), true},
		{"full lines", strings.Repeat(strings.Repeat("é", 10)+"\n", 4), false},
		{"long lines", strings.Repeat(strings.Repeat("a", 11)+"\n", 3), true},
		{"colours first", strings.Repeat(red+strings.Repeat("a", 10)+plain+"\n", 4), false},
		{"colours", strings.Repeat("a"+red+strings.Repeat("a", 5)+plain+" m"+red+"aa"+plain+"\n", 4), false},
		{"long coloured lines", strings.Repeat(red+strings.Repeat("a", 11)+plain+"\n", 3), true},
	} {
		paged := false
		d := &display{to: io.Discard, screen: screen{rows: 5, columns: 10}, start: func(func()) (*running, error) {
			paged = true
			return nil, io.EOF
		}}
		if _, err := d.Write([]byte(c.text)); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if paged != c.paged {
			t.Errorf("%s: paged %v", c.name, paged)
		}
	}
}
