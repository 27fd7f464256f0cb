package otlp

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/message"
	"logstow/record/attributes"
)

// maxDepth is the maximum nesting of a body; that of attributes is [attributes.MaxDepth].
const maxDepth = 64

// errTooDeep reports a value that is nested too deeply.
var errTooDeep = errors.New("a value is nested too deeply")

// The fields of an AnyValue.
const (
	anyString = 1<<3 | text
	anyBool   = 2<<3 | varint
	anyInt    = 3<<3 | varint
	anyDouble = 4<<3 | fixed64
	anyArray  = 5<<3 | text
	anyMap    = 6<<3 | text
	anyBytes  = 7<<3 | text
)

// repeated is the field of the elements of an array, and of the members of a map.
const repeated = 1<<3 | text

// value is the content of an AnyValue.
type value struct {
	// tag is that of the field, 0 if there is none.
	tag    uint64
	bytes  []byte
	number uint64
}

// valueOf returns the content of an AnyValue: the last of its fields.
func valueOf(any []byte) (v value, err error) {
	in := fields{rest: any}
	for in.next() {
		switch in.tag {
		case anyString, anyArray, anyMap, anyBytes:
			v.tag, v.bytes = in.tag, in.bytes
		case anyBool, anyInt, anyDouble:
			v.tag, v.number = in.tag, in.number
		}
	}
	return v, in.err
}

func keyValue(message []byte) (key, value []byte, err error) {
	in := fields{rest: message}
	for in.next() {
		switch in.tag {
		case 1<<3 | text:
			key = in.bytes
		case 2<<3 | text:
			value = in.bytes
		}
	}
	return key, value, in.err
}

// memberText returns the name and the text of a map whose only member is a line.
func memberText(list []byte) (name, line []byte, ok bool) {
	in := fields{rest: list}
	for members := 0; in.next(); members++ {
		key, value, err := keyValue(in.bytes)
		if in.tag != repeated || members > 0 || err != nil || !input.IsLineName(string(key)) {
			return nil, nil, false
		}
		v, err := valueOf(value)
		name, line, ok = key, v.bytes, err == nil && v.tag == anyString
	}
	return name, line, ok && in.err == nil
}

// encoder encodes values, and collects the attributes that have them. Its memory is charged to a lease before it is allocated.
type encoder struct {
	lease *httpserver.Lease
	// text has the values.
	text []byte
	// list has the attributes, and above them the members of maps that are being encoded.
	list []attributes.Member
	// size is the maximum size of the encoded attributes.
	size int
	// cut counts the members of maps that were left out because they repeat a name.
	cut int
	// charged is what is charged for names and not yet used.
	charged int
}

// reset discards the attributes, and keeps the memory.
func (e *encoder) reset() {
	e.text, e.list, e.size, e.cut = e.text[:0], e.list[:0], 0, 0
}

// reserve makes space for n more bytes of text. The old text stays where it is: members refer to it.
func (e *encoder) reserve(n int) error {
	if n <= cap(e.text)-len(e.text) {
		return nil
	}
	const minText = 1 << 10
	size := max(len(e.text)+n, 2*cap(e.text), minText)
	if err := e.lease.Take(int64(size)); err != nil {
		return err
	}
	e.text = append(make([]byte, 0, size), e.text...)
	return nil
}

// name copies a name.
func (e *encoder) name(name []byte) (string, error) {
	const most = 4 << 10
	if len(name) > e.charged {
		more := len(name) + most
		if err := e.lease.Take(int64(more)); err != nil {
			return "", err
		}
		e.charged += more
	}
	e.charged -= len(name)
	return string(name), nil
}

// memberCost is the size of an [attributes.Member].
const memberCost = 40

// overhead is what a member needs besides name and value, and maxEscape what a byte of its name does.
const overhead, maxEscape = len(`"":,`), len(`\u0000`)

func maxSize(m *attributes.Member) int { return maxEscape*len(m.Name) + len(m.Value) + overhead }

// push adds a member whose value is the text from at on.
func (e *encoder) push(name string, at int) error {
	if len(e.list) == cap(e.list) {
		const few = 16
		size := max(2*cap(e.list), few)
		if err := e.lease.Take(int64(size) * memberCost); err != nil {
			return err
		}
		e.list = append(make([]attributes.Member, 0, size), e.list...)
	}
	e.list = append(e.list, attributes.Member{Name: name, Value: e.text[at:len(e.text):len(e.text)]})
	return nil
}

// add adds an attribute whose value is the text from at on.
func (e *encoder) add(name string, at int) error {
	if err := e.push(name, at); err != nil {
		return err
	}
	e.size += maxSize(&e.list[len(e.list)-1])
	return nil
}

// addAll adds attributes that are encoded already.
func (e *encoder) addAll(members []attributes.Member) error {
	for i := range members {
		if err := e.push(members[i].Name, len(e.text)); err != nil {
			return err
		}
		e.list[len(e.list)-1].Value = members[i].Value
		e.size += maxSize(&members[i])
	}
	return nil
}

// attribute adds an attribute with an AnyValue.
func (e *encoder) attribute(name string, any []byte) error {
	at := len(e.text)
	v, err := valueOf(any)
	if err != nil {
		return err
	}
	if v.tag == anyString && len(v.bytes) > attributes.MaxSize && utf8.Valid(v.bytes) {
		// It is too long, and will be cut and counted as long as it is longer than the limit.
		end := attributes.MaxSize + utf8.UTFMax
		for end = min(end, len(v.bytes)); end < len(v.bytes) && !utf8.RuneStart(v.bytes[end]); end-- {
		}
		v.bytes = v.bytes[:end]
	}
	if err := e.content(&v, attributes.MaxDepth); err != nil {
		return err
	}
	return e.add(name, at)
}

