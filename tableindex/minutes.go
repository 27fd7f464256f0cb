package tableindex

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"logstow/blobnaming"
	"logstow/record"
)

// minutesOf returns the number of minutes that a segment can have: from the start of its bucket to the end of its hour, 1,440 of an
// output.
func minutesOf(name blobnaming.Name) int {
	_, end := name.Period()
	return int(end.Sub(name.Bucket) / time.Minute)
}

// encodeMinutes encodes for each minute, in order: the minute relative to the bucket's start, as an unsigned varint; a
// byte with the set of levels that have records (bit 0 is "-", bit 6 FATAL); and for each of those levels,
// in order, the number of records as an unsigned varint. The result for no minutes is empty.
func encodeMinutes(name blobnaming.Name, minutes []record.Minute) ([]byte, error) {
	var b []byte
	next := 0
	for _, m := range minutes {
		offset := m.Start - name.Bucket.Unix()
		if offset%60 != 0 || offset < int64(next)*60 || offset >= int64(minutesOf(name))*60 {
			return nil, fmt.Errorf("minute %d does not start one of the bucket's, in order", m.Start)
		}
		next = int(offset/60) + 1
		var set byte
		for level := range m.Levels.All() {
			set |= 1 << level
		}
		if set == 0 {
			return nil, fmt.Errorf("minute %d has no records", m.Start)
		}
		b = append(binary.AppendUvarint(b, uint64(offset/60)), set)
		for _, n := range m.Levels.All() {
			b = binary.AppendUvarint(b, n)
		}
	}
	return b, nil
}

// decodeMinutes decodes the output of encodeMinutes; anything else is an error.
func decodeMinutes(name blobnaming.Name, b []byte) ([]record.Minute, error) {
	if len(b) == 0 {
		return nil, errors.New("empty")
	}
	var minutes []record.Minute
	next := 0
	for len(b) > 0 {
		at, size := binary.Uvarint(b)
		if size <= 0 || len(b) == size || size > 1 && b[size-1] == 0 {
			return nil, errors.New("cut off, or a malformed minute")
		}
		set := b[size]
		b = b[size+1:]
		if at >= uint64(minutesOf(name)) || int(at) < next {
			return nil, fmt.Errorf("minute %d is not after the one before it in the bucket", at)
		}
		offset := int(at)
		if set == 0 || set>>record.Levels != 0 {
			return nil, fmt.Errorf("minute %d has a set of levels %#x", offset, set)
		}
		next = offset + 1
		m := record.Minute{Start: name.Bucket.Unix() + int64(offset)*60}
		for level := range m.Levels {
			if set&(1<<level) == 0 {
				continue
			}
			n, size := binary.Uvarint(b)
			// The last byte of a shortest varint is not 0: this rejects a count of 0 too.
			if size <= 0 || b[size-1] == 0 {
				return nil, fmt.Errorf("minute %d has a malformed count", offset)
			}
			m.Levels[level] = n
			b = b[size:]
		}
		minutes = append(minutes, m)
	}
	return minutes, nil
}

// checkSums returns an error if the counts of the minutes do not sum to levels.
func checkSums(minutes []record.Minute, levels record.Counts) error {
	var sum record.Counts
	for _, m := range minutes {
		for level, n := range m.Levels {
			sum[level] += n
			if sum[level] < n || sum[level] > levels[level] {
				return fmt.Errorf("more records of level %s than the %d of the segment", record.Level(level), levels[level])
			}
		}
	}
	if sum != levels {
		return errors.New("fewer records than the segment has")
	}
	return nil
}
