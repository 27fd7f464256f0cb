package segment

import (
	"context"
	"math"

	"logstow/record"
)

// originVerifier checks that the records of an output are those of its inputs, in order of time and input.
type originVerifier struct {
	list    *Origins
	tallies []OriginTally
	page    func(p OriginPage) ([]byte, error)
	ids     *BlockOrigins
	// time and input are those of the last record.
	time  int64
	input int
}

func newOriginVerifier(ctx context.Context, read Range, f *Footer) (*originVerifier, error) {
	list, err := readOrigins(ctx, read, f)
	if err != nil {
		return nil, err
	}
	return &originVerifier{
		list: list, tallies: make([]OriginTally, len(list.Inputs)), time: math.MinInt64,
		page: func(p OriginPage) ([]byte, error) { return readRange(ctx, read, p.Offset, p.Length) },
	}, nil
}

// startBlock reads the page of a block.
func (v *originVerifier) startBlock(b Block) error {
	p := v.list.Pages[b.Index]
	stored, err := v.page(p)
	if err != nil {
		return err
	}
	if v.ids, err = v.list.DecodePage(stored, b); err != nil {
		return err
	}
	for i, input := range v.ids.Inputs {
		if v.ids.Before[i] != v.tallies[input].Records {
			return corruptOrigins(p.Offset, "page of block %d: %d records of input %d before it, %d expected",
				b.Index, v.ids.Before[i], input, v.tallies[input].Records)
		}
	}
	return nil
}

// add checks record n of a block, and returns the instance of its input.
func (v *originVerifier) add(line record.Line, n uint64, b Block) (instance string, err error) {
	if n >= b.Records {
		return "", nil // the caller reports the excess record
	}
	input := v.ids.Input(int(n))
	if line.Time < v.time || line.Time == v.time && input < v.input {
		return "", b.Corrupt("record %d is not in the order of its inputs", n)
	}
	v.time, v.input = line.Time, input
	v.tallies[input].Add(line)
	return v.list.Inputs[input].Instance, nil
}

// done compares the records of each input with the list.
func (v *originVerifier) done(f *Footer) error {
	for i, o := range v.list.Inputs {
		if !v.tallies[i].Matches(o) {
			return corruptOrigins(f.Origins, "the records of input %s are not those that it had", o.Name(f.Service))
		}
	}
	return nil
}