// string adds an attribute that is a text.
func (e *encoder) string(name string, s []byte) error {
	at := len(e.text)
	if err := e.appendText(s, 1); err != nil {
		return err
	}
	return e.add(name, at)
}

// number adds an attribute that is a number. Those of the protocol are unsigned.
func (e *encoder) number(name string, v uint64) error {
	at := len(e.text)
	if err := e.reserve(maxNumber); err != nil {
		return err
	}
	e.text = strconv.AppendUint(e.text, v, 10)
	return e.add(name, at)
}

// id adds an identifier in hexadecimal, unless it is empty or all zeros.
func (e *encoder) id(name string, id []byte) error {
	if zeros(id) {
		return nil
	}
	at := len(e.text)
	if err := e.reserve(hex.EncodedLen(len(id)) + len(`""`)); err != nil {
		return err
	}
	e.text = append(hex.AppendEncode(append(e.text, '"'), id), '"')
	return e.add(name, at)
}

func zeros(id []byte) bool {
	for _, b := range id {
		if b != 0 {
			return false
		}
	}
	return true
}

// value appends an AnyValue; one that is not set is null. It may have as many levels of nesting as are left.
func (e *encoder) value(any []byte, left int) error {
	v, err := valueOf(any)
	if err != nil {
		return err
	}
	return e.content(&v, left)
}

// maxNumber is the maximum length of a number, and of a value that stands for one that JSON lacks.
const maxNumber = len(`{"$double":"-Infinity"}`) + 8

// content is value for what valueOf returns.
func (e *encoder) content(v *value, left int) error {
	switch v.tag {
	case anyString:
		return e.appendText(v.bytes, left)
	case anyArray:
		return e.array(v.bytes, left)
	case anyMap:
		return e.object(v.bytes, left)
	case anyBytes:
		return e.appendBytes(v.bytes, left)
	}
	if err := e.reserve(maxNumber); err != nil {
		return err
	}
	switch v.tag {
	case anyBool:
		e.text = attributes.AppendBool(e.text, v.number != 0)
	case anyInt:
		e.text = attributes.AppendInt(e.text, int64(v.number)) //nolint:gosec // as protobuf encodes it
	case anyDouble:
		d := math.Float64frombits(v.number)
		if left == 0 && (math.IsNaN(d) || math.IsInf(d, 0)) {
			return errTooDeep // it becomes an object
		}
		e.text = attributes.AppendDouble(e.text, d)
	default:
		e.text = attributes.AppendNull(e.text)
	}
	return nil
}

// appendText appends a string: bytes if it is not UTF-8, which protobuf does not allow.
func (e *encoder) appendText(s []byte, left int) error {
	const short = 64
	size := maxEscape * len(s)
	if len(s) > short {
		if !utf8.Valid(s) {
			return e.appendBytes(s, left)
		}
		size = escapedSize(s)
	} else if left == 0 && !utf8.Valid(s) {
		return errTooDeep
	}
	if err := e.reserve(size + len(`{"$bytes":""}`)); err != nil {
		return err
	}
	e.text = attributes.AppendText(e.text, s)
	return nil
}

// escapedSize is the maximum size of the escaped form of s.
func escapedSize(s []byte) (size int) {
	for len(s) > 0 {
		plain, escape, n := message.Escape(s)
		for _, c := range s[:plain] {
			if c == 0x7f {
				size += maxEscape
			}
		}
		size += plain + len(escape)
		s = s[plain+n:]
	}
	return size
}

func (e *encoder) appendBytes(b []byte, left int) error {
	if left == 0 {
		return errTooDeep // it becomes an object
	}
	if err := e.reserve(base64.StdEncoding.EncodedLen(len(b)) + len(`{"$bytes":""}`)); err != nil {
		return err
	}
	e.text = attributes.AppendBytes(e.text, b)
	return nil
}

func (e *encoder) array(values []byte, left int) error {
	if left == 0 {
		return errTooDeep
	}
	if err := e.reserve(1); err != nil {
		return err
	}
	e.text = append(e.text, '[')
	first := true
	in := fields{rest: values}
	for in.next() {
		if in.tag != repeated {
			continue
		}
		if err := e.reserve(1); err != nil {
			return err
		}
		if !first {
			e.text = append(e.text, ',')
		}
		first = false
		if err := e.value(in.bytes, left-1); err != nil {
			return err
		}
	}
	if in.err != nil {
		return in.err
	}
	if err := e.reserve(1); err != nil {
		return err
	}
	e.text = append(e.text, ']')
	return nil
}

// object appends a map.
func (e *encoder) object(list []byte, left int) error {
	if left == 0 {
		return errTooDeep
	}
	at, base, size := len(e.text), len(e.list), len(`{}`)
	in := fields{rest: list}
	for in.next() {
		if in.tag != repeated {
			continue
		}
		key, value, err := keyValue(in.bytes)
		if err != nil {
			return err
		}
		start := len(e.text)
		if err := e.value(value, left-1); err != nil {
			return err
		}
		name, err := e.name(key)
		if err != nil {
			return err
		}
		if err := e.push(name, start); err != nil {
			return err
		}
		size += maxSize(&e.list[len(e.list)-1]) + len("$")
	}
	if in.err != nil {
		return in.err
	}
	if err := e.reserve(size); err != nil {
		return err
	}
	from := len(e.text)
	made, dropped := attributes.AppendMap(e.text, e.list[base:])
	e.text, e.list, e.cut = append(made[:at], made[from:]...), e.list[:base], e.cut+dropped
	return nil
}
