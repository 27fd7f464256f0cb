package fetch

import (
	"bytes"
	"os"
	"testing"
)

// What is held is given back, from memory and from a file.
func TestScratchBlocks(t *testing.T) {
	t.Parallel()
	h := &scratchBlocks{dir: t.TempDir()}
	piece := bytes.Repeat([]byte("0123456789"), scratchMemory/40)
	for round := range 2 {
		for i := range 8 {
			piece[0] = byte(i)
			off, err := h.add(piece)
			if err != nil || off != int64(i*len(piece)) {
				t.Fatal(off, err)
			}
			if (h.file != nil) != (i >= 4) {
				t.Errorf("round %d: %d pieces, file %v", round, i+1, h.file)
			}
		}
		for i := range 8 {
			piece[0] = byte(i)
			if got, err := h.read(int64(i*len(piece)), int64(len(piece))); err != nil || !bytes.Equal(got, piece) {
				t.Errorf("round %d: piece %d: %v", round, i, err)
			}
		}
		if err := h.release(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(h.dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}
