package pipeline

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"logstow/internal/units"
	"logstow/logql/syntax"
)

// parseNumber is a text as a number of a unit: floats, durations in seconds, sizes in bytes.
func parseNumber(text string, unit syntax.Unit) (float64, error) {
	switch unit {
	case syntax.UnitDuration:
		d, ok := units.Seconds(text)
		if !ok {
			return 0, fmt.Errorf("%.100q is not a duration", text)
		}
		return d, nil
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

// parseBytes is a size such as 20, 1.5 KB or 3MiB in bytes: K, M, G, T, P, E with or without B are powers of 1,000, with i of 1,024.
func parseBytes(text string) (uint64, error) {
	n, ok := units.Bytes(strings.ReplaceAll(text, ",", ""), "")
	if !ok || n >= math.MaxUint64 {
		return 0, fmt.Errorf("%.100q is not a size in bytes", text)
	}
	return uint64(n), nil
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
	if unit == syntax.UnitNone && p.isText(s) {
		if f, ok := shortNumber(s.text); ok {
			return f, nil
		}
	}
	return parseNumber(p.value(s), unit)
}
