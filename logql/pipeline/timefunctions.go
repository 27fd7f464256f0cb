package pipeline

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"logstow/logql/syntax"
)

func timeFunctions(f map[string]any, b *budget) {
	f["now"] = func() time.Time { return time.Now().UTC() }
	f["date"] = func(layout string, v any) (string, error) {
		if err := b.fits(len(layout), 16); err != nil {
			return "", err
		}
		return b.text(toTime(v).UTC().Format(layout))
	}
	f["toDate"] = func(layout, s string) (time.Time, error) { return parseTime(layout, s, time.UTC) }
	name, location := "", time.UTC // of the last zone
	f["toDateInZone"] = func(layout, zone, s string) (time.Time, error) {
		if zone != name {
			loaded, err := time.LoadLocation(zone)
			if err != nil {
				return time.Time{}, err
			}
			name, location = zone, loaded
		}
		return parseTime(layout, s, location)
	}
	seconds := func(s string) (float64, error) {
		d, err := time.ParseDuration(s)
		return d.Seconds(), err
	}
	f["duration"] = seconds
	f["duration_seconds"] = seconds
	f["unixEpoch"] = func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
	f["unixEpochMillis"] = func(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
	f["unixEpochNanos"] = func(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
	f["unixToTime"] = unixToTime
}

// parseTime is a time written by a layout; one that does not match is the zero time.
func parseTime(layout, s string, location *time.Location) (time.Time, error) {
	if len(layout) > 1<<10 {
		return time.Time{}, errors.New("the layout is too long")
	}
	t, err := time.ParseInLocation(layout, s, location)
	if err != nil {
		return time.Time{}, nil //nolint:nilerr // as in Loki
	}
	return t, nil
}

// toTime is a time, or a whole number of seconds since 1970. As in Loki, other values are now.
func toTime(v any) time.Time {
	switch v := v.(type) {
	case time.Time:
		return v
	case int64:
		return time.Unix(v, 0)
	case int:
		return time.Unix(int64(v), 0)
	}
	return time.Now()
}

// unixToTime is a time of its number of days (up to 5 digits), seconds (10), milliseconds (13), microseconds (16) or nanoseconds (19)
// since 1970.
func unixToTime(s string) (time.Time, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("unixToTime: %.50q is not a number", s)
	}
	switch len(s) {
	case 5:
		return time.Unix(n*24*3600, 0).UTC(), nil
	case 10:
		return time.Unix(n, 0).UTC(), nil
	case 13:
		return time.UnixMilli(n).UTC(), nil
	case 16:
		return time.UnixMicro(n).UTC(), nil
	case 19:
		return time.Unix(0, n).UTC(), nil
	}
	return time.Time{}, fmt.Errorf("unixToTime: %q has %d digits, expected 5, 10, 13, 16 or 19", s, len(s))
}

// regexpFunctions are the functions with regular expressions. Not safe for concurrent use.
type regexpFunctions struct {
	b     *budget
	known map[string]*regexp.Regexp
}

// Bounds of regular expressions in templates.
const (
	maxRegexps      = 64
	maxRegexpSize   = 4 << 10
	maxInstructions = 16 << 10
	maxMatches      = 100_000
)

func (r *regexpFunctions) compile(expr string) (*regexp.Regexp, error) {
	if re := r.known[expr]; re != nil {
		return re, nil
	}
	if len(expr) > maxRegexpSize {
		return nil, errors.New("the regular expression is too long")
	}
	n, err := syntax.RegexpInstructions(expr)
	if err != nil {
		return nil, err
	}
	if n > maxInstructions {
		return nil, errors.New("the regular expression is too large: use fewer repetitions")
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	if r.known == nil || len(r.known) >= maxRegexps {
		r.known = map[string]*regexp.Regexp{}
	}
	r.known[expr] = re
	return re, nil
}

// matches are the places of an expression in a text.
func (r *regexpFunctions) matches(expr, s string) (*regexp.Regexp, [][]int, error) {
	re, err := r.compile(expr)
	if err != nil {
		return nil, nil, err
	}
	if err := r.b.charge(s); err != nil {
		return nil, nil, err
	}
	found := re.FindAllStringSubmatchIndex(s, maxMatches+1)
	if len(found) > maxMatches {
		return nil, nil, errors.New("the regular expression matches more than 100000 times")
	}
	return re, found, nil
}

func (r *regexpFunctions) count(expr, s string) (int, error) {
	_, found, err := r.matches(expr, s)
	return len(found), err
}

func (r *regexpFunctions) replaceAll(expr, s, text string) (string, error) {
	return r.replace(expr, s, text, strings.Count(text, "$"), func(re *regexp.Regexp, dst []byte, match []int) []byte {
		return re.ExpandString(dst, text, s, match)
	})
}

func (r *regexpFunctions) replaceAllLiteral(expr, s, text string) (string, error) {
	return r.replace(expr, s, text, 0, func(_ *regexp.Regexp, dst []byte, _ []int) []byte { return append(dst, text...) })
}

// replace replaces the matches of an expression in s by what expand appends: text with a number of references to the match.
func (r *regexpFunctions) replace(expr, s, text string, references int, expand func(re *regexp.Regexp, dst []byte, match []int) []byte) (string, error) {
	re, found, err := r.matches(expr, s)
	if err != nil {
		return "", err
	}
	var dst []byte
	end := 0
	for _, m := range found {
		if len(dst)+m[0]-end+len(text)+references*min(m[1]-m[0], math.MaxInt32) > maxText {
			return "", errText
		}
		dst = append(dst, s[end:m[0]]...)
		dst = expand(re, dst, m)
		end = m[1]
	}
	return r.b.text(string(append(dst, s[end:]...)))
}
