package input_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/multiline"
	"logstow/internal/test/effort"
)

// encode encodes a text with its byte order mark.
func encode(e input.Encoding, text string) []byte {
	text = "\ufeff" + text
	var order binary.AppendByteOrder = binary.LittleEndian
	if e == input.UTF16BE || e == input.UTF32BE {
		order = binary.BigEndian
	}
	var out []byte
	switch e {
	case input.UTF16LE, input.UTF16BE:
		for _, unit := range utf16.Encode([]rune(text)) {
			out = order.AppendUint16(out, unit)
		}
	case input.UTF32LE, input.UTF32BE:
		for _, char := range text {
			out = order.AppendUint32(out, uint32(char))
		}
	default:
		out = []byte(text)
	}
	return out
}

func encodings() []input.Encoding {
	return []input.Encoding{input.UTF16LE, input.UTF16BE, input.UTF32LE, input.UTF32BE}
}

func TestDetectEncoding(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		head    string
		want    input.Encoding
		certain bool
	}{
		{"", input.UTF8, false},
		{"a", input.UTF8, true},
		{"\xef\xbb\xbfa", input.UTF8, true},
		{"\xff", input.UTF8, false},
		{"\xff\xfe", input.UTF16LE, false},
		{"\xff\xfea\x00", input.UTF16LE, true},
		{"\xff\xfe\x00", input.UTF16LE, false},
		{"\xff\xfe\x00\x00", input.UTF32LE, true},
		{"\xfe\xff", input.UTF16BE, true},
		{"\xfe", input.UTF8, false},
		{"\x00\x00\xfe", input.UTF8, false},
		{"\x00\x00\xfe\xff", input.UTF32BE, true},
		{"\x00\x00\x00", input.UTF8, true},
	} {
		if e, certain := input.DetectEncoding([]byte(tt.head)); e != tt.want || certain != tt.certain {
			t.Errorf("%q: %v, certain %v, want %v, %v", tt.head, e, certain, tt.want, tt.certain)
		}
	}
}

// Texts of all encodings give the same lines, in pieces of any size. Positions count bytes of the file.
func TestEncodings(t *testing.T) {
	t.Parallel()
	lines := []string{"one", "", "zwei Übergröße", "三", "🪵 four\r", strings.Repeat("長", 300), "\ufeffmark", "last"}
	text := strings.Join(lines, "\n")
	for _, e := range encodings() {
		encoded := encode(e, text)
		for name, r := range map[string]io.Reader{
			"whole":  bytes.NewReader(encoded),
			"bytes":  iotest.OneByteReader(bytes.NewReader(encoded)),
			"halves": iotest.HalfReader(bytes.NewReader(encoded)),
		} {
			var s sink
			var stats input.Stats
			var log bytes.Buffer
			f := newFeed(t, input.Options{Sink: &s, Stats: &stats, Log: slog.New(slog.NewTextHandler(&log, nil))})
			src := f.Resume("x", input.Point{}, at)
			if err := f.Read(t.Context(), src, r, time.Time{}); err != nil {
				t.Fatal(err)
			}
			held := int64(len(encode(e, "last")) - len(encode(e, "")))
			if src.Offset() != int64(len(encoded)) || src.Held() != held || src.Point().Offset != int64(len(encoded))-held {
				t.Errorf("%v, %s: offset %d of %d, held %d, position %d", e, name, src.Offset(), len(encoded), src.Held(), src.Point().Offset)
			}
			if err := f.End(t.Context(), src, time.Time{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(lines, s.messages); diff != "" {
				t.Errorf("%v, %s: %s", e, name, diff)
			}
			if stats.Bytes.Load() != int64(len(encoded)) || src.Offset() != int64(len(encoded)) || src.Held() != 0 || src.Encoding() != e {
				t.Errorf("%v, %s: %d bytes, offset %d, held %d, encoding %v", e, name, stats.Bytes.Load(), src.Offset(), src.Held(), src.Encoding())
			}
			if n := strings.Count(log.String(), "encoding="+e.String()); n != 1 {
				t.Errorf("%v, %s: logged %d times", e, name, n)
			}
		}
	}
}

// A run that ends after any byte is continued by the next one: every line comes once.
func TestEncodingsResume(t *testing.T) {
	t.Parallel()
	want := []string{"START one", "START two\n  🪵 more", "START drei Größen", "START four"}
	for _, e := range encodings() {
		text := encode(e, strings.Join(want, "\n")+"\n")
		read := func(s *sink, from input.Point, to int) input.Point {
			f := newFeed(t, input.Options{Sink: s, Lines: input.Lines{Multiline: multiline.Options{Start: regexp.MustCompile("^START")}}})
			src := f.Resume("x", from, func(input.Point) []buffer.Position { return nil })
			encoding, _ := input.DetectEncoding(text[:4])
			if err := f.Read(t.Context(), src.Encoded(encoding), bytes.NewReader(text[from.Offset:to]), time.Time{}); err != nil {
				t.Fatal(err)
			}
			if to == len(text) {
				if err := f.End(t.Context(), src, time.Time{}); err != nil {
					t.Fatal(err)
				}
			}
			return src.Point()
		}
		for end := range text {
			var s sink
			read(&s, read(&s, input.Point{}, end), len(text))
			if diff := cmp.Diff(want, s.messages); diff != "" {
				t.Fatalf("%v, a run that ended at %d: %s", e, end, diff)
			}
		}
	}
}

// A source that starts inside a character begins with the next one.
func TestEncodingFromTheMiddle(t *testing.T) {
	t.Parallel()
	for _, e := range encodings() {
		text := encode(e, "ab\ncd\n")
		for from := 1; from < len(text); from++ {
			var s sink
			f := newFeed(t, input.Options{Sink: &s})
			src := f.Resume("x", input.Point{Offset: int64(from)}, at).Encoded(e)
			if err := f.Read(t.Context(), src, bytes.NewReader(text[from:]), time.Time{}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(s.messages, "\n"); !strings.HasSuffix("ab\ncd", got) || src.Offset() != int64(len(text)) {
				t.Errorf("%v from %d: %q, offset %d of %d", e, from, got, src.Offset(), len(text))
			}
		}
	}
}

func TestInvalidEncodings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"only a mark", "\xff\xfe", nil},
		{"a part of a mark", "\xff", []string{"\xff"}},
		{"second half of a pair alone", "\xff\xfe\x00\xdca\x00\n\x00", []string{"\ufffda"}},
		{"first half of a pair alone", "\xff\xfe\x3d\xd8a\x00\n\x00", []string{"\ufffda"}},
		{"first half before a newline", "\xff\xfe\x3d\xd8\n\x00a\x00\n\x00", []string{"\ufffd", "a"}},
		{"first half at the end", "\xff\xfea\x00\x3d\xd8", []string{"a\ufffd"}},
		{"odd byte at the end", "\xfe\xff\x00a\x00", []string{"a\ufffd"}},
		{"no character", "\xff\xfe\x00\x00\xff\xff\xff\x00a\x00\x00\x00", []string{"\ufffda"}},
		{"surrogate in UTF-32", "\x00\x00\xfe\xff\x00\x00\xd8\x3d\x00\x00\x00a", []string{"\ufffda"}},
		{"hole after the mark", "\xff\xfe\x01\x00\n\x00" + strings.Repeat("\x00\x00", 16) + "a\x00\n\x00", []string{"\x01", "a"}},
	} {
		var s sink
		f := newFeed(t, input.Options{Sink: &s})
		src := f.NewSource("x")
		if err := f.Read(t.Context(), src, strings.NewReader(tt.text), time.Time{}); err != nil {
			t.Fatal(err)
		}
		if err := f.End(t.Context(), src, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, s.messages); diff != "" || src.Offset() != int64(len(tt.text)) {
			t.Errorf("%s: offset %d of %d: %s", tt.name, src.Offset(), len(tt.text), diff)
		}
	}
}

