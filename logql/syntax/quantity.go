package syntax

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

var (
	errForm  = errors.New("invalid form")
	errRange = errors.New("out of range")
)

// parseNumber reads a number without a sign: 5, 5., .5, 1e-3, 1_000, 0x1f or 0x1p3.
func parseNumber(s string) (float64, error) {
	hexadecimal := strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X")
	if hexadecimal && !strings.ContainsAny(s, ".pP") {
		n, err := strconv.ParseUint(s, 0, 64)
		return float64(n), numberError(err)
	}
	if !hexadecimal && strings.Trim(s, "0123456789._eE+-") != "" {
		return 0, errForm
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, numberError(err)
}

func numberError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, strconv.ErrRange):
		return errRange
	}
	return errForm
}

type durationUnit struct {
	name  string
	size  time.Duration
	whole bool // no fraction
}

// durationUnits are in the order that a duration has them in.
func durationUnits() []durationUnit {
	const day = 24 * time.Hour
	return []durationUnit{
		{"y", 365 * day, true},
		{"w", 7 * day, true},
		{"d", day, true},
		{"h", time.Hour, false},
		{"m", time.Minute, false},
		{"s", time.Second, false},
		{"ms", time.Millisecond, false},
		{"us", time.Microsecond, false},
		{"µs", time.Microsecond, false},
		{"ns", time.Nanosecond, false},
	}
}

// parseDuration reads a duration without a sign: numbers with units, the largest unit first, each unit once.
func parseDuration(s string) (time.Duration, error) {
	if s == "" {
		return 0, errForm
	}
	units := durationUnits()
	total := time.Duration(0)
	for s != "" {
		number := leadingDecimal(s)
		s = s[len(number):]
		name := s[:len(s)-len(strings.TrimLeftFunc(s, func(r rune) bool { return r != '.' && (r < '0' || '9' < r) }))]
		s = s[len(name):]
		i := 0
		for i < len(units) && units[i].name != name {
			i++
		}
		if number == "" || i == len(units) || units[i].whole && strings.Contains(number, ".") {
			return 0, errForm
		}
		add, err := scale(number, units[i].size)
		if err != nil {
			return 0, err
		}
		if add > math.MaxInt64-total {
			return 0, errRange
		}
		total += add
		if name == "us" {
			i++
		}
		units = units[i+1:]
	}
	return total, nil
}

// scale is a number, such as 5 or 1.5, of units.
func scale(number string, unit time.Duration) (time.Duration, error) {
	if !strings.Contains(number, ".") {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n > math.MaxInt64/int64(unit) {
			return 0, errRange
		}
		return time.Duration(n) * unit, nil
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || number[0] == '.' || strings.HasSuffix(number, ".") {
		return 0, errForm
	}
	if n *= float64(unit); n >= math.MaxInt64 {
		return 0, errRange
	}
	return time.Duration(math.Round(n)), nil
}

func leadingDecimal(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789."))]
}

// parseBytes reads a size: 5B, 1.5kB, 20MiB.
func parseBytes(s string) (float64, error) {
	number := leadingDecimal(s)
	factor, ok := 0.0, true
	switch s[len(number):] {
	case "B":
		factor = 1
	case "kB", "KB":
		factor = 1e3
	case "MB":
		factor = 1e6
	case "GB":
		factor = 1e9
	case "TB":
		factor = 1e12
	case "PB":
		factor = 1e15
	case "KiB":
		factor = 1 << 10
	case "MiB":
		factor = 1 << 20
	case "GiB":
		factor = 1 << 30
	case "TiB":
		factor = 1 << 40
	case "PiB":
		factor = 1 << 50
	default:
		ok = false
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !ok || number[0] == '.' || strings.HasSuffix(number, ".") {
		return 0, errForm
	}
	return n * factor, nil
}

// appendDuration appends a duration in the syntax of parseDuration, with a sign if it is negative.
func appendDuration(dst []byte, d time.Duration) []byte {
	rest := uint64(d)
	if d < 0 {
		dst, rest = append(dst, '-'), -rest
	}
	if d == 0 {
		return append(dst, "0s"...)
	}
	for _, u := range durationUnits() {
		size := uint64(u.size)
		if u.name == "y" || u.name == "w" || u.name == "µs" || rest < size {
			continue
		}
		dst = append(strconv.AppendUint(dst, rest/size, 10), u.name...)
		rest %= size
	}
	return dst
}

// appendNumber appends a literal. LogQL has no literals for infinities and NaN; they are written as operations, which are
// folded when parsed.
func appendNumber(dst []byte, n float64) []byte {
	switch {
	case math.IsNaN(n):
		return append(dst, "(0 / 0)"...)
	case math.IsInf(n, 1):
		return append(dst, "(1 / 0)"...)
	case math.IsInf(n, -1):
		return append(dst, "(-1 / 0)"...)
	}
	return strconv.AppendFloat(dst, n, 'g', -1, 64)
}

// appendString appends a string in back quotes if double quotes would need escapes and back quotes do not.
func appendString(dst []byte, s string) []byte {
	if strings.ContainsAny(s, "\"\\") && strconv.CanBackquote(s) {
		return append(append(append(dst, '`'), s...), '`')
	}
	return strconv.AppendQuote(dst, s)
}
