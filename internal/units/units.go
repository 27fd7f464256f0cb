// Package units parses durations and sizes as users write them in flags and configuration, and formats sizes.
package units

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"logstow/exact"
	"logstow/message"
)

var (
	// ErrForm is the error of a text that is not a duration.
	ErrForm = errors.New("invalid form")
	// ErrRange is the error of a duration that is too long.
	ErrRange = errors.New("out of range")
)

// ParseDuration reads a duration such as 90s, 15m, 2h, 1h30m, 3d, 1w or 1.5d.
// Negative and zero durations are errors.
func ParseDuration(s string) (time.Duration, error) {
	d, err := ParseZero(s)
	if err == nil && d == 0 {
		err = fmt.Errorf("%q is zero: want a duration (write 90s, 15m, 2h, 3d or 1w)", s)
	}
	return d, err
}

// ParseZero is ParseDuration for values that may also be 0 or 0s.
func ParseZero(s string) (time.Duration, error) {
	total, rest, ok := days(s, false)
	if ok && rest != "" || s == "" {
		d, err := time.ParseDuration(rest)
		total += float64(d)
		ok = err == nil && d >= 0
	}
	if !ok || total > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is not a duration (write 90s, 15m, 2h, 3d or 1w)", s)
	}
	return time.Duration(total), nil
}

// Seconds reads a duration such as 1h30m, -2.5s, 3d or 1y2w in seconds, without a limit; a year has 365 days.
func Seconds(s string) (float64, bool) {
	if d, err := time.ParseDuration(s); err == nil {
		return d.Seconds(), true
	}
	unsigned, negative := strings.CutPrefix(s, "-")
	total, rest, ok := days(unsigned, true)
	if rest != "" {
		d, err := time.ParseDuration(rest)
		total += float64(d)
		ok = ok && err == nil && rest[0] != '+' && rest[0] != '-'
	}
	if negative {
		total = -total
	}
	return total / float64(time.Second), ok && unsigned != ""
}

// days reads the years, weeks and days that s starts with, in this order, and returns them in nanoseconds.
func days(s string, years bool) (total float64, rest string, ok bool) {
	for _, unit := range [...]struct {
		suffix string
		days   float64
	}{{"y", 365}, {"w", 7}, {"d", 1}} {
		number, after, found := strings.Cut(s, unit.suffix)
		if !found || unit.suffix == "y" && !years {
			continue
		}
		f, err := strconv.ParseFloat(number, 64)
		if err != nil || !(f >= 0) || math.IsInf(f, 0) {
			return 0, "", false
		}
		total += f * unit.days * float64(day)
		s = after
	}
	return total, s, true
}

const day = 24 * time.Hour

// Ordered reads a duration as Prometheus does: numbers with units, the largest first, each once, from years of 365 days to the least unit.
// If fractions is set, hours and shorter units may have them. The errors are ErrForm and ErrRange.
func Ordered(s string, least time.Duration, fractions bool) (total time.Duration, err error) {
	if s == "" {
		return 0, ErrForm
	}
	for last := time.Duration(math.MaxInt64); s != ""; {
		number := s[:len(s)-len(strings.TrimLeft(s, "0123456789."))]
		s = s[len(number):]
		name := s[:len(s)-len(strings.TrimLeftFunc(s, func(r rune) bool { return r != '.' && (r < '0' || '9' < r) }))]
		s = s[len(name):]
		size, dimension := message.UnitOf(name)
		unit := time.Duration(size)
		if name == "y" {
			unit, dimension = 365*day, message.Duration
		}
		n, ok := exact.Parse([]byte(number))
		if !ok || dimension != message.Duration || unit < least || unit >= last ||
			strings.Contains(number, ".") && (!fractions || unit >= day) {
			return 0, ErrForm
		}
		add, ok := n.Int64()
		if ok = ok && add <= math.MaxInt64/int64(unit); ok {
			add *= int64(unit)
		} else if f := math.Round(n.Float() * float64(unit)); f < math.MaxInt64 {
			add, ok = int64(f), true
		}
		if !ok || add > int64(math.MaxInt64-total) {
			return 0, ErrRange
		}
		total, last = total+time.Duration(add), unit
	}
	return total, nil
}

// ParseSize reads a size in bytes: a number, alone or with one of the units B,
// KB, MB, GB, TB (powers of ten) and KiB, MiB, GiB, TiB or K, M, G, T (powers of 1,024).
func ParseSize(s string) (int64, error) {
	n, ok := Bytes(s, "i")
	if !ok || n >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a size (write 8MiB, 500KB or a number of bytes)", s)
	}
	return int64(n), nil
}

// Bytes reads a number, alone or with a unit as [message.SizeUnit] has it.
func Bytes(s, short string) (float64, bool) {
	unit := strings.TrimLeft(s, "0123456789.")
	n, err := strconv.ParseFloat(s[:len(s)-len(unit)], 64)
	size, ok := message.SizeUnit(strings.TrimSpace(unit), short)
	return n * float64(size), ok && err == nil
}

// Count formats a number of things: "1 segment", "2 segments". The noun is singular.
func Count[T ~int | ~int64 | ~uint64](n T, noun string) string {
	if n != 1 {
		for _, ending := range [...][2]string{{"ty", "ties"}, {"ch", "ches"}, {"x", "xes"}, {"", "s"}} {
			if stem, ok := strings.CutSuffix(noun, ending[0]); ok {
				noun = stem + ending[1]
				break
			}
		}
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Dollars formats an estimated cost.
func Dollars(amount float64) string {
	if amount == 0 {
		return "nothing"
	}
	return fmt.Sprintf("about $%.6f", amount)
}

// FormatSize formats a number of bytes with one of the units B, kB, MB, GB, TB, powers of ten.
func FormatSize(n int64) string {
	for _, unit := range []struct {
		name string
		size float64
	}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if v := float64(n) / unit.size; v >= 1 {
			return fmt.Sprintf("%.1f %s", v, unit.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}
