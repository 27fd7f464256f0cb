package archive

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"logstow/message"
	"logstow/record"
)

// member is a member of a JSON object: its name, unescaped, and its raw value.
type member struct {
	name  string
	value []byte
}

// membersOf returns the members of an object; not ok unless the line is one, and nothing else.
func membersOf(line []byte) (all []member, ok bool) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' || !json.Valid(line) {
		return nil, false
	}
	in := message.Object(line)
	for {
		name, value, ok := in.Next()
		if !ok {
			return all, true
		}
		all = append(all, member{string(message.Unescape(nil, name)), value})
	}
}

// text is the content of a string, or a number as written; "" for other values.
func text(value []byte) string {
	if content, ok := message.Content(value); ok {
		return string(message.Unescape(nil, content))
	}
	if len(value) > 0 && (value[0] == '-' || value[0]-'0' <= 9) {
		return string(value)
	}
	return ""
}

// first returns the value of the first of some names that a member has, regardless of case, and its index; -1 if none has.
func first(all []member, names ...string) (value []byte, index int) {
	for _, name := range names {
		for i := range all {
			if strings.EqualFold(all[i].name, name) {
				return all[i].value, i
			}
		}
	}
	return nil, -1
}

// timeOf reads a time: RFC 3339, as other programs write it (without a zone it is UTC), with the month first, as function apps write it, or
// seconds or milliseconds of Unix time. It is 0 if the value is none.
func timeOf(value []byte) int64 {
	s := text(value)
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		return unixNanos(s, n)
	}
	for _, format := range timeFormats() {
		if t, err := time.Parse(format, s); err == nil && t.Year() > 1970 && t.Year() < 2200 {
			return t.UnixNano()
		}
	}
	return 0
}

func timeFormats() []string {
	return []string{
		time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999",
		"01/02/2006 15:04:05", "1/2/2006 3:04:05 PM",
	}
}

// unixNanos is the time of a number of seconds, or of milliseconds, microseconds or nanoseconds if it is that large.
func unixNanos(s string, n float64) int64 {
	for _, scale := range []struct {
		from  float64
		nanos int64
	}{{1e17, 1}, {1e14, 1e3}, {1e11, 1e6}, {1e8, 1e9}} {
		if n < scale.from || n >= scale.from*1e3 {
			continue
		}
		whole, fraction, _ := strings.Cut(s, ".")
		if i, err := strconv.ParseInt(whole, 10, 64); err == nil && i < math.MaxInt64/scale.nanos {
			f, _ := strconv.ParseFloat("0."+fraction+"0", 64)
			return i*scale.nanos + int64(f*float64(scale.nanos)+0.5)
		}
		return int64(n * float64(scale.nanos))
	}
	return 0
}

// levelOf reads a level: a name, or a number as Windows has it: 1 critical, 2 error, 3 warning, 4 informational, 5 verbose.
func levelOf(value []byte) record.Level {
	switch s := text(value); s {
	case "1":
		return record.Fatal
	case "2":
		return record.Error
	case "3":
		return record.Warn
	case "4":
		return record.Info
	case "5":
		return record.Trace // as the name Verbose
	default:
		return record.LevelFromAlias(s)
	}
}

// severityOf reads a level: a name, or a number as Application Insights has it: 0 verbose, 1 information, 2 warning, 3 error, 4 critical.
// https://learn.microsoft.com/dotnet/api/microsoft.applicationinsights.datacontracts.severitylevel
func severityOf(value []byte) record.Level {
	levels := []record.Level{record.Trace, record.Info, record.Warn, record.Error, record.Fatal}
	if n, err := strconv.Atoi(text(value)); err == nil && n >= 0 && n < len(levels) {
		return levels[n]
	}
	return record.LevelFromAlias(text(value))
}

// maxExpanded is the maximum nesting of JSON in strings that is expanded.
const maxExpanded = 4

// expand appends an object with the strings that are JSON objects or arrays in the place of these, without blanks outside of strings.
func expand(dst []byte, value []byte, depth int) []byte {
	switch {
	case len(value) == 0:
		return dst
	case value[0] == '{':
		dst = append(dst, '{')
		in := message.Object(value)
		for n := 0; ; n++ {
			name, v, ok := in.Next()
			if !ok {
				return append(dst, '}')
			}
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(append(dst, '"'), name...), '"', ':')
			dst = expand(dst, v, depth)
		}
	case value[0] == '[':
		dst = append(dst, '[')
		in := message.Array(value)
		for n := 0; ; n++ {
			v, ok := in.Next()
			if !ok {
				return append(dst, ']')
			}
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = expand(dst, v, depth)
		}
	}
	if content, ok := message.Content(value); ok && depth < maxExpanded && len(content) > 1 && (content[0] == '{' || content[0] == '[') {
		inner := bytes.TrimSpace(message.Unescape(nil, content))
		if json.Valid(inner) {
			return expand(dst, inner, depth+1)
		}
		if inner, ok = requoted(inner); ok {
			return expand(dst, inner, depth+1)
		}
	}
	return append(dst, value...)
}
