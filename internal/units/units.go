// Package units parses durations and sizes as users write them in flags and configuration, and formats sizes.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"logstow/message"
)

// ParseDuration reads a duration such as 90s, 15m, 2h, 1h30m, 3d, 1w or 1.5d.
// Negative and zero durations are errors.
func ParseDuration(s string) (time.Duration, error) {
	d, ok := parseDuration(s)
	if ok && d <= 0 {
		return 0, fmt.Errorf("%q is zero: want a duration (write 90s, 15m, 2h, 3d or 1w)", s)
	}
	if !ok {
		return 0, fmt.Errorf("%q is not a duration (write 90s, 15m, 2h, 3d or 1w)", s)
	}
	return d, nil
}

func parseDuration(s string) (time.Duration, bool) {
	var total time.Duration
	rest := s
	for _, unit := range []struct {
		suffix string
		length time.Duration
	}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}} {
		number, after, found := strings.Cut(rest, unit.suffix)
		if !found {
			continue
		}
		f, err := strconv.ParseFloat(number, 64)
		if err != nil || !(f >= 0) || f*float64(unit.length)+float64(total) > math.MaxInt64/2 {
			return 0, false
		}
		total += time.Duration(f * float64(unit.length))
		rest = after
	}
	if rest == "" {
		return total, s != ""
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || d > math.MaxInt64/2 {
		return 0, false
	}
	return total + d, true
}

// ParseSize reads a size in bytes: a number, alone or with one of the units B,
// KB, MB, GB, TB (powers of ten) and KiB, MiB, GiB, TiB or K, M, G, T (powers of 1,024).
func ParseSize(s string) (int64, error) {
	i := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if i < 0 {
		i = len(s)
	}
	f, err := strconv.ParseFloat(s[:i], 64)
	unit, known := message.SizeUnit(strings.TrimSpace(s[i:]), "i")
	if err != nil || !known || !(f >= 0) || f*float64(unit) >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a size (write 8MiB, 500KB or a number of bytes)", s)
	}
	return int64(f * float64(unit)), nil
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
