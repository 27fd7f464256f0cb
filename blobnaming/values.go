package blobnaming

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"

	"logstow/record"
)

// FormatTime is a time, given in Unix nanoseconds, as RFC 3339 in UTC with nine
// digits of the second: always 30 characters, so that it compares as bytes.
// [record.ParseTime] reads it.
func FormatTime(t int64) string {
	return string(record.AppendTime(nil, t))
}

// FormatLevels formats the number of records of each level, in order of severity:
// "-=4,INFO=12,ERROR=3". It omits counts of 0; if all are 0, the result is "".
func FormatLevels(c record.Counts) string {
	var b []byte
	for l, n := range c.All() {
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(b, l.String()...)
		b = append(b, '=')
		b = strconv.AppendUint(b, n, 10)
	}
	return string(b)
}

// ParseLevels reads what [FormatLevels] wrote for counts that are not all 0;
// anything else is an error.
func ParseLevels(s string) (record.Counts, error) {
	var c record.Counts
	level := 0
	for part := range strings.SplitSeq(s, ",") {
		name, count, _ := strings.Cut(part, "=")
		for level < record.Levels && record.Level(level).String() != name {
			level++
		}
		n, err := parseUint(count)
		if level == record.Levels || err != nil || n == 0 {
			return record.Counts{}, errors.New("not counts like INFO=12,ERROR=3 in order of severity")
		}
		c[level] = n
		level++
	}
	return c, nil
}

// String is the filter's place as "offset,partitions,slicelength".
func (f Filter) String() string {
	return fmt.Sprintf("%d,%d,%d", f.Offset, f.Partitions, f.SliceLength)
}

// ParseFilter parses the output of [Filter.String] for a filter that is not the zero
// value; anything else is an error.
func ParseFilter(s string) (Filter, error) {
	wrong := errors.New("not offset,partitions,slicelength as three positive numbers")
	parts := strings.SplitN(s, ",", 4)
	if len(parts) != 3 {
		return Filter{}, wrong
	}
	var n [3]int64
	for i, part := range parts {
		v, err := parseInt(part)
		if err != nil || v == 0 {
			return Filter{}, wrong
		}
		n[i] = v
	}
	return Filter{Offset: n[0], Partitions: n[1], SliceLength: n[2]}, nil
}

func formatUint(n uint64) string { return strconv.FormatUint(n, 10) }

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }

// parseInt reads a decimal number of at most 63 bits without sign or leading zeros.
func parseInt(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || formatInt(n) != s {
		return 0, errors.New("not a decimal number below 2^63 without leading zeros")
	}
	return n, nil
}

// parseUint is parseInt with an unsigned result.
func parseUint(s string) (uint64, error) {
	n, err := parseInt(s)
	return uint64(n), err
}

// parseClass parses a class. The default class is invalid, because it is omitted in metadata.
func parseClass(s string) (string, error) {
	if s == "" {
		return "", errors.New("the default class is left out, not written")
	}
	return s, nil
}

// escapeParse encodes a parser as a value of metadata, which is sent as a header: it writes each byte that
// is not a letter, a digit or one of / . _ - as % and two hexadecimal digits.
func escapeParse(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c|0x20-'a' < 26 || c-'0' < 10 || strings.IndexByte("/._-", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// parseParse parses a parser. The default parser is invalid, because it is omitted in metadata.
func parseParse(s string) (string, error) {
	parse, err := url.PathUnescape(s)
	if err != nil || s == "" || escapeParse(parse) != s {
		return "", errors.New("not a parser as it is written")
	}
	return parse, nil
}

func parseCount(s string) (uint32, error) {
	n, err := parseUint(s)
	if err == nil && (n == 0 || n > math.MaxUint32) {
		err = errors.New("not positive, or too large")
	}
	return uint32(n), err
}

func parseOrigins(s string) (int64, error) {
	n, err := parseInt(s)
	if err == nil && n == 0 {
		err = errors.New("not positive")
	}
	return n, err
}
