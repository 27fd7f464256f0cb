package message

import (
	"bytes"
	"strings"
)

// Kind is the type of a value.
type Kind uint8

// The kinds of value.
const (
	// Missing is no value.
	Missing Kind = iota
	// Null is null in JSON.
	Null
	// Bool is true or false.
	Bool
	// Number is a JSON number.
	Number
	// String is a JSON or quoted logfmt string.
	String
	// Bare is a logfmt value without quotes: a string, and also a number or truth value if it
	// parses as one.
	Bare
	// Composite is a JSON object or array, as written.
	Composite
)

// Value is the value of a field. Text is valid until the message changes or the Finder is used again.
type Value struct {
	Kind Kind
	// Text is the value as written; a string is without quotes and escapes.
	Text []byte
}

// Finder finds one field. Not safe for concurrent use.
type Finder struct {
	name string
	key  []byte // the name in quotes
	// dotted is set if the name contains dots, or characters that JSON may escape.
	dotted bool
	space  []byte // memory for text without escapes
}

// NewFinder makes a Finder of the field with a name.
func NewFinder(name string) *Finder {
	return &Finder{name: name, key: []byte(`"` + name + `"`), dotted: strings.ContainsAny(name, ".\"\\/\b\f\n\r\t")}
}

// Name returns the argument of NewFinder.
func (f *Finder) Name() string { return f.name }

// Find returns the field's value in a message.
func (f *Finder) Find(message []byte) Value {
	at := bytes.Index(message, f.key)
	if value, ok := f.quick(message, at); ok {
		return f.json(value)
	}
	if object := jsonPart(message); object != nil {
		if at < 0 && !f.dotted && !bytes.Contains(object, []byte(`\u`)) {
			return Value{}
		}
		return f.member(object, f.name)
	}
	return f.pair(message)
}

// quick finds the field in JSON without parsing the members before it. It is ok only if the first occurrence of the name in quotes
// is followed by a colon, and nothing before it is nested or escaped. i is the offset of that occurrence.
func (f *Finder) quick(message []byte, i int) (value []byte, ok bool) {
	if i < 1 || message[0] != '{' {
		return nil, false
	}
	before := message[1:i]
	if bytes.IndexByte(before, '{') >= 0 || bytes.IndexByte(before, '[') >= 0 || bytes.IndexByte(before, '\\') >= 0 {
		return nil, false
	}
	rest := message[i+len(f.key):]
	if len(rest) == 0 || rest[0] != ':' {
		return nil, false
	}
	return RawValue(rest[1:])
}

// jsonPart returns the JSON object that a message is or ends with; nil if there is none.
func jsonPart(message []byte) []byte {
	message = bytes.Trim(message, " \t\r\n")
	if len(message) == 0 {
		return nil
	}
	if message[0] == '{' && message[len(message)-1] == '}' {
		return message
	}
	start := bytes.IndexByte(message, '{')
	if start != 0 && message[len(message)-1] != '}' {
		return nil
	}
	for start >= 0 {
		object := Object(message[start:])
		if _, _, ok := object.Next(); ok || len(bytes.TrimLeft(message[start+1:], " \t\r\n")) == 1 {
			return message[start:]
		}
		next := bytes.IndexByte(message[start+1:], '{')
		if next < 0 {
			break
		}
		start += 1 + next
	}
	return nil
}

// member finds a name in the object that b starts with.
func (f *Finder) member(b []byte, name string) Value {
	members := Object(b)
	for {
		key, value, ok := members.Next()
		if !ok {
			return Value{}
		}
		if bytes.IndexByte(key, '\\') >= 0 {
			key = Unescape(nil, key)
		}
		switch {
		case len(key) == len(name):
			if string(key) == name {
				return f.json(value)
			}
		case len(key) < len(name) && name[len(key)] == '.' && value[0] == '{' && string(key) == name[:len(key)]:
			if v := f.member(value, name[len(key)+1:]); v.Kind != Missing {
				return v
			}
		}
	}
}

// json converts a JSON value as written.
func (f *Finder) json(b []byte) Value {
	switch b[0] {
	case '"':
		text := b[1 : len(b)-1]
		if bytes.IndexByte(text, '\\') >= 0 {
			f.space = Unescape(f.space[:0], text)
			text = f.space
		}
		return Value{String, text}
	case '{', '[':
		return Value{Composite, b}
	case 't', 'f':
		if _, ok := truth(b); ok {
			return Value{Bool, b}
		}
	case 'n':
		if string(b) == "null" {
			return Value{Null, b}
		}
	default:
		if isNumber(b) {
			return Value{Number, b}
		}
	}
	return Value{Bare, b} // not valid JSON
}

// pair finds name=value among logfmt pairs, which are separated by blanks.
func (f *Finder) pair(b []byte) Value {
	if !isPairName(f.name) {
		return Value{}
	}
	for at := 0; ; {
		i := bytes.IndexByte(b[at:], '=')
		if i < 0 {
			return Value{}
		}
		i += at
		if start := i - len(f.name); start >= at && string(b[start:i]) == f.name && (start == 0 || isBlank(b[start-1])) {
			return f.bare(b[i+1:])
		}
		if at = i + 1; at < len(b) && b[at] == '"' { // skip text in quotes
			at += quoted(b[at:])
		}
	}
}

// isPairName reports whether a text before a "=" is the name of a pair: letters, digits and _ - . / : @ $ #, not starting with
// one of - . / : #. Prose has other texts before a "=": (uid=0), /a?b=1, [thread=2].
func isPairName[T string | []byte](name T) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c|0x20-'a' < 26 || c-'0' < 10 || c >= 0x80 || c == '_' || c == '@' || c == '$':
		case i > 0 && (c == '-' || c == '.' || c == '/' || c == ':' || c == '#'):
		default:
			return false
		}
	}
	return len(name) > 0
}

// bare returns the logfmt value that b starts with.
func (f *Finder) bare(b []byte) Value {
	if len(b) > 0 && b[0] == '"' {
		if n := quoted(b); n >= 2 && b[n-1] == '"' {
			return Value{String, f.json(b[:n]).Text}
		}
	}
	end := bytes.IndexAny(b, " \t\n\r")
	if end < 0 {
		end = len(b)
	}
	return Value{Bare, b[:end]}
}

// quoted returns the length of the string in quotes that b starts with, or that of b if the string does not end.
func quoted(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// Integer returns the value if it is written as an integer of at most 18 digits. It is faster than [Value.Decimal].
func (v Value) Integer() (n int64, ok bool) {
	if v.Kind != Number && v.Kind != Bare {
		return 0, false
	}
	b := v.Text
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

// Decimal returns the value if it is a number.
func (v Value) Decimal() (Decimal, bool) {
	if v.Kind != Number && v.Kind != Bare {
		return Decimal{}, false
	}
	return ParseDecimal(v.Text)
}

// Truth returns the value if it is true or false.
func (v Value) Truth() (value, ok bool) {
	if v.Kind != Bool && v.Kind != Bare {
		return false, false
	}
	return truth(v.Text)
}

// IsText reports whether the value is a string, quoted or bare.
func (v Value) IsText() bool { return v.Kind == String || v.Kind == Bare }

func truth(b []byte) (value, ok bool) {
	value = string(b) == "true"
	return value, value || string(b) == "false"
}

// isNumber reports whether b is written as a JSON number, leading zeros allowed.
func isNumber(b []byte) bool {
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	digits := func() bool {
		from := i
		for i < len(b) && '0' <= b[i] && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if !digits() {
		return false
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return false
		}
	}
	return i == len(b)
}
