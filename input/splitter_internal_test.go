package input

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"logstow/buffer"
	"logstow/internal/test/effort"
)

// split runs text through a splitter in pieces of at most step bytes.
func split(text []byte, limit, step int) (lines []string, sizes []int64) {
	s := splitter{max: limit, buffers: NewReadBuffers(1)}
	defer s.giveBack()
	take := func(next func() (line, int64, bool)) {
		for {
			l, size, ok := next()
			if ok {
				lines = append(lines, string(l.text))
			}
			if size == 0 {
				return
			}
			sizes = append(sizes, size)
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
	for range (effort.Cases{Short: 5, Test: 8, Full: 50}).N() {
		text := make([]byte, r.IntN(LargeRead))
		for i := range text {
			text[i] = "ab\r\n\xff\x00"[r.IntN(6)]
		}
		lines, sizes := split(text, DefaultMaxRecord, 1+r.IntN(4*readSize))
		want := strings.TrimSuffix(regexp.MustCompile("(^|\n)\x00{16,}").ReplaceAllString(string(text), "$1"), "\n")
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
	if l, size, _ := s.rest(); size != 50<<20 || l.whole != 50<<20 {
		t.Errorf("size %d, whole %d", size, l.whole)
	}
}

// A stream that fills the buffer is read in large pieces, as long as it has much and a large buffer is free.
func TestSplitterReadsMuchAtOnce(t *testing.T) {
	t.Parallel()
	line := []byte(strings.Repeat("x", 99) + "\n")
	// turn reads so many bytes, as many at once as there is space for, and returns the largest read.
	turn := func(s *splitter, n int) (most int) {
		t.Helper()
		s.restore(partialLine{text: line[:50]})
		for n > 0 {
			space := s.space()
			space = space[:min(n, len(space))]
			for i := range space {
				space[i] = line[i%len(line)]
			}
			s.filled(len(space))
			for _, _, ok := s.next(); ok; _, _, ok = s.next() {
			}
			n -= len(space)
			most = max(most, len(space))
		}
		s.detach()
		return most
	}
	large := NewReadBuffers(1)
	a, b := splitter{max: DefaultMaxRecord, buffers: large}, splitter{max: DefaultMaxRecord, buffers: large}
	for _, step := range []struct {
		name     string
		s        *splitter
		n, most  int
		giveBack bool
	}{
		{"little", &a, readSize / 2, readSize / 2, true},
		{"much for the first time", &a, readSize + 1, readSize - 50, true},
		{"much", &a, LargeRead, LargeRead, false},
		{"another one has much for the first time", &b, LargeRead, readSize - 50, false},
		{"another one has much", &b, LargeRead, readSize - 50, false},
		{"much again", &a, LargeRead + 50, LargeRead + 50, true},
		{"now the other one", &b, LargeRead, LargeRead, true},
		{"little again", &a, 100, 100, true},
		{"and again", &a, readSize, readSize - 50, true},
	} {
		if most := turn(step.s, step.n); most != step.most {
			t.Errorf("%s: %d bytes at once, want %d", step.name, most, step.most)
		}
		if step.giveBack {
			step.s.giveBack()
			if len(step.s.buf) > readSize || step.s.borrowed != nil {
				t.Errorf("%s: then it has a buffer of %d bytes", step.name, len(step.s.buf))
			}
		}
	}
	if len(large.large) > 0 {
		t.Error("a large buffer is not returned")
	}
	turn(&a, LargeRead)
	a.restore(partialLine{})
	for _, n := range []int{LargeRead, 350} { // a stream that pauses
		a.filled(len(a.space()[:n]))
		for _, _, ok := a.next(); ok; _, _, ok = a.next() {
		}
	}
	held := string(a.buf[a.start:a.end])
	if a.space(); a.borrowed != nil || string(a.buf[a.start:a.end]) != held || len(large.large) > 0 {
		t.Error("a stream that pauses keeps a large buffer, or loses what it held")
	}
	long := splitter{max: DefaultMaxRecord, buffers: large, bulk: true}
	for range 5 * LargeRead / 100 { // one line, cut
		long.filled(copy(long.space(), line[:99]))
	}
	if l, size, ok := long.rest(); !ok || len(l.text) > DefaultMaxRecord || size != 5*LargeRead/100*99 {
		t.Errorf("a long line: %d bytes of %d", len(l.text), size)
	}
	if long.giveBack(); len(large.large) > 0 {
		t.Error("behind a long line a large buffer is not returned")
	}
}

// failingSink rejects everything.
type failingSink struct{ Sink }

func (failingSink) Append(context.Context, buffer.Chunk) (buffer.LSN, error) {
	return 0, errors.New("refused")
}

// A Feed keeps no large buffer, whatever ends the reading.
func TestFeedReturnsLargeBuffers(t *testing.T) {
	t.Parallel()
	large := NewReadBuffers(1)
	f, err := NewFeed(Options{Service: "web", Sink: failingSink{}, Buffers: large})
	if err != nil {
		t.Fatal(err)
	}
	f.split.bulk = true
	if err := f.Read(t.Context(), f.NewSource("a"), strings.NewReader("line\n"), time.Time{}); err == nil {
		t.Error("the sink's error is lost")
	}
	f.split.bulk = true
	src := f.NewSource("b")
	src.partial = partialLine{text: []byte("line")}
	if err := f.End(t.Context(), src, time.Time{}); err == nil {
		t.Error("the sink's error is lost")
	}
	if len(large.large) > 0 {
		t.Error("a large buffer is not returned")
	}
}
