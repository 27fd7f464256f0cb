package columns

import (
	"encoding/binary"
	"fmt"
	"math"

	"logstow/internal/ids"
	"logstow/internal/wire"
)

// maxRun is the maximum length of an encoded run in bytes: a difference of 32 bits and a number of records.
const maxRun = binary.MaxVarintLen32 + binary.MaxVarintLen32

// appendSeconds appends the page of the column of times. ticks are the ticks of the records of a block (see [Run]),
// ascending. Each tick with records is a run of two unsigned varints: the difference from the previous tick (initially 0)
// and the number of its records less one. The runs are stored in a form of a plane.
func (e *encoder) appendSeconds(dst []byte, ticks []uint32) []byte {
	runs := e.plane[:0]
	last := uint32(0)
	for i := 0; i < len(ticks); {
		n := i + 1
		for n < len(ticks) && ticks[n] == ticks[i] {
			n++
		}
		runs = binary.AppendUvarint(runs, uint64(ticks[i]-last))
		runs = binary.AppendUvarint(runs, uint64(n-i-1))
		last, i = ticks[i], n
	}
	e.plane = runs
	packed, form, ok := ids.AppendBytes(&e.ids, e.packed[:0], runs)
	e.packed = packed
	if !ok {
		return append(append(dst, planeRaw), runs...)
	}
	dst = binary.AppendUvarint(append(dst, planeForm(form)), uint64(len(runs)))
	return append(dst, packed...)
}

// A Run is a run of consecutive records of one tick. So it is known whether a record is before, at or after a whole second.
type Run struct {
	// Tick is 2n for the n-th whole second since the one in which the block starts, 2n+1 for the time between it and the next.
	Tick uint32
	// End is one more than the index of the last record.
	End int
}

// Second is relative to the second in which the block starts.
func (r Run) Second() int64 { return int64(r.Tick / 2) }

// Times returns the first and the last time that the records may have, in Unix nanoseconds. base is the second in which the
// block starts, in Unix seconds.
func (r Run) Times(base int64) (first, last int64) {
	second := (base + r.Second()) * 1e9
	if r.Tick%2 == 0 {
		return second, second
	}
	return second + 1, second + 1e9 - 1
}

// TickOf returns the tick of a time, from a second on.
func TickOf(at, base int64) uint32 {
	tick := 2 * (FloorSecond(at) - base)
	if at%1e9 != 0 {
		tick++
	}
	return uint32(tick)
}

// DecodeSeconds decodes the page of times of a block with this number of records. Each run starts where the previous
// one ends. Errors wrap [ErrMalformed].
func DecodeSeconds(page []byte, records int) ([]Run, error) {
	return new(Decoder).Seconds(page, records)
}

// Seconds is DecodeSeconds with the memory of a Decoder.
func (d *Decoder) Seconds(page []byte, records int) ([]Run, error) {
	r := &wire.Reader{Rest: page}
	if err := d.unpackSeconds(r, records); err != nil {
		return nil, err
	}
	var runs []Run
	tick, end := uint64(0), 0
	for end < records {
		delta, more := r.Uvarint(), r.Uvarint()
		if tick += delta; r.Bad || delta > math.MaxUint32 || tick > math.MaxUint32 || more >= uint64(records-end) || delta == 0 && end > 0 {
			return nil, fmt.Errorf("%w: a run of times is missing or too long", ErrMalformed)
		}
		end += int(more) + 1
		runs = append(runs, Run{uint32(tick), end})
	}
	if len(r.Rest) > 0 {
		return nil, fmt.Errorf("%w: %d bytes follow the last run", ErrMalformed, len(r.Rest))
	}
	return runs, nil
}

// unpackSeconds decompresses the runs of a page of times and makes r read them.
func (d *Decoder) unpackSeconds(r *wire.Reader, records int) error {
	form := r.Byte()
	if form == planeRaw {
		return nil
	}
	of, known := idsForm(form)
	n := r.Uvarint()
	if most := uint64(records) * maxRun; r.Bad || !known || n > most {
		return fmt.Errorf("%w: times of form %d, of %d bytes", ErrMalformed, form, n)
	}
	out := d.bytes.take(int(n))
	if err := ids.DecodeBytes(&d.ids, out, of, r.Rest); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	r.Rest = out
	return nil
}
