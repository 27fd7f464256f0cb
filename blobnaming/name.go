// Package blobnaming owns the names of segments and what their metadata says:
// names, buckets, the prefixes that cover a time range, and the drawing of
// numbers. It is pure: it reads no clock and touches no storage.
package blobnaming

import "time"

// Name is a segment's blob name: <service>/<YYYY>/<MM>/<DD>/<HHmm>/<NNNNNN>.log
type Name struct {
	Service string
	// Bucket is the bucket's start, UTC.
	Bucket time.Time
	// Number is at least 1.
	Number uint64
}

// String is the blob name.
func (n Name) String() string { panic("skeleton") }

// Parse reads a blob name. What String would not have written is an error.
func Parse(s string) (Name, error) { panic("skeleton") }

// Prefixes are the fewest aligned name prefixes (year, month, day, hour) that
// cover exactly the hours which overlap [from, to), in byte order.
func Prefixes(service string, from, to time.Time) []string { panic("skeleton") }

// Numberer draws numbers for one writer. Safe for concurrent use.
type Numberer struct{}

// NewNumberer makes a Numberer; random returns a number in [0, n).
func NewNumberer(random func(n uint64) uint64) *Numberer { panic("skeleton") }

// Next is the number to try for the next batch in a bucket of a service.
func (n *Numberer) Next(service string, bucket time.Time) uint64 { panic("skeleton") }

// Taken says that a number turned out to be another writer's; the following Next avoids it.
func (n *Numberer) Taken(service string, bucket time.Time, number uint64) { panic("skeleton") }

// Wrote says that a number was created by this writer.
func (n *Numberer) Wrote(service string, bucket time.Time, number uint64) { panic("skeleton") }
