package recognize

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/itchyny/timefmt-go"
)

// timeFormat reads times that are written as strptime's format says.
type timeFormat struct {
	// format is strptime's, with a year where the user's has none.
	format string
	// shape matches such a time; its group, if there is one, is the fraction of a second.
	shape *regexp.Regexp
	// What it has.
	year, month, day, zone, fraction bool
}

// composite directives stand for others.
func composite(directive byte) string {
	switch directive {
	case 'T', 'X':
		return "%H:%M:%S"
	case 'F':
		return "%Y-%m-%d"
	case 'D', 'x':
		return "%m/%d/%y"
	case 'R':
		return "%H:%M"
	case 'r':
		return "%I:%M:%S %p"
	case 'c':
		return "%a %b %e %H:%M:%S %Y"
	case 'v':
		return "%e-%b-%Y"
	}
	return ""
}

// newTimeFormat reads a format: one that names a day at least.
func newTimeFormat(format string) (*timeFormat, error) {
	t := &timeFormat{}
	var shape, plain strings.Builder
	for rest := format; rest != ""; {
		if rest[0] != '%' {
			shape.WriteString(regexp.QuoteMeta(rest[:1]))
			plain.WriteByte(rest[0])
			rest = rest[1:]
			continue
		}
		directive := strings.TrimPrefix(rest[1:], ":")
		if directive == "" {
			return nil, errors.New("a % at its end; a per cent sign is written %%")
		}
		c := directive[0]
		whole := rest[:len(rest)-len(directive)+1]
		if more := composite(c); more != "" {
			rest = more + directive[1:]
			continue
		}
		pattern, err := t.directive(c, whole)
		if err != nil {
			return nil, err
		}
		shape.WriteString(pattern)
		plain.WriteString(whole)
		rest = directive[1:]
	}
	if !t.day || !t.month {
		return nil, errors.New("it names no day: a time needs %d and %m or %b, or %j, or %s")
	}
	t.format = plain.String()
	if !t.year {
		t.format = "%Y " + t.format
	}
	var err error
	if t.shape, err = regexp.Compile(shape.String()); err != nil {
		return nil, err
	}
	return t, nil
}

// directive is the expression for what a directive matches.
func (t *timeFormat) directive(c byte, whole string) (pattern string, err error) {
	if len(whole) > 2 && c != 'z' {
		return "", fmt.Errorf("%s is not known", whole)
	}
	switch c {
	case 'Y':
		t.year = true
		return `\d{4}`, nil
	case 'y':
		t.year = true
		return `\d{2}`, nil
	case 'm':
		t.month = true
		return `\d{1,2}`, nil
	case 'b', 'h', 'B':
		t.month = true
		return `[A-Za-z]{3,9}`, nil
	case 'a', 'A':
		return `[A-Za-z]{3,9}`, nil
	case 'd':
		t.day = true
		return `\d{1,2}`, nil
	case 'e':
		t.day = true
		return ` ?\d{1,2}`, nil
	case 'j':
		t.day, t.month = true, true
		return `\d{1,3}`, nil
	case 'H', 'I', 'M', 'S':
		return `\d{1,2}`, nil
	case 'k', 'l':
		return ` ?\d{1,2}`, nil
	case 'p', 'P':
		return `[AaPp][Mm]`, nil
	case 's':
		t.year, t.month, t.day, t.zone = true, true, true, true
		return `\d{1,11}`, nil
	case 'f':
		if t.fraction {
			return "", errors.New("%f twice")
		}
		t.fraction = true
		return `(\d{1,9})`, nil
	case 'z':
		t.zone = true
		return `(?:Z|[+-]\d{2}(?::?\d{2})?)`, nil
	case 'Z':
		t.zone = true
		return `[A-Z]{1,5}`, nil
	case 't', 'n':
		return `\s+`, nil
	case '%':
		return `%`, nil
	}
	return "", fmt.Errorf("%s is not known: see strptime", whole)
}

// find reads the first such time in text.
func (t *timeFormat) find(text []byte) (moment, bool) {
	at := t.shape.FindSubmatchIndex(text)
	if at == nil {
		return moment{}, false
	}
	found := string(text[at[0]:at[1]])
	var m moment
	if t.fraction {
		var digits string
		digits, found = string(text[at[2]:at[3]]), found[:at[2]-at[0]]+"0"+found[at[3]-at[0]:]
		m.nano = nanos(digits)
	}
	if !t.year {
		found = "2000 " + found // it has all days
	}
	parsed, err := timefmt.ParseInLocation(found, t.format, time.UTC)
	if err != nil {
		return moment{}, false
	}
	m.utc = t.zone
	m.second = parsed.Unix()
	if !t.year {
		parsed = parsed.In(time.UTC)
		m.month, m.day = uint8(parsed.Month()), uint8(parsed.Day())
		m.second = int64(parsed.Hour()*3600 + parsed.Minute()*60 + parsed.Second())
	}
	return m, true
}

// nanos is a fraction of a second of one to nine digits in nanoseconds.
func nanos(digits string) (n int32) {
	for i := range 9 {
		n *= 10
		if i < len(digits) {
			n += int32(digits[i] - '0')
		}
	}
	return n
}
