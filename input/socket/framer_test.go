package socket

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// cutUp feeds a stream in pieces of n bytes and returns its messages; where one was
// cut it ends with how many bytes there were.
func cutUp(f *framer, stream string, n int) (messages []string) {
	var buf []byte
	for {
		take := min(n, len(stream))
		buf = append(buf, stream[:take]...)
		stream = stream[take:]
		end := take == 0
		for {
			m, used := f.next(buf, end)
			buf = buf[used:]
			if m.text == nil && used == 0 {
				break
			}
			if len(m.text) == 0 {
				continue
			}
			text := string(m.text)
			if m.size != int64(len(text)) {
				text = fmt.Sprintf("%s(%d)", text, m.size)
			}
			messages = append(messages, text)
		}
		if end {
			return messages
		}
	}
}

// framing is that of syslog; nul is on a Unix socket.
func framing(nul bool) Framing {
	if nul {
		return Framing{Ends: "\n\x00", OctetCounts: true}
	}
	return Framing{Ends: "\n", OctetCounts: true}
}

func TestFramer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, stream string
		nul          bool
		want         []string
	}{
		{"lines", "<1>a\n<2>b\n", false, []string{"<1>a", "<2>b"}},
		{"last line without end", "<1>a\n<2>b", false, []string{"<1>a", "<2>b"}},
		{"empty lines", "\n\n<1>a\n\n\r\n<2>b\n", false, []string{"<1>a", "<2>b"}},
		{"carriage return is a byte", "<1>a\r\n", false, []string{"<1>a\r"}},
		{"counted", "4 <1>a5 <2>bb", false, []string{"<1>a", "<2>bb"}},
		{"counted, a newline that is not counted", "4 <1>a\n5 <2>bb\n", false, []string{"<1>a", "<2>bb"}},
		{"counted, ends with a digit", "5 <1>a15 <2>bb4 <3>c", false, []string{"<1>a1", "<2>bb", "<3>c"}},
		{"counted, with a newline inside", "7 <1>a\nbc4 <2>d", false, []string{"<1>a\nbc", "<2>d"}},
		{"counted, newline at the end", "5 <1>a\n5 <2>b\n", false, []string{"<1>a", "<2>b"}},
		{"counted, newline between", "4 <1>a\n4 <2>b\n", false, []string{"<1>a", "<2>b"}},
		{"mixed", "4 <1>a<2>b\n4 <3>c", false, []string{"<1>a", "<2>b", "<3>c"}},
		{"counted, not all came", "40 <1>abc", false, []string{"<1>abc"}},
		{"a line that starts with a number", "12 monkeys\n5 <1>ab", false, []string{"12 monkeys", "<1>ab"}},
		{"a number alone", "123", false, []string{"123"}},
		{"a number and a space", "123 ", false, []string{"123 "}},
		{"leading zero", "04 <1>a\n", false, []string{"04 <1>a"}},
		{"nonsense count", "99999999 <1>a\n<2>b\n", false, []string{"99999999 <1>a", "<2>b"}},
		{"count of many digits", "123456789 <1>a\n", false, []string{"123456789 <1>a"}},
		{"too long line", "<1>aaaaaaaaaaaaaaaaaaaaaaaa\n<2>b\n", false, []string{"<1>aaaaaaaaaaaaa(27)", "<2>b"}},
		{"too long, no end", "<1>aaaaaaaaaaaaaaaaaaaaaaaa", false, []string{"<1>aaaaaaaaaaaaa(27)"}},
		{"exactly the limit", "<1>aaaaaaaaaaaaa\n<2>b\n", false, []string{"<1>aaaaaaaaaaaaa", "<2>b"}},
		{"too long counted", "27 <1>aaaaaaaaaaaaaaaaaaaaaaaa4 <2>b", false, []string{"<1>aaaaaaaaaaaaa(27)", "<2>b"}},
		{"too long counted, not all came", "27 <1>aaaaaaaaaaaaaaaaaaa", false, []string{"<1>aaaaaaaaaaaaa(22)"}},
		{"NUL of the C library", "<1>a\x00<2>b\x00<3>c\n<4>d", true, []string{"<1>a", "<2>b", "<3>c", "<4>d"}},
		{"NUL is a byte", "<1>a\x00b\n", false, []string{"<1>a\x00b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for n := 1; n <= len(c.stream); n++ {
				f := framer{Framing: framing(c.nul), limit: 16}
				if got := cutUp(&f, c.stream, n); !slices.Equal(got, c.want) {
					t.Errorf("in pieces of %d: %q, want %q", n, got, c.want)
				}
			}
		})
	}
}

