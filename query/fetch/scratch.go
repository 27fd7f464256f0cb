package fetch

import (
	"fmt"
	"os"
	"sync"

	"logstow/internal/tempfile"
)

// scratchMemory is the maximum number of bytes that scratchBlocks keeps in memory.
const scratchMemory = 4 << 20

// scratchBlocks keeps the blocks made of foreign segments during one step of a query: up to scratchMemory bytes in memory,
// more in a temporary file. Safe for concurrent use, except for release.
type scratchBlocks struct {
	dir string

	mu     sync.Mutex
	memory []byte
	file   *os.File // nil while all is in memory
	size   int64
}

// add appends data and returns its offset.
func (h *scratchBlocks) add(data []byte) (off int64, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	off = h.size
	switch {
	case h.file == nil && h.size+int64(len(data)) <= scratchMemory:
		h.memory = append(h.memory, data...)
	case h.file == nil:
		if h.file, err = tempfile.Create(h.dir); err == nil {
			_, err = h.file.WriteAt(h.memory, 0)
			h.memory = nil
		}
		fallthrough
	default:
		if err == nil {
			_, err = h.file.WriteAt(data, off)
		}
	}
	if err != nil {
		return 0, tempfile.WriteError(h.dir, err)
	}
	h.size += int64(len(data))
	return off, nil
}

// read returns n bytes at an offset.
func (h *scratchBlocks) read(off, n int64) ([]byte, error) {
	data := make([]byte, n)
	h.mu.Lock()
	file := h.file
	if file == nil {
		copy(data, h.memory[off:off+n])
	}
	h.mu.Unlock()
	if file == nil {
		return data, nil
	}
	if _, err := file.ReadAt(data, off); err != nil {
		return nil, fmt.Errorf("cannot read temporary file: %w", err)
	}
	return data, nil
}

// release drops all blocks.
func (h *scratchBlocks) release() error {
	h.memory, h.size = nil, 0
	if h.file == nil {
		return nil
	}
	err := tempfile.Remove(h.file)
	h.file = nil
	return err
}
