package decompress_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"logstow/internal/decompress"
	"logstow/internal/hint"
)

// The beginnings of compressed files.
const (
	bzip2 = "BZh91AY&SY\x01\x02\x03"
	empty = "BZh9\x17\x72\x45\x38\x50\x90\x00\x00\x00\x00" // bzip2 of nothing
	xz    = "\xfd7zXZ\x00\x00\x04"
	lz4   = "\x04\x22\x4d\x18\x64"
	zip   = "PK\x03\x04\x14\x00"
)

func member(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func frame(t *testing.T, text string) string {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(z.EncodeAll([]byte(text), nil))
}

func TestReader(t *testing.T) {
	t.Parallel()
	one, two := member(t, "one\n"), member(t, "two\n")
	zeros := strings.Repeat("\x00", 100_000)
	for _, tt := range []struct {
		name, in, want string
		err            error
	}{
		{"empty", "", "", nil},
		{"plain", "text\n", "text\n", nil},
		{"plain like bzip2", "BZh1 is the name\n", "BZh1 is the name\n", nil},
		{"gzip", one, "one\n", nil},
		{"gzip of nothing", member(t, ""), "", nil},
		{"members", one + two, "one\ntwo\n", nil},
		{"padding", one + zeros[:512], "one\n", nil},
		{"padding longer than the buffer", one + zeros, "one\n", nil},
		{"members with padding", one + zeros[:100] + two + zeros[:1], "one\ntwo\n", nil},
		{"gzip truncated", one[:len(one)-9], "one\n", io.ErrUnexpectedEOF},
		{"gzip header truncated", one[:5], "", io.ErrUnexpectedEOF},
		{"second header truncated", one + two[:5], "one\n", io.ErrUnexpectedEOF},
		{"something after padding", one + zeros[:9] + "not gzip at all", "one\n", gzip.ErrHeader},
		{"zstd", frame(t, "one\n"), "one\n", nil},
		{"zstd after a skippable frame", "\x51\x2a\x4d\x18\x01\x00\x00\x00x" + frame(t, "one\n"), "one\n", nil},
		{"bzip2", bzip2, "", decompress.ErrUnsupported},
		{"bzip2 of nothing", empty, "", decompress.ErrUnsupported},
		{"xz", xz, "", decompress.ErrUnsupported},
		{"lz4", lz4, "", decompress.ErrUnsupported},
		{"zip", zip, "", decompress.ErrUnsupported},
		{"gzip in gzip", member(t, one), "", decompress.ErrUnsupported},
		{"zstd in gzip", member(t, frame(t, strings.Repeat("one\n", 9))), "", decompress.ErrUnsupported},
		{"zip in zstd", frame(t, zip+"\x00\x00\x00\x00"), "", decompress.ErrUnsupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, in := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
				var got []byte
				text, done, err := decompress.Reader(in)
				if err == nil {
					got, err = io.ReadAll(text)
					done()
				}
				if string(got) != tt.want || !same(err, tt.err) {
					t.Errorf("got %q, error %v, want %q, %v", got, err, tt.want, tt.err)
				}
			}
		})
	}
}

// same reports whether an error is the wanted one; that of a header is compared by its text.
func same(err, want error) bool {
	return errors.Is(err, want) || err != nil && want != nil && strings.HasSuffix(err.Error(), want.Error())
}

// A tar archive is recognized in what was read at once: waiting for its header would delay lines of a pipe.
func TestTar(t *testing.T) {
	t.Parallel()
	archive := archived(t, "2026-11-20 15:04:05 x\n")
	for name, in := range map[string]string{"plain": archive, "gzip": member(t, archive), "zstd": frame(t, archive)} {
		_, _, err := decompress.Reader(strings.NewReader(in))
		if !errors.Is(err, decompress.ErrUnsupported) || !strings.Contains(err.Error(), "tar archive") || hint.Of(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	text := strings.Repeat("x", 257) + "ustar\n"
	for _, in := range []string{text, member(t, text)} {
		r, done, err := decompress.Reader(strings.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); string(got) != text || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		done()
	}
}

// archived returns a tar archive with a file.
func archived(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "app.log", Mode: 0o600, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestUnsupported(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ head, want string }{
		"zstd":  {frame(t, "one\n"), "zstd -dc"},
		"bzip2": {bzip2, "bzip2 -dc"},
		"xz":    {xz, "xz -dc"},
		"lz4":   {lz4, "lz4 -dc"},
		"zip":   {zip, "unzip -p"},
	} {
		err := decompress.Unsupported([]byte(tt.head))
		if err == nil || !strings.Contains(err.Error(), "compressed with "+name) || !strings.Contains(hint.Of(err), tt.want) {
			t.Errorf("%s: error %v, hint %q", name, err, hint.Of(err))
		}
	}
	for _, head := range []string{"", "B", "BZh9", "BZh0" + bzip2[4:], "text\n", member(t, "one\n")} {
		if err := decompress.Unsupported([]byte(head)); err != nil {
			t.Errorf("%q: %v", head, err)
		}
	}
	for name, want := range map[string]bool{"a.log.bz2": true, "a.xz": true, "a.zst": true, "a.log": false, "a.gz": false, "bz2": false} {
		if got := decompress.HasUnsupportedSuffix(name); got != want {
			t.Errorf("%s: suffix %v", name, got)
		}
	}
}
