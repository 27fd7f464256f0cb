package pipeline

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"logstow/logql/syntax"
	"logstow/message"
)

// parseNumber is a text as a number of a unit: floats, durations in seconds, sizes in bytes.
func parseNumber(text string, unit syntax.Unit) (float64, error) {
	switch unit {
	case syntax.UnitDuration:
		return parseDuration(text)
	case syntax.UnitBytes:
		n, err := parseBytes(text)
		return float64(n), err
	case syntax.UnitNone:
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("%.100q is not a number", text)
	}
	return f, nil
}

// parseDuration is a duration such as 1h30m, -2.5s, 3d or 1y2w in seconds; a day has 24 hours, a year 365 days.
func parseDuration(text string) (float64, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return d.Seconds(), nil
	}
	rest, negative := strings.CutPrefix(text, "-")
	var total float64
	for _, unit := range [...]struct {
		suffix string
		days   float64
	}{{"y", 365}, {"w", 7}, {"d", 1}} {
		number, after, found := strings.Cut(rest, unit.suffix)
		if !found {
			continue
		}
		f, err := strconv.ParseFloat(number, 64)
		if err != nil || !(f >= 0) || math.IsInf(f, 0) {
			return 0, notDuration(text)
		}
		total += f * unit.days * 24 * 3600
		rest = after
	}
	if len(rest) == len(text) || negative && len(rest) == len(text)-1 {
		return 0, notDuration(text)
	}
	if rest != "" {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 || rest[0] == '+' || rest[0] == '-' {
			return 0, notDuration(text)
		}
		total += d.Seconds()
	}
	if negative {
		total = -total
	}
	return total, nil
}

func notDuration(text string) error { return fmt.Errorf("%.100q is not a duration", text) }

// parseBytes is a size such as 20, 1.5 KB or 3MiB in bytes: K, M, G, T, P, E with or without B are powers of 1,000, with i of 1,024.
func parseBytes(text string) (uint64, error) {
	n := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != ',' })
	if n < 0 {
		n = len(text)
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(text[:n], ",", ""), 64)
	unit, ok := message.SizeUnit(strings.TrimSpace(text[n:]), "")
	if f *= float64(unit); err != nil || !ok || f >= math.MaxUint64 {
		return 0, fmt.Errorf("%.100q is not a size in bytes", text)
	}
	return uint64(f), nil
}

// shortNumber is a number of at most 15 digits, as most are.
func shortNumber(text []byte) (float64, bool) {
	if len(text) == 0 || len(text) > 15 {
		return 0, false
	}
	n := 0
	for _, c := range text {
		if c-'0' > 9 {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return float64(n), true
}

// number is the value of a label that the record has as a number.
func (p *Processor) number(s *symbol, unit syntax.Unit) (float64, error) {
	if unit == syntax.UnitNone && s.record == p.recordID && !s.removed && !s.isStr {
		if f, ok := shortNumber(s.text); ok {
			return f, nil
		}
	}
	return parseNumber(p.value(s), unit)
}

func compare(a float64, op syntax.CompareOp, b float64) bool {
	switch op {
	case syntax.CompareEqual:
		return a == b
	case syntax.CompareNotEqual:
		return a != b
	case syntax.CompareGreater:
		return a > b
	case syntax.CompareGreaterEqual:
		return a >= b
	case syntax.CompareLess:
		return a < b
	case syntax.CompareLessEqual:
		return a <= b
	}
	return false
}
