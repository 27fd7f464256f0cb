package segment

import (
	"context"
	"math"

	"logstow/record"
)

// originVerifier checks that the records of an output are those of its inputs, in order of time and input.
type originVerifier struct {
	list    *Origins
	tallies []OriginTally   // by input
	counts  []uint64        // records by part
	levels  []record.Counts // by part
	page    func(p OriginPage) ([]byte, error)
	ids     *BlockOrigins
	// time and part are those of the last record.
	time int64
	part int
}

func newOriginVerifier(ctx context.Context, read Range, f *Footer) (*originVerifier, error) {
	list, err := readOrigins(ctx, read, f)
	if err != nil {
		return nil, err
	}
	return &originVerifier{
		list:    list,
		tallies: make([]OriginTally, len(list.Inputs)),
		counts:  make([]uint64, len(list.Parts)),
		levels:  make([]record.Counts, len(list.Parts)),
		time:    math.MinInt64,
		page:    func(p OriginPage) ([]byte, error) { return readRange(ctx, read, p.Offset, p.Length) },
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
	for i, part := range v.ids.Parts {
		if v.ids.Before[i] != v.counts[part] {
			return corruptOrigins(p.Offset, "page of block %d: %d records of part %d before it, %d expected",
				b.Index, v.ids.Before[i], part, v.counts[part])
		}
	}
	return nil
}

// add checks record n of a block, and returns the instance of its input.
func (v *originVerifier) add(line record.Line, n uint64, b Block) (instance string, err error) {
	if n >= b.Records {
		return "", nil // the caller reports the excess record
	}
	at := v.ids.Part(int(n))
	if line.Time < v.time || line.Time == v.time && at < v.part {
		return "", b.Corrupt("record %d is not in the order of its inputs", n)
	}
	v.time, v.part = line.Time, at
	v.counts[at]++
	v.levels[at][line.Level]++
	part := v.list.Parts[at]
	v.tallies[part.Input].Add(line)
	return part.Instance, nil
}

// done compares the records of each input with the list.
func (v *originVerifier) done(f *Footer) error {
	for i, p := range v.list.Parts {
		if v.levels[i] != p.Levels {
			return corruptOrigins(f.Origins, "the records of instance %s of input %s are not as many as it had", p.Instance,
				v.list.Inputs[p.Input].Name(f.Service))
		}
	}
	for i, o := range v.list.Inputs {
		if !v.tallies[i].Matches(o) {
			return corruptOrigins(f.Origins, "the records of input %s are not those that it had", o.Name(f.Service))
		}
	}
	return nil
}