func TestFramerOverflow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, after, want string }{
		{"line", "<1>ab", "cd\n<2>e", "<1>ab 7|<2>e 4"},
		{"counted", "8 <1>ab", "cde4 <2>e", "<1>ab 8|<2>e 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := framer{Framing: framing(false), limit: 100}
			if m, used := f.next([]byte(c.before), false); m.text != nil || used != 0 {
				t.Fatalf("%q %d", m.text, used)
			}
			f.overflow([]byte(c.before))
			var got []string
			for buf := []byte(c.after); len(buf) > 0; {
				m, used := f.next(buf, true)
				buf = buf[used:]
				got = append(got, fmt.Sprintf("%s %d", m.text, m.size))
			}
			if s := strings.Join(got, "|"); s != c.want {
				t.Errorf("%q, want %q", s, c.want)
			}
		})
	}
}

// FuzzFramer checks that a stream gives the same messages however it is cut up,
// and that its lines come out as they went in.
func FuzzFramer(f *testing.F) {
	for _, s := range []string{"<1>a\n<2>b\n", "4 <1>a5 <2>bb", "27 <1>aaaaaaaaaaaaaaaaaaaaaaaa4 <2>b", "99999999 <1>a\n", "12", "<1>a\x00<2>b", "0 <\n1 <<"} {
		f.Add([]byte(s), 3, false)
	}
	f.Fuzz(func(t *testing.T, stream []byte, n int, nul bool) {
		n = max(1, min(n, len(stream)))
		atOnce, inPieces := framer{Framing: framing(nul), limit: 16}, framer{Framing: framing(nul), limit: 16}
		whole, pieces := cutUp(&atOnce, string(stream), len(stream)), cutUp(&inPieces, string(stream), n)
		if atOnce.repaired+inPieces.repaired == 0 && !slices.Equal(whole, pieces) {
			t.Errorf("at once %q, in pieces of %d %q", whole, n, pieces)
		}
		if !strings.ContainsAny(string(stream), "0123456789\x00\r") {
			want := slices.DeleteFunc(strings.Split(string(stream), "\n"), func(s string) bool { return s == "" })
			got := cutUp(&framer{Framing: framing(false), limit: len(stream) + 1}, string(stream), n)
			if !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		}
	})
}

// A sender that counts a newline which it does not send: each message arrives as a whole, or several do.
func TestFramerCountOneTooLarge(t *testing.T) {
	t.Parallel()
	want := []string{"<1>a", "<2>bcdefghi", "<3>jklmno", "<4>p"}
	for _, writes := range [][]string{
		{"5 <1>a", "12 <2>bcdefghi", "10 <3>jklmno", "5 <4>p"},
		{"5 <1>a12 <2>bcdefghi", "10 <3>jklmno5 <4>p"},
		{"5 <1>a12 <2>bcdefghi10 <3>jklmno5 <4>p"},
	} {
		f := &framer{Framing: framing(true), limit: 100}
		var buf []byte
		var got []string
		for i := range len(writes) + 1 {
			end := i == len(writes)
			if !end {
				buf = append(buf, writes[i]...)
			}
			for {
				m, used := f.next(buf, end)
				if buf = buf[used:]; m.text == nil && used == 0 {
					break
				}
				if len(m.text) > 0 {
					got = append(got, string(m.text))
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", writes, got, want)
		}
	}
}
