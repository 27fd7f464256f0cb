package journald

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"logstow/internal/memo"
	"logstow/record/attributes"
)

const (
	// maxName is how much is kept of a field's name.
	maxName = 64
	// maxValue is how much is kept of a value that is not the message, and has a meaning.
	maxValue = 1024
	// maxOthers is how many other fields of an entry are kept, maxOther how much of each of them, maxRest how much of all together.
	maxOthers, maxOther, maxRest = 4 * attributes.MaxCount, attributes.MaxSize, 4 * attributes.MaxSize
	// maxField is the maximum accepted length of a value in bytes; systemd has less.
	maxField = 1 << 30
)

// errMalformed reports data that is not in the journal's export format.
var errMalformed = errors.New("this is not the journal's export format")

// The names of fields that have a meaning.
const (
	cursorField, timeField = "__CURSOR", "__REALTIME_TIMESTAMP"
	messageField           = "MESSAGE"
	priorityField          = "PRIORITY"
	unitField              = "_SYSTEMD_UNIT"
	identifierField        = "SYSLOG_IDENTIFIER"
	commandField           = "_COMM"
	transportField         = "_TRANSPORT"
)

func fields() []string {
	return []string{cursorField, timeField, messageField, priorityField, unitField, identifierField, commandField, transportField}
}

// entry is a parsed journal entry. Its slices are valid until the next one is read.
type entry struct {
	cursor, unit, identifier, command, transport []byte
	// others are the other fields, in their order, and further values of those with a meaning. left is the number of those that are not
	// kept.
	others []other
	left   int
	// message is the beginning of a message of size bytes, if the entry has one.
	message []byte
	size    int64
	has     bool
	// time is when the journal received it, Unix microseconds.
	time int64
	// priority is as in syslog, -1 if the entry has none.
	priority int
}

// other is a field without a meaning. cut is set if value is only its beginning.
type other struct {
	name  string
	value []byte
	cut   bool
}

// parser parses entries in the journal's export format (https://systemd.io/JOURNAL_EXPORT_FORMATS).
// Its memory is bounded by limit.
type parser struct {
	r *bufio.Reader
	// limit is how much of a message is kept.
	limit  int
	values map[string]*value
	name   []byte
	// others are the other fields of the entry, rest has the values of those that are kept, and skipped counts the others.
	others  []other
	rest    []byte
	current value
	left    int
	// names are known names of other fields, so that each is allocated once.
	names memo.Map[string, string]
}

// value is the beginning of a field's value.
type value struct {
	b     []byte
	limit int
	size  int64
	set   bool
}

// add appends to the value.
func (v *value) add(b []byte) {
	v.size += int64(len(b))
	v.b = append(v.b, b[:min(len(b), v.limit-len(v.b))]...)
}

func newParser(r io.Reader, limit int) *parser {
	p := &parser{
		r:      bufio.NewReaderSize(r, 64<<10),
		limit:  limit,
		values: make(map[string]*value),
		names:  memo.Map[string, string]{Max: maxOthers},
	}
	for _, name := range fields() {
		p.values[name] = &value{limit: maxValue}
	}
	p.values[messageField].limit = limit
	return p
}

// each passes every entry to do, until that fails or there are no more.
func (p *parser) each(do func(*entry) error) error {
	for {
		e, err := p.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = do(&e)
		}
		if err != nil {
			return err
		}
	}
}

// next reads an entry; io.EOF means that there are no more.
func (p *parser) next() (entry, error) {
	for _, v := range p.values {
		v.b, v.size, v.set = v.b[:0], 0, false
	}
	p.others, p.rest, p.left = p.others[:0], p.rest[:0], 0
	for some := false; ; {
		done, err := p.field()
		switch {
		case errors.Is(err, io.EOF) && some:
			return entry{}, io.ErrUnexpectedEOF
		case err != nil:
			return entry{}, err
		case !done:
			some = true
		case some:
			return p.entry()
		}
	}
}

