package segment

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"logstow/blobnaming"
	"logstow/record"
)

const (
	// maxFrame is the maximum stored size of a block: incompressible text and the overhead of zstd.
	maxFrame = MaxBlockRaw + MaxBlockRaw/256 + 64
	// maxSection is the maximum length of a section, which is one skippable frame.
	maxSection     = frameHeader + math.MaxUint32
	maxSectionName = 64
	// maxMinutes is the maximum number of minutes in a bucket, maxSpan the same in nanoseconds.
	maxMinutes = 24 * 60
	maxSpan    = maxMinutes * 60_000_000_000
	// maxRequires is the maximum number of keys that a segment may require, maxRequired their maximum length in bytes.
	maxRequires = 64
	maxRequired = 64
)

// validate checks a footer for consistency. Writers call it before writing, readers before use.
func (f *Footer) validate() error {
	if err := f.Validate(); err != nil {
		return err
	}
	if !blobnaming.ValidService(f.Service) {
		return fmt.Errorf("service %q is not a valid name", f.Service)
	}
	if err := validBucket(f.BucketStart, f.BucketWidth); err != nil {
		return err
	}
	if f.Start < f.BucketStart*1e9 || f.End >= (f.BucketStart+f.BucketWidth)*1e9 {
		return fmt.Errorf("records outside the bucket")
	}
	for _, check := range []func() error{f.validateBlocks, f.validateLayout, f.validateColumns, f.validateOutput, f.validateInstances, f.validateMinutes, f.validateSources, f.validateLabels} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// validBucket checks that a bucket is whole minutes inside one hour, which name prefixes rely on,
// and that its times fit into nanoseconds.
func validBucket(start, width int64) error {
	const far, hour, day = math.MaxInt64/1_000_000_000 - 2*24*3600, 3600, 24 * 3600
	if start < -far || start > far {
		return fmt.Errorf("bucket start %d is out of range", start)
	}
	into := (start%hour + hour) % hour
	if start%60 != 0 || width%60 != 0 || width <= 0 || width > hour-into && (width != day || start%day != 0) {
		return fmt.Errorf("bucket of %d s from %d is not whole minutes inside one hour, nor a day", width, start)
	}
	return nil
}

// validateInstances checks the instances whose records a relay put into the segment.
func (f *Footer) validateInstances() error {
	if f.Instances == nil {
		return nil
	}
	used := make([]bool, len(f.Instances))
	for _, b := range f.Blocks {
		if b.Instance >= len(used) {
			return fmt.Errorf("block %d is of instance %d of %d", b.Index, b.Instance, len(used))
		}
		used[b.Instance] = true
	}
	switch {
	case f.IsOutput():
		return errors.New("an output with instances of a relay")
	case len(used) == 0 || len(used) > blobnaming.MaxInstances || slices.Contains(used, false):
		return fmt.Errorf("%d instances, 1 to %d with records allowed", len(used), blobnaming.MaxInstances)
	}
	for i, name := range f.Instances {
		if !blobnaming.ValidInstance(name) || i > 0 && f.Instances[i-1] >= name {
			return fmt.Errorf("instance %d is not valid or not in order", i)
		}
	}
	return nil
}

func (f *Footer) validateBlocks() error {
	if n := len(f.Blocks); n == 0 || n > MaxBlocks {
		return fmt.Errorf("%d blocks, 1 to %d allowed", n, MaxBlocks)
	}
	var sum Block // cannot overflow: at most 4096 blocks of less than 2^25 bytes
	start, end := int64(math.MaxInt64), int64(math.MinInt64)
	for i, b := range f.Blocks {
		var records uint64
		for l, n := range b.Levels {
			if n > MaxBlockRaw {
				return fmt.Errorf("block %d: %d records of one level", i, n)
			}
			records += n
			sum.Levels[l] += n
		}
		switch {
		case b.Index != i || b.Offset != sum.Stored:
			return fmt.Errorf("block %d is not where the one before it ends", i)
		case b.Stored <= 0 || b.Stored > maxFrame:
			return fmt.Errorf("block %d: %d bytes stored, at most %d allowed", i, b.Stored, maxFrame)
		case b.Raw <= 0 || b.Raw > MaxBlockRaw:
			return fmt.Errorf("block %d: %d bytes of text, at most %d allowed", i, b.Raw, MaxBlockRaw)
		case b.Records == 0 || b.Records > uint64(b.Raw)/record.MinText:
			return fmt.Errorf("block %d: %d records in %d bytes", i, b.Records, b.Raw)
		case b.Records != records:
			return fmt.Errorf("block %d: %d records, but %d by level", i, b.Records, records)
		case b.Attributes > b.Records:
			return fmt.Errorf("block %d: %d of %d records have attributes", i, b.Attributes, b.Records)
		case b.Start > b.End:
			return fmt.Errorf("block %d ends before it starts", i)
		}
		sum.Stored += b.Stored
		sum.Raw += b.Raw
		sum.Records += b.Records
		start, end = min(start, b.Start), max(end, b.End)
	}
	switch {
	case sum.Records != f.Records || sum.Levels != f.Levels || uint64(sum.Raw) != f.RawBytes:
		return fmt.Errorf("the blocks' sums are not the totals")
	case start != f.Start || end != f.End:
		return fmt.Errorf("the blocks' times are not the segment's")
	}
	return nil
}

// validateLayout checks that sections fill the space between the last block and
// the footer, and that the filter lies in it.
func (f *Footer) validateLayout() error {
	from := f.blocksEnd()
	at := from
	if len(f.Sections) > MaxSections {
		return fmt.Errorf("%d sections, at most %d allowed", len(f.Sections), MaxSections)
	}
	for i, s := range f.Sections {
		switch {
		case s.Name == "" || len(s.Name) > maxSectionName:
			return fmt.Errorf("section %d has a name of %d bytes", i, len(s.Name))
		case s.Offset != at:
			return fmt.Errorf("section %q is not where the part before it ends", s.Name)
		case s.Length < frameHeader || s.Length > maxSection:
			return fmt.Errorf("section %q has %d bytes", s.Name, s.Length)
		}
		at += s.Length
	}
	if at != f.Footer {
		return fmt.Errorf("blocks and sections end at %d, the footer is at %d", at, f.Footer)
	}
	if p := f.Filter; p != (blobnaming.Filter{}) {
		if p.Offset < from || p.Offset > at || p.Partitions > (at-p.Offset)/p.SliceLength {
			return fmt.Errorf("filter %v is outside the sections", p)
		}
	}
	return nil
}

// blocksEnd is the offset after the last block.
func (f *Footer) blocksEnd() int64 {
	if len(f.Blocks) == 0 {
		return 0
	}
	last := f.Blocks[len(f.Blocks)-1]
	return last.Offset + last.Stored
}

func (f *Footer) validateMinutes() error {
	if n := len(f.Minutes); n == 0 || int64(n) > f.BucketWidth/60 {
		return fmt.Errorf("%d minutes in a bucket of %d s", n, f.BucketWidth)
	}
	var levels record.Counts
	next, end := f.BucketStart, f.BucketStart+f.BucketWidth
	for _, m := range f.Minutes {
		if m.Start < next || m.Start >= end || m.Start%60 != 0 || m.Levels == (record.Counts{}) {
			return fmt.Errorf("minutes are out of order, outside the bucket or empty")
		}
		next = m.Start + 60
		for l, n := range m.Levels {
			if n > f.Levels[l]-levels[l] {
				return fmt.Errorf("the minutes' sums are not the totals")
			}
			levels[l] += n
		}
	}
	if levels != f.Levels {
		return fmt.Errorf("the minutes' sums are not the totals")
	}
	if !inMinute(f.Start, f.Minutes[0]) || !inMinute(f.End, f.Minutes[len(f.Minutes)-1]) {
		return fmt.Errorf("the minutes are not those of first and last record")
	}
	return f.validateOnMinute()
}

func (f *Footer) validateOnMinute() error {
	if f.OnMinute == nil {
		return nil
	}
	some := false
	for i, counts := range f.OnMinute {
		for l, n := range counts {
			if some = some || n > 0; n > f.Minutes[i].Levels[l] {
				return fmt.Errorf("a minute has fewer records than its start")
			}
		}
	}
	if !some || len(f.OnMinute) != len(f.Minutes) {
		return fmt.Errorf("the records at the start of minutes are not those of the minutes")
	}
	return nil
}

// inMinute reports whether t, in Unix nanoseconds, lies in m.
func inMinute(t int64, m record.Minute) bool {
	into := t - m.Start*1e9
	return into >= 0 && into < 60e9
}

func (f *Footer) validateSources() error {
	if n := len(f.Sources); n == 0 || n > MaxSources {
		return fmt.Errorf("%d sources, 1 to %d allowed", n, MaxSources)
	}
	for i, s := range f.Sources {
		if s == "" || len(s) > record.MaxSource {
			return fmt.Errorf("source %d has %d bytes, 1 to %d allowed", i, len(s), record.MaxSource)
		}
		if i > 0 && s <= f.Sources[i-1] {
			return fmt.Errorf("sources are not in order")
		}
	}
	return nil
}
