package recognize

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/itchyny/timefmt-go"
)

// timeFormat reads times that are written in a format of strptime.
type timeFormat struct {
	// format is the strptime format, with a leading year if the user's format has none.
	format string
	// shape matches a time in the format.
	shape *regexp.Regexp
	// seconds, fraction and zoneName are the indexes of shape's groups; 0 if there is no such group.
	seconds, fraction, zoneName int
	// These report which parts the format has; zone is an offset from UTC.
	year, month, day, zone bool
}

// Names of shape's groups.
const (
	groupSeconds  = "seconds"
	groupFraction = "fraction"
	groupZone     = "zone"
)

// composite returns the directives for which a directive stands; "" if it is not composite.
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

// newTimeFormat parses a format, which must have at least a day.
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
			return nil, errors.New("it ends in %; write a percent sign as %%")
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
		if group := strings.HasPrefix(pattern, "(?P<"); group && strings.Contains(shape.String(), pattern) {
			return nil, fmt.Errorf("%s twice", whole)
		}
		shape.WriteString(pattern)
		plain.WriteString(whole)
		rest = directive[1:]
	}
	if !t.day || !t.month {
		return nil, errors.New("it has no day: want %d and %m or %b, or %j, or %s")
	}
	t.format = plain.String()
	if !t.year {
		t.format = "%Y " + t.format
	}
	var err error
	if t.shape, err = regexp.Compile(shape.String()); err != nil {
		return nil, err
	}
	for i, name := range t.shape.SubexpNames() {
		switch name {
		case groupSeconds:
			t.seconds = i
		case groupFraction:
			t.fraction = i
		case groupZone:
			t.zoneName = i
		}
	}
	return t, nil
}

// directive returns the regular expression for a directive.
func (t *timeFormat) directive(c byte, whole string) (pattern string, err error) {
	if len(whole) > 2 && c != 'z' {
		return "", fmt.Errorf("%s is not supported", whole)
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
	case 'H', 'I', 'M':
		return `\d{1,2}`, nil
	case 'S':
		return `(?P<` + groupSeconds + `>\d{1,2})`, nil
	case 'k', 'l':
		return ` ?\d{1,2}`, nil
	case 'p', 'P':
		return `[AaPp][Mm]`, nil
	case 's':
		t.year, t.month, t.day, t.zone = true, true, true, true
		return `\d{1,11}`, nil
	case 'f':
		return `(?P<` + groupFraction + `>\d+)`, nil
	case 'z':
		t.zone = true
		return `(?:Z|[+-]\d{2}(?::?\d{2})?)`, nil
	case 'Z':
		return `(?P<` + groupZone + `>[A-Z]{1,5})`, nil
	case 't', 'n':
		return `\s+`, nil
	case '%':
		return `%`, nil
	}
	return "", fmt.Errorf("%s is not supported: see strptime", whole)
}

// find reads the first time of the format in text that is not a part of a longer number.
func (t *timeFormat) find(text []byte) (moment, bool) {
	for from := 0; ; {
		at := t.shape.FindSubmatchIndex(text[from:])
		if at == nil {
			return moment{}, false
		}
		start, end := from+at[0], from+at[1]
		if (start == 0 || !isDigit(text[start]) || !isDigit(text[start-1])) &&
			(end == len(text) || end == 0 || !isDigit(text[end]) || !isDigit(text[end-1])) {
			return t.read(text[from:], at)
		}
		for from = start + 1; isDigit(text[start]) && from < len(text) && isDigit(text[from]); { // no time begins inside this number
			from++
		}
	}
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// read reads the time that shape found in text.
func (t *timeFormat) read(text []byte, at []int) (moment, bool) {
	m := moment{utc: t.zone}
	var found []byte
	if !t.year {
		found = append(found, "2000 "...) // it has all days
	}
	copied, ahead := at[0], int64(0) // of the zone
	// Replace the parts that timefmt would not read as intended.
	for group := 1; 2*group < len(at); group++ {
		value := text[at[2*group]:at[2*group+1]]
		replacement := ""
		switch {
		case group == t.seconds && string(value) == "60":
			replacement, m.nano = "59", leapNano
		case group == t.fraction:
			replacement, m.nano = "0", max(m.nano, nanos(value))
		case group == t.zoneName:
			replacement = "UTC"
			switch minutes := zoneNamed(value); {
			case t.zone || string(value) == "Z": // an offset takes precedence over the name
				m.utc = true
			case minutes == zoneUnknown || minutes == zoneAmbiguous:
				m.named = zoneAssumed
			default:
				m.utc, ahead = true, int64(minutes)*60
			}
		default:
			continue
		}
		found = append(append(found, text[copied:at[2*group]]...), replacement...)
		copied = at[2*group+1]
	}
	found = append(found, text[copied:at[1]]...)
	parsed, err := timefmt.ParseInLocation(string(found), t.format, time.UTC)
	if err != nil {
		return moment{}, false
	}
	m.second = parsed.Unix() - ahead
	if !t.year {
		parsed = parsed.In(time.UTC)
		m.month, m.day = uint8(parsed.Month()), uint8(parsed.Day())
		m.second = int64(parsed.Hour()*3600+parsed.Minute()*60+parsed.Second()) - ahead
	}
	return m, true
}

// nanos returns a fraction of a second in nanoseconds; nine digits count.
func nanos(digits []byte) (n int32) {
	for i := range 9 {
		n *= 10
		if i < len(digits) {
			n += int32(digits[i] - '0')
		}
	}
	return n
}