// field reads a field, or the empty line that ends an entry. io.EOF means that nothing followed.
func (p *parser) field() (end bool, err error) {
	p.name = p.name[:0]
	for {
		c, err := p.r.ReadByte()
		switch {
		case err != nil && len(p.name) > 0:
			return false, unexpected(err)
		case err != nil:
			return false, err
		case c == '=':
			return false, p.read(p.text)
		case c == '\n' && len(p.name) == 0:
			return true, nil
		case c == '\n' && p.name[0] == '-': // a comment such as "-- No entries --"
			return true, nil
		case c == '\n':
			return false, p.read(p.binary)
		}
		if len(p.name) < maxName {
			p.name = append(p.name, c)
		}
	}
}

// read reads the value of the current field.
func (p *parser) read(read func(*value) error) error {
	if v, ok := p.values[string(p.name)]; ok && !v.set {
		v.set = true
		return read(v)
	}
	v := &p.current
	if bytes.HasPrefix(p.name, []byte("__")) || len(p.others) == maxOthers || len(p.rest) >= maxRest {
		if *v = (value{}); !bytes.HasPrefix(p.name, []byte("__")) {
			p.left++
		}
		return read(v)
	}
	start := len(p.rest)
	*v = value{b: p.rest, limit: min(start+maxOther, maxRest)}
	err := read(v)
	p.rest = v.b
	p.others = append(p.others, other{memo.Text(&p.names, p.name, memo.Same), p.rest[start:], v.size > int64(len(p.rest)-start)})
	return err
}

// text reads a value that ends with its line.
func (p *parser) text(v *value) error {
	for {
		line, err := p.r.ReadSlice('\n')
		if err == nil {
			v.add(line[:len(line)-1])
			return nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return unexpected(err)
		}
		v.add(line)
	}
}

// binary reads a value with a length prefix.
func (p *parser) binary(v *value) error {
	head, err := p.r.Peek(8)
	if err != nil {
		return unexpected(err)
	}
	length := binary.LittleEndian.Uint64(head)
	if length > maxField {
		return fmt.Errorf("%w: a value of %d bytes", errMalformed, length)
	}
	_, _ = p.r.Discard(8)
	for length > 0 {
		part, err := p.r.Peek(int(min(length, uint64(p.r.Size()))))
		v.add(part)
		length -= uint64(len(part))
		_, _ = p.r.Discard(len(part))
		if err != nil {
			return unexpected(err)
		}
	}
	c, err := p.r.ReadByte()
	if err == nil && c != '\n' {
		return fmt.Errorf("%w: a value has another length than stated", errMalformed)
	}
	return unexpected(err)
}

// unexpected replaces [io.EOF] by [io.ErrUnexpectedEOF].
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// entry makes an entry from the values.
func (p *parser) entry() (entry, error) {
	e := entry{
		cursor: p.values[cursorField].b, unit: p.values[unitField].b, identifier: p.values[identifierField].b,
		command: p.values[commandField].b, transport: p.values[transportField].b, priority: -1, others: p.others, left: p.left,
	}
	if len(e.cursor) == 0 || p.values[cursorField].size > maxValue {
		return entry{}, fmt.Errorf("%w: an entry without a cursor", errMalformed)
	}
	var err error
	if e.time, err = strconv.ParseInt(string(p.values[timeField].b), 10, 64); err != nil {
		return entry{}, fmt.Errorf("%w: an entry without a time", errMalformed)
	}
	if level := p.values[priorityField]; len(level.b) == 1 && level.b[0] >= '0' && level.b[0] <= '7' {
		e.priority = int(level.b[0] - '0')
	} else if level.set {
		e.others = append(e.others, other{priorityField, level.b, level.size > maxValue})
	}
	if m := p.values[messageField]; m.set {
		e.message, e.size, e.has = m.b, m.size, true
	}
	return e, nil
}
