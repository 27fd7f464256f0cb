package segment_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"logstow/segment"
)

// goldenBlobs are the golden segments; a fuzz target without them would prove little.
func goldenBlobs(f *testing.F) [][]byte {
	f.Helper()
	names, err := filepath.Glob(filepath.Join(goldenDir, "*.log"))
	if err != nil || len(names) == 0 {
		f.Fatalf("no golden segments in %s, error %v", goldenDir, err)
	}
	var blobs [][]byte
	for _, name := range names {
		blobs = append(blobs, readFile(f, name))
	}
	return blobs
}

// FuzzFooter reads any bytes as a footer's msgpack: never a panic, and what is
// accepted is written and read again as the same.
func FuzzFooter(f *testing.F) {
	for _, blob := range goldenBlobs(f) {
		footer, err := verify(f, blob)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(blob[footer.Footer+segment.FrameHeader:len(blob)-segment.TrailerSize], footer.Footer)
	}
	f.Fuzz(func(t *testing.T, body []byte, at int64) {
		footer, err := segment.DecodeFooter(body, at)
		if err != nil {
			return
		}
		frame, err := segment.AppendFooter(nil, footer)
		if err != nil {
			t.Fatal(err)
		}
		again, err := segment.DecodeFooter(frame[segment.FrameHeader:len(frame)-segment.TrailerSize], at)
		if err != nil {
			t.Fatalf("what was accepted is refused: %v", err)
		}
		second, err := segment.AppendFooter(nil, again)
		if err != nil || !bytes.Equal(frame, second) {
			t.Fatalf("written twice, a footer differs: error %v", err)
		}
	})
}

// FuzzDecodeBlock decodes any bytes with a right checksum.
func FuzzDecodeBlock(f *testing.F) {
	for _, blob := range goldenBlobs(f) {
		footer, err := verify(f, blob)
		if err != nil {
			f.Fatal(err)
		}
		for _, b := range footer.Blocks {
			f.Add(blob[b.Offset:b.Offset+b.Stored], b.Raw)
		}
	}
	decoder := segment.NewDecoder()
	f.Fuzz(func(t *testing.T, stored []byte, raw int64) {
		b := segment.Block{Stored: int64(len(stored)), Raw: raw, Hash: segment.HashOf(stored)}
		text, err := decoder.DecodeBlock(nil, stored, b)
		if err == nil && int64(len(text)) != raw {
			t.Fatalf("%d bytes of %d", len(text), raw)
		}
		if err != nil && !errors.As(err, new(*segment.CorruptError)) {
			t.Fatalf("error is %v", err)
		}
	})
}

// FuzzVerify reads any bytes as a segment, also with a right trailer and
// footer checksum: it is a segment, or damaged, or of a newer version.
func FuzzVerify(f *testing.F) {
	for _, blob := range goldenBlobs(f) {
		footer, err := verify(f, blob)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(blob[:footer.Footer], blob[footer.Footer+segment.FrameHeader:len(blob)-segment.TrailerSize])
		f.Add(blob, []byte(nil))
	}
	f.Fuzz(func(t *testing.T, parts, body []byte) {
		for _, blob := range [][]byte{parts, seal(bytes.Clone(parts), body)} {
			footer, err := segment.Verify(t.Context(), ranges(blob), int64(len(blob)))
			if err == nil && footer.Records == 0 {
				t.Fatal("a segment without records")
			}
			if err != nil && !errors.As(err, new(*segment.CorruptError)) && !errors.Is(err, segment.ErrUnsupported) {
				t.Fatalf("error is %v", err)
			}
		}
	})
}
