package spill

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"logstow/internal/test/testrand"
)

// times are keys of a time.
type times struct{ newest bool }

func (k times) Compare(a, b int64) int {
	if k.newest {
		a, b = b, a
	}
	return cmp.Compare(a, b)
}

func (k times) Encode(buffer []byte, key int64) []byte {
	return EncodeTimed(buffer, key, 1, 1<<32-1)
}

func (k times) Decode(encoded []byte) (int64, bool) {
	key, a, b, ok := DecodeTimed(encoded)
	return key, ok && a == 1 && b == 1<<32-1
}

// inMemory is a cursor on sorted times; the payload is a text of the time.
type inMemory struct {
	times []int64
	at    int64
	text  func(at int64) []byte
}

func (c *inMemory) Next() (int64, error) {
	if len(c.times) == 0 {
		return 0, io.EOF
	}
	c.at, c.times = c.times[0], c.times[1:]
	return c.at, nil
}

func (c *inMemory) Payload(*[]byte) ([]byte, error) { return c.text(c.at), nil }

func textOf(at int64) []byte { return bytes.Repeat(binary.AppendVarint(nil, at), int(at&7)) }

// Cursors are added while records are taken and spilled: all come in order, once, within the maximum number of runs, and the file is
// empty whenever no run is left.
func TestMerger(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	for round := range 40 {
		m := NewMerger(times{newest: round%2 == 1}, t.TempDir())
		sign := int64(1 - 2*(round%2))
		var got, want []int64
		take := func(until int64) {
			t.Helper()
			if err := m.Each(func(key int64) bool { return key*sign < until }, func(key int64, c Cursor[int64]) error {
				payload, err := m.Payload(c)
				if err == nil && !bytes.Equal(payload, textOf(key)) {
					t.Fatalf("%d has the payload %q", key, payload)
				}
				got = append(got, key)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if key, _, ok := m.First(); ok && key*sign < until {
				t.Fatalf("%d is left before %d", key*sign, until)
			}
		}
		spilled := false
		for start := range int64(2*MaxRuns + rnd.IntN(600)) {
			at := start
			c := &inMemory{text: textOf}
			for range rnd.IntN(20) {
				at += rnd.Int64N(60)
				c.times = append(c.times, at*sign)
			}
			want = append(want, c.times...)
			var err error
			switch rnd.IntN(8) {
			case 0:
				err = m.AddRun(c)
				spilled = true
			default:
				err = m.Add(c, 7)
			}
			if err == nil && rnd.IntN(3) > 0 {
				err = m.Spill()
				if m.Size() != 0 {
					t.Fatalf("%d bytes are in memory", m.Size())
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			if rnd.IntN(400) == 0 {
				take(math.MaxInt64)
				break
			}
			take(start)
			if m.Runs() == 0 && m.file.size != 0 {
				t.Fatalf("%d bytes without a run", m.file.size)
			}
		}
		take(math.MaxInt64)
		slices.SortFunc(want, m.keys.Compare)
		if !slices.Equal(got, want) || m.Size() != 0 || m.Runs() != 0 || m.file.size != 0 {
			t.Fatalf("%d records, want %d; %d bytes and %d runs left, %d bytes in the file", len(got), len(want), m.Size(), m.Runs(), m.file.size)
		}
		if info, err := m.file.file.Stat(); spilled && (err != nil || info.Size() != 0 || m.Written() == 0) {
			t.Fatalf("%v, file of %d bytes, %d written", err, info.Size(), m.Written())
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Runs that are too many are merged, with what is in memory, in the same file.
func TestManyRuns(t *testing.T) {
	t.Parallel()
	m := NewMerger(times{}, t.TempDir())
	t.Cleanup(func() { _ = m.Close() })
	const runs = 2*MaxRuns + 10
	for i := range runs {
		if err := errors.Join(m.Add(&inMemory{times: []int64{int64(i % 7), int64(i)}, text: textOf}, 1), m.Spill()); err != nil {
			t.Fatal(err)
		}
		if m.Runs() > MaxRuns || m.Size() != 0 {
			t.Fatalf("%d runs, %d bytes", m.Runs(), m.Size())
		}
	}
	written := m.Written()
	if err := m.Spill(); err != nil || m.Written() != written {
		t.Errorf("without records in memory: %v, %d bytes", err, m.Written()-written)
	}
	n, last := 0, int64(0)
	if err := m.Each(nil, func(key int64, _ Cursor[int64]) error {
		if key < last {
			t.Errorf("%d comes after %d", key, last)
		}
		n, last = n+1, key
		return nil
	}); err != nil || n != 2*runs {
		t.Errorf("%d records, %v", n, err)
	}
}

// Equal keys come in the order in which runs were added.
func TestMergerTies(t *testing.T) {
	t.Parallel()
	m := NewMerger(times{}, t.TempDir())
	t.Cleanup(func() { _ = m.Close() })
	const runs = 100
	for i := range runs {
		if err := m.AddRun(&inMemory{times: []int64{1, 1, 2}, text: func(int64) []byte { return []byte{byte(i)} }}); err != nil {
			t.Fatal(err)
		}
	}
	var got []byte
	if err := m.Each(nil, func(_ int64, c Cursor[int64]) error {
		payload, err := m.Payload(c)
		got = append(got, payload...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for i, b := range got {
		if want := i % 300 / 2; i < 2*runs && int(b) != want || i >= 2*runs && int(b) != i-2*runs {
			t.Fatalf("record %d of run %d", i, b)
		}
	}
	if len(got) != 3*runs {
		t.Errorf("%d records", len(got))
	}
}

// Cursors on runs of large records have them in memory one at a time.
func TestRunsKeepNoRecords(t *testing.T) {
	t.Parallel()
	m := NewMerger(times{}, t.TempDir())
	t.Cleanup(func() { _ = m.Close() })
	const size, runs = 1 << 20, 40
	text := func(at int64) []byte { return bytes.Repeat([]byte{byte(at)}, size) }
	for i := range int64(runs) {
		if err := errors.Join(m.Add(&inMemory{times: []int64{i}, text: text}, size), m.Spill()); err != nil {
			t.Fatal(err)
		}
	}
	if m.buffer != nil {
		t.Errorf("%d bytes of a record are in memory", cap(m.buffer))
	}
	n := int64(0)
	if err := m.Each(nil, func(key int64, c Cursor[int64]) error {
		payload, err := m.Payload(c)
		if err != nil || key != n || !bytes.Equal(payload, text(n)) || cap(m.buffer) > 2*size {
			t.Fatalf("run %d: %v, time %d, %d bytes, %d in the buffer", n, err, key, len(payload), cap(m.buffer))
		}
		for _, h := range m.heap.Items {
			if r, ok := h.Cursor.(*reader[int64]); !ok || len(r.key) != timedSize || r.r.Size() != mergerReadBuffer {
				t.Fatalf("run %d: a cursor %T has more than its key and its buffer", n, h.Cursor)
			}
		}
		n++
		return nil
	}); err != nil || n != runs {
		t.Errorf("%d records, %v", n, err)
	}
}

// A damaged temporary file is an error, not an allocation of any size.
func TestDamagedRun(t *testing.T) {
	t.Parallel()
	for _, length := range []uint64{64<<20 + 1, maxRecord, maxRecord + 1, math.MaxInt64, math.MaxUint64} {
		for part := range 3 { // common prefix, rest of the key, payload
			var run []byte
			for i := range 3 {
				n := uint64(0)
				if i == part {
					n = length
				}
				run = binary.AppendUvarint(run, n)
			}
			r := newReader(bytewise{}, bytes.NewReader(run), readBuffer)
			_, err := r.Next()
			var payload []byte
			if err == nil && part == 2 {
				_, err = r.Payload(&payload)
			}
			if err == nil || !strings.HasPrefix(err.Error(), "cannot read temporary file: ") || cap(r.key)+cap(payload) > 4*readBuffer {
				t.Errorf("length %d of part %d: %v, %d bytes in memory", length, part, err, cap(r.key)+cap(payload))
			}
		}
	}
	r := newReader(times{}, bytes.NewReader([]byte{0, 3, 0, 'k', 'e', 'y'}), readBuffer)
	if _, err := r.Next(); !errors.Is(err, errCorrupt) {
		t.Errorf("a key that cannot be decoded: %v", err)
	}
}

// Values have numbers, and numbers values.
func TestNumbers(t *testing.T) {
	t.Parallel()
	var n Numbers[string]
	if _, ok := n.Value(0); ok {
		t.Error("there is a value")
	}
	for range 2 {
		for i, value := range []string{"a", "b", ""} {
			if got := n.Of(value); got != uint32(i) {
				t.Errorf("%q is %d", value, got)
			}
			if got, ok := n.Value(uint32(i)); !ok || got != value {
				t.Errorf("%d is %q, %v", i, got, ok)
			}
		}
	}
	if _, ok := n.Value(3); ok {
		t.Error("there are more values")
	}
}
