package input

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// split runs text through a splitter in pieces of at most step bytes.
func split(text []byte, limit, step int) (lines []string, sizes []int64) {
	s := splitter{max: limit}
	take := func(next func() (line, bool)) {
		for {
			l, ok := next()
			if !ok {
				return
			}
			lines, sizes = append(lines, string(l.text)), append(sizes, l.size)
		}
	}
	for len(text) > 0 {
		s.restore(s.detach())
		n := copy(s.space(), text[:min(step, len(text))])
		s.filled(n)
		text = text[n:]
		take(s.next)
	}
	take(s.rest)
	return lines, sizes
}

func TestSplitterKeepsEveryByte(t *testing.T) {
	t.Parallel()
	const seed = 7
	r := rand.New(rand.NewPCG(seed, seed))
	for range 50 {
		text := make([]byte, r.IntN(3*readSize))
		for i := range text {
			text[i] = "ab\r\n\xff\x00"[r.IntN(6)]
		}
		lines, sizes := split(text, DefaultMaxRecord, 1+r.IntN(2*readSize))
		want := strings.TrimSuffix(string(text), "\n")
		if len(text) > 0 && strings.Join(lines, "\n") != want {
			t.Fatalf("seed %d: lines do not add up to the text", seed)
		}
		total := int64(0)
		for _, n := range sizes {
			total += n
		}
		if total != int64(len(text)) {
			t.Fatalf("seed %d: sizes add up to %d of %d bytes", seed, total, len(text))
		}
	}
}

func TestSplitterCutsLongLines(t *testing.T) {
	t.Parallel()
	const limit = 2000
	for _, c := range []struct {
		name    string
		length  int
		newline string
	}{
		{"at the limit", limit, "\n"},
		{"one past", limit + 1, "\n"},
		{"one past, no newline", limit + 1, ""},
		{"ten times", 10 * limit, "\n"},
		{"past every buffer", 9_999_999, "\n"},
		{"past every buffer, no newline", 9_999_999, ""},
	} {
		for _, step := range []int{1 << 20, 4096, 999} {
			text := strings.Repeat("x", c.length)
			lines, sizes := split([]byte("before\n"+text+c.newline+strings.Repeat("after\n", len(c.newline))), limit, step)
			got := lines[1]
			if len(got) > limit {
				t.Errorf("%s, step %d: %d bytes", c.name, step, len(got))
			}
			if sizes[1] != int64(c.length+len(c.newline)) {
				t.Errorf("%s, step %d: size %d", c.name, step, sizes[1])
			}
			want := text
			if c.length > limit {
				kept := strings.Count(got, "x")
				want = fmt.Sprintf("%s …[logstow: cut %d bytes]", strings.Repeat("x", kept), c.length-kept)
				if kept < limit-maxCutMark {
					t.Errorf("%s, step %d: only %d bytes kept", c.name, step, kept)
				}
			}
			if got != want {
				t.Errorf("%s, step %d: line ends %q", c.name, step, got[max(0, len(got)-60):])
			}
			if c.newline != "" && lines[2] != "after" {
				t.Errorf("%s, step %d: then %q", c.name, step, lines[2])
			}
		}
	}
}

func TestSplitterCutsBetweenCharacters(t *testing.T) {
	t.Parallel()
	for shift := range 4 {
		text := strings.Repeat("y", shift) + strings.Repeat("🪵", 3000)
		lines, _ := split([]byte(text), MinMaxRecord, 4096)
		kept, mark, found := strings.Cut(lines[0], cutMark)
		if !found || strings.ToValidUTF8(kept, "?") != kept {
			t.Errorf("shift %d: cut inside a character: %q", shift, kept[len(kept)-8:])
		}
		if want := fmt.Sprintf("%d bytes]", len(text)-len(kept)); mark != want {
			t.Errorf("shift %d: mark %q, want %q", shift, mark, want)
		}
	}
}

func TestSplitterMemory(t *testing.T) {
	t.Parallel()
	s := splitter{max: DefaultMaxRecord}
	piece := bytes.Repeat([]byte("x"), 64<<10)
	for range 50 << 20 / len(piece) {
		s.filled(copy(s.space(), piece))
		s.next()
	}
	if len(s.buf) > DefaultMaxRecord+readSize {
		t.Errorf("buffer grew to %d bytes", len(s.buf))
	}
	if l, _ := s.rest(); l.size != 50<<20 || l.whole != 50<<20 {
		t.Errorf("size %d, whole %d", l.size, l.whole)
	}
}
