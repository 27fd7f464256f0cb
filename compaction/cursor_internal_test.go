package compaction

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"logstow/segment"
)

// A damaged temporary file is an error, not an allocation of any size.
func TestDamagedRun(t *testing.T) {
	t.Parallel()
	for _, length := range []uint64{segment.MaxBlockRaw + 1, math.MaxInt64, math.MaxUint64} {
		var run []byte
		for _, n := range []uint64{0, 0, length} { // input, block, length
			run = binary.AppendUvarint(run, n)
		}
		c := &cursor{run: bufio.NewReader(bytes.NewReader(run))}
		if more, err := c.next(); more || err == nil {
			t.Errorf("length %d: %v, %v", length, more, err)
		}
	}
}
