package syntax

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"logstow/exact"
	"logstow/internal/units"
	"logstow/message"
)

// parseNumber reads a number without a sign: 5, 5., .5, 1e-3, 1_000, 0x1f or 0x1p3.
func parseNumber(s string) (float64, error) {
	hexadecimal := strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X")
	if hexadecimal && !strings.ContainsAny(s, ".pP") {
		n, err := strconv.ParseUint(s, 0, 64)
		return float64(n), numberError(err)
	}
	if !hexadecimal && strings.Trim(s, "0123456789._eE+-") != "" {
		return 0, units.ErrForm
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, numberError(err)
}

func numberError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, strconv.ErrRange):
		return units.ErrRange
	}
	return units.ErrForm
}

// parseDuration reads a duration without a sign: numbers with units, the largest unit first, each unit once.
func parseDuration(s string) (time.Duration, error) { return units.Ordered(s, time.Nanosecond, true) }

// parseBytes reads a size: 5B, 1.5kB, 20MiB.
func parseBytes(s string) (float64, error) {
	unit := strings.TrimLeft(s, "0123456789.")
	n, ok := exact.Parse([]byte(s[:len(s)-len(unit)]))
	size, dimension := message.UnitOf(unit)
	if !ok || !n.InRange() || dimension != message.Size || unit[0] == 'E' {
		return 0, units.ErrForm
	}
	return n.Float() * float64(size), nil
}

// durationText returns a duration in the syntax of parseDuration, with a sign if it is negative.
func durationText(d time.Duration) string {
	text, rest := "", uint64(d)
	if d < 0 {
		text, rest = "-", -rest
	}
	if d == 0 {
		return "0s"
	}
	for _, unit := range []string{"d", "h", "m", "s", "ms", "us", "ns"} {
		if size, _ := message.UnitOf(unit); rest >= size {
			text += strconv.FormatUint(rest/size, 10) + unit
			rest %= size
		}
	}
	return text
}

// numberText returns a literal. LogQL has no literals for infinities and NaN; they are written as operations, which are
// folded when parsed.
func numberText(n float64) string {
	switch {
	case math.IsNaN(n):
		return "(0 / 0)"
	case math.IsInf(n, 1):
		return "(1 / 0)"
	case math.IsInf(n, -1):
		return "(-1 / 0)"
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

// quoted returns a string in back quotes if double quotes would need escapes and back quotes do not.
func quoted(s string) string {
	if strings.ContainsAny(s, "\"\\") && strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}
