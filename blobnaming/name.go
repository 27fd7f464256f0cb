// Package blobnaming defines the names of segments and their metadata: names, buckets, the prefixes
// that cover a time range, and the drawing of numbers. It is pure: it reads no clock and accesses
// no storage. docs/format/names.md specifies it for implementers of readers.
package blobnaming

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Suffix ends every segment's name.
const Suffix = ".log"

// bucketLayout is the part of a name between the service and the number.
const bucketLayout = "2006/01/02/1504"

// minDigits is the minimum number of digits of a name's number, which is padded with zeros.
const minDigits = 6

// Name is a segment's blob name, <service>/<YYYY>/<MM>/<DD>/<HHmm>/<NNNNNN>.log in the raw container, for example
// "queue/2014/07/31/1800/000001.log"; that of an output of compaction is as [OutputName] makes it.
type Name struct {
	// Service is the name of the service; see [ValidService].
	Service string
	// Bucket is the bucket's start, UTC, a whole minute of the years 1 to 9999; the day of an output.
	Bucket time.Time
	// Number is at least 1. The number of an output is its generation.
	Number uint64
	// Chain is the class of an output, or "-" for the default class; "" for a plain segment.
	Chain string
}

// String is the blob name.
func (n Name) String() string {
	b := make([]byte, 0, len(n.Service)+len(bucketLayout)+16)
	b = append(b, n.Service...)
	b = append(b, '/')
	if n.Chain != "" {
		b = n.Bucket.UTC().AppendFormat(b, dayLayout)
		b = append(b, n.Chain...)
	} else {
		b = n.Bucket.UTC().AppendFormat(b, bucketLayout)
	}
	b = append(b, '/')
	b = appendNumber(b, n.Number)
	return string(append(b, Suffix...))
}

// appendNumber appends a name's number, padded with zeros.
func appendNumber(b []byte, number uint64) []byte {
	digits := 1
	for v := number; v >= 10; v /= 10 {
		digits++
	}
	for ; digits < minDigits; digits++ {
		b = append(b, '0')
	}
	return strconv.AppendUint(b, number, 10)
}

// Parse parses the name of a plain segment. It accepts exactly the output of [Name.String] for valid
// fields. The bucket may start at any minute, because readers do not assume a bucket
// width.
func Parse(s string) (Name, error) {
	n, err := parse(s)
	if err != nil {
		return Name{}, fmt.Errorf("blob name %q: %w", s, err)
	}
	return n, nil
}

func parse(s string) (Name, error) {
	service, rest, ok := strings.Cut(s, "/")
	if !ok || !ValidService(service) {
		return Name{}, errors.New("does not start with a service name and a slash")
	}
	if len(rest) < len(bucketLayout)+1 || rest[len(bucketLayout)] != '/' {
		return Name{}, errors.New("the service is not followed by YYYY/MM/DD/HHmm/")
	}
	bucket, err := time.Parse(bucketLayout, rest[:len(bucketLayout)])
	if err != nil || bucket.Year() < 1 {
		return Name{}, errors.New("the service is not followed by a date and time YYYY/MM/DD/HHmm")
	}
	digits, ok := strings.CutSuffix(rest[len(bucketLayout)+1:], Suffix)
	if !ok {
		return Name{}, errors.New("does not end in " + Suffix)
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || number == 0 {
		return Name{}, errors.New("the number is not a positive decimal number")
	}
	n := Name{Service: service, Bucket: bucket, Number: number}
	if n.String() != s {
		return Name{}, errors.New("date or number is not written in the canonical form")
	}
	return n, nil
}

// Period returns the hours that the bucket may have: its hour; of an output its day.
func (n Name) Period() (from, to time.Time) {
	if n.Chain != "" {
		return n.Bucket, n.Bucket.Add(day)
	}
	from = n.Bucket.Truncate(time.Hour)
	return from, from.Add(time.Hour)
}

// Contains reports whether records from start to end, Unix nanoseconds, can be in n's bucket, whose width is unknown but ends with
// its [Name.Period].
func (n Name) Contains(start, end int64) bool {
	_, to := n.Period()
	return !time.Unix(0, start).Before(n.Bucket) && time.Unix(0, end).Before(to)
}

// Overlaps reports whether n's [Name.Period] overlaps [from, to). A segment for which Overlaps is false has no record of the
// range.
func (n Name) Overlaps(from, to time.Time) bool {
	first, end := n.Period()
	return from.Before(to) && first.Before(to) && end.After(from)
}