// A program that writes a line in pieces may be interrupted inside a character for so long that the piece counts as a line.
func TestEncodingGoesOnAfterACutCharacter(t *testing.T) {
	t.Parallel()
	for _, e := range encodings() {
		text := encode(e, "one\ntwo\nthree\n")
		cut := len(encode(e, "one\ntw")) + 1
		var s sink
		f := newFeed(t, input.Options{Sink: &s})
		src := f.NewSource("x")
		for _, part := range [][]byte{text[:cut], text[cut:]} {
			if err := f.Read(t.Context(), src, bytes.NewReader(part), time.Time{}); err != nil {
				t.Fatal(err)
			}
			if err := f.End(t.Context(), src, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string{"one", "tw\ufffd", "", "three"}, s.messages); diff != "" || src.Offset() != int64(len(text)) {
			t.Errorf("%v: offset %d of %d: %s", e, src.Offset(), len(text), diff)
		}
	}
}

// Long lines are truncated by their length in UTF-8, and large reads are converted in parts.
func TestEncodingOfManyAndLongLines(t *testing.T) {
	effort.Need(t, effort.Test, "one goroutine, which takes seconds under the race detector")
	t.Parallel()
	for _, e := range encodings() {
		long := strings.Repeat("長", 1<<20)
		text := encode(e, strings.Repeat("line 長\n", 200_000)+long+"\nend\n")
		var s sink
		var stats input.Stats
		f := newFeed(t, input.Options{Sink: &s, Stats: &stats, Buffers: input.NewReadBuffers(1)})
		src := f.Resume("x", input.Point{}, at)
		if err := f.Read(t.Context(), src, bytes.NewReader(text), time.Time{}); err != nil {
			t.Fatal(err)
		}
		if len(s.messages) != 200_002 || s.messages[199_999] != "line 長" || s.messages[200_001] != "end" {
			t.Fatalf("%v: %d records", e, len(s.messages))
		}
		if got := s.messages[200_000]; !strings.HasPrefix(got, "長長") || !strings.HasSuffix(got, " bytes]") || stats.Cut.Load() != 1 {
			t.Errorf("%v: the long line has %d bytes, %d truncated", e, len(got), stats.Cut.Load())
		}
		if src.Point().Offset != int64(len(text)) || stats.Bytes.Load() != int64(len(text)) {
			t.Errorf("%v: position %d, %d bytes, want %d", e, src.Point().Offset, stats.Bytes.Load(), len(text))
		}
	}
}
