package message

import (
	"bytes"
	"strings"

	"logstow/exact"
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
	name      string
	key       []byte // the name in quotes
	pairStart []byte // the name and an equals sign; nil if it is not the name of a pair
	// dotted is set if the name contains dots, or characters that JSON may escape.
	dotted bool
	space  []byte // memory for text without escapes
}

// NewFinder makes a Finder of the field with a name.
func NewFinder(name string) *Finder {
	f := &Finder{name: name, key: []byte(`"` + name + `"`), dotted: strings.ContainsAny(name, ".\"\\/\b\f\n\r\t")}
	if IsPairName(name) {
		f.pairStart = []byte(name + "=")
	}
	return f
}

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

// Member returns the field's value in the JSON object that object starts with.
func (f *Finder) Member(object []byte) Value {
	if !f.dotted && !bytes.Contains(object, f.key) && !bytes.Contains(object, []byte(`\u`)) {
		return Value{}
	}
	return f.member(object, f.name)
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

// maxStarts is at how many places of a message the start of an object after other text is looked for.
const maxStarts = 64

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
	for n := 0; start >= 0 && n < maxStarts; n++ {
		object := Object(message[start:])
		if _, _, ok := object.Next(); ok || len(TrimBlank(message[start+1:])) == 1 {
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

// kindOf returns the kind of a JSON value as written, which is not empty; Bare if it is none. It does not check the contents of objects and
// arrays.
func kindOf(b []byte) Kind {
	switch b[0] {
	case '"':
		return String
	case '{', '[':
		return Composite
	case 't', 'f':
		if _, ok := truth(b); ok {
			return Bool
		}
	case 'n':
		if string(b) == "null" {
			return Null
		}
	default:
		if exact.IsNumber(b) {
			return Number
		}
	}
	return Bare
}

// json converts a JSON value as written.
func (f *Finder) json(b []byte) Value {
	kind := kindOf(b)
	if kind != String {
		return Value{kind, b}
	}
	return Value{kind, f.unescaped(b[1 : len(b)-1])}
}

// unescaped returns the content of a string without escapes.
func (f *Finder) unescaped(text []byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	f.space = Unescape(f.space[:0], text)
	return f.space
}

// pair finds name=value among logfmt pairs.
func (f *Finder) pair(b []byte) Value {
	if f.pairStart == nil {
		return Value{}
	}
	at := bytes.Index(b, f.pairStart)
	if at < 0 {
		return Value{}
	}
	pairs := PairsIn(b)
	if (at == 0 || b[at-1] <= ' ') && bytes.IndexByte(b[:at], '"') < 0 { // it is not in quotes
		pairs.at, pairs.i = at, at
	}
	for pairs.Next() {
		if string(pairs.Name()) == f.name {
			return f.bare(&pairs)
		}
	}
	return Value{}
}

// bare returns the value of a pair.
func (f *Finder) bare(p *Pairs) Value {
	text, quoted := p.Value()
	if !quoted {
		return Value{Bare, text}
	}
	return Value{String, f.unescaped(text)}
}

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
func (v Value) Decimal() (exact.Number, bool) {
	if v.Kind != Number && v.Kind != Bare {
		return exact.Number{}, false
	}
	return exact.Parse(v.Text)
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
