package loki

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"logstow/internal/units"
)

// parseTime parses a point in time in the forms of Loki's API: an integer is a Unix time in seconds if it has at most ten digits,
// otherwise in nanoseconds; a number with a decimal point is in seconds; otherwise the form is RFC 3339 with an optional fraction.
// The result is in Unix nanoseconds. Times before 1970 or in or after 2262 are errors.
func parseTime(s string) (int64, error) {
	ns, ok := unixTime(s)
	if !ok {
		t, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			return 0, fmt.Errorf("cannot parse %q: neither a Unix time nor RFC 3339", s)
		}
		ns, ok = t.UnixNano(), t.Year() >= 1970 && t.Year() < 2262
		if !ok {
			ns = -1
		}
	}
	if ns < 0 {
		return 0, fmt.Errorf("cannot use the time %q: it is not between 1970 and 2262", s)
	}
	return ns, nil
}

// unixTime parses a Unix time. ok is false if s is not a number; ns is negative if the time is out of range.
func unixTime(s string) (ns int64, ok bool) {
	const maxSeconds = math.MaxInt64 / int64(time.Second)
	seconds, fraction, point := strings.Cut(s, ".")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || point && strings.Trim(fraction, "0123456789") != "" {
		// It has an exponent or is not a number. A float64 is exact enough.
		f, err := parseFloat(s)
		if err != nil || !point {
			return 0, false
		}
		if !(f >= 0 && f < float64(maxSeconds)) {
			return -1, true
		}
		return int64(f * 1e9), true
	}
	if !point && len(s) > 10 {
		return n, true
	}
	if n < 0 || n >= maxSeconds || s[0] == '-' {
		return -1, true
	}
	digits, _ := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
	return n*int64(time.Second) + digits, true
}

// parseDuration parses a duration in the forms of Loki's API: a number of seconds, or as in Prometheus, such as 1h30m or 500ms.
func parseDuration(s string) (time.Duration, error) {
	if f, err := parseFloat(s); err == nil {
		if ns := f * 1e9; ns > -math.MaxInt64 && ns < math.MaxInt64 {
			return time.Duration(math.Round(ns)), nil
		}
		return 0, fmt.Errorf("cannot use the duration %q: out of range", s)
	}
	d, err := units.Ordered(s, time.Millisecond, false)
	switch {
	case errors.Is(err, units.ErrRange):
		return 0, fmt.Errorf("cannot use the duration %q: out of range", s)
	case err != nil:
		return 0, fmt.Errorf("cannot parse %q as a duration: it is neither a number of seconds nor of the form 1h30m", s)
	}
	return d, nil
}

// parseFloat parses a decimal number. It rejects Go's hexadecimal literals and underscores.
func parseFloat(s string) (float64, error) {
	if strings.ContainsAny(s, "_xX") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(s, 64)
}

// defaultStep returns a 250th of the range, rounded down to whole seconds, at least one.
func defaultStep(from, to int64) time.Duration {
	return time.Duration(max((to-from)/(250*int64(time.Second)), 1)) * time.Second
}

// appendSeconds appends a time as a decimal number of seconds, with milliseconds.
func appendSeconds(dst []byte, ns int64) []byte {
	return strconv.AppendFloat(dst, float64(ns/int64(time.Millisecond))/1000, 'f', -1, 64)
}
