package compaction

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"logstow/record"
	"logstow/segment"
)

// A damaged temporary file is an error, not an allocation of any size.
func TestDamagedRun(t *testing.T) {
	t.Parallel()
	for _, length := range []uint64{segment.MaxBlockRaw + 1, math.MaxInt64, math.MaxUint64} {
		var run []byte
		for _, n := range []uint64{0, 0, 0, length} { // input, block, time, length
			run = binary.AppendUvarint(run, n)
		}
		c := &cursor{run: bufio.NewReader(bytes.NewReader(run))}
		if more, err := c.next(); more || err == nil {
			t.Errorf("length %d: %v, %v", length, more, err)
		}
	}
}

// Cursors on runs of large records have them in memory one at a time.
func TestRunsKeepNoRecords(t *testing.T) {
	t.Parallel()
	r := runs{dir: t.TempDir()}
	t.Cleanup(func() { _ = r.close() })
	const size = 1 << 20
	text := record.AppendText(nil, record.Record{Time: 7, Source: "-", Message: bytes.Repeat([]byte("x"), size)})
	var open []*cursor
	for i := range 40 {
		in := &cursor{input: uint32(i), text: text, whole: text}
		if _, err := in.next(); err != nil {
			t.Fatal(err)
		}
		c, err := r.write(cursors{in})
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	for i, c := range open {
		if c.input != uint32(i) || c.line.Time != 7 || c.line.Text != nil || cap(r.buffer) > 2*size {
			t.Fatalf("run %d: input %d, time %d, %d bytes of text in memory, %d in the buffer", i, c.input, c.line.Time, len(c.line.Text), cap(r.buffer))
		}
		if err := c.load(&r.buffer); err != nil || !bytes.Equal(c.line.Text, text) {
			t.Fatalf("run %d: %v, %d bytes", i, err, len(c.line.Text))
		}
		if more, err := c.next(); more || err != nil || c.line.Text != nil {
			t.Fatalf("run %d: %v, %v after its end", i, more, err)
		}
	}
}
