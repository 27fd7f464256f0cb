package segment

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"logstow/blobnaming"
	"logstow/record"
)

// MaxOrigins is the maximum number of inputs of an output.
const MaxOrigins = 32768

// MaxParts is the maximum number of parts of all inputs of an output.
const MaxParts = 1 << 18

// Origin is an input of a compaction output: a plain segment whose records the output contains.
type Origin struct {
	// Bucket and Number are from its name. Bucket is in Unix seconds UTC, a whole minute of the output's day.
	Bucket int64
	Number uint64
	// Batch, Start, End, Records and Size (stored bytes) identify it.
	Batch      blobnaming.Batch
	Start, End int64
	Records    uint64
	Size       int64
	// Instance, Seq and Levels are from its metadata.
	Instance string
	Seq      int64
	Levels   record.Counts
	// Sum is the sum of its records.
	Sum Sum
}

// Name returns the name of the input's blob in a service.
func (o Origin) Name(service string) blobnaming.Name {
	return blobnaming.Name{Service: service, Bucket: time.Unix(o.Bucket, 0).UTC(), Number: o.Number}
}

// CompareOrigins is the order of inputs, and of records of equal time from
// different inputs: by Instance, Seq and name.
func CompareOrigins(a, b Origin) int {
	return cmp.Or(
		strings.Compare(a.Instance, b.Instance),
		cmp.Compare(a.Seq, b.Seq),
		cmp.Compare(a.Bucket, b.Bucket),
		cmp.Compare(a.Number, b.Number),
	)
}

// Sum identifies a multiset of records, independent of their order: the sum modulo 2^128 of a hash of each record's text.
// The hash is XXH64 with seed 1 (high half) and seed 0 (low half). It detects damage and mistakes, not deliberate
// collisions.
type Sum struct {
	Hi, Lo uint64
}

// Add adds a record, given its whole text ([record.Line.Text]).
func (s *Sum) Add(text []byte) {
	var d xxhash.Digest
	d.ResetWithSeed(1)
	_, _ = d.Write(text) // never fails
	var carry uint64
	s.Lo, carry = bits.Add64(s.Lo, xxhash.Sum64(text), 0)
	s.Hi, _ = bits.Add64(s.Hi, d.Sum64(), carry)
}

// sumSize is the length of a stored Sum: Lo and Hi, little-endian.
const sumSize = 16

func (s Sum) append(dst []byte) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, s.Lo), s.Hi)
}

func parseSum(b []byte) Sum {
	return Sum{Lo: binary.LittleEndian.Uint64(b), Hi: binary.LittleEndian.Uint64(b[8:])}
}

// OriginTally counts the records of one input.
type OriginTally struct {
	Records    uint64
	Levels     record.Counts
	Start, End int64
	Sum        Sum
}

// Add counts a record.
func (t *OriginTally) Add(line record.Line) {
	if t.Records == 0 {
		t.Start, t.End = line.Time, line.Time
	}
	t.Start, t.End = min(t.Start, line.Time), max(t.End, line.Time)
	t.Records++
	t.Levels[line.Level]++
	t.Sum.Add(line.Text)
}

// Matches reports whether the records counted are those of o.
func (t *OriginTally) Matches(o Origin) bool {
	return *t == OriginTally{Records: o.Records, Levels: o.Levels, Start: o.Start, End: o.End, Sum: o.Sum}
}
