package journald

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"

	"logstow/buffer"
	"logstow/input"
	"logstow/internal/memo"
	"logstow/record"
	"logstow/record/attributes"
)

const (
	// maxRecords and maxBytes limit the records that are collected before they are flushed.
	maxRecords, maxBytes = 1024, 1 << 20
	// info is the priority of all output of services.
	info = 6
)

// batch collects records until they are flushed.
type batch struct {
	opts *Options
	made *input.Stamper
	// text has the messages and attributes.
	text []byte
	// size is how many bytes the messages had, and the attributes have.
	size int64
	// cursor is the cursor of the last entry, which may have no record.
	cursor string
	// names are known sources, so that each is allocated once.
	names memo.Map[string, string]
	// own and values are memory for the attributes of an entry.
	own    []attributes.Member
	values []byte
}

func newBatch(opts *Options) *batch {
	return &batch{opts: opts, made: input.NewStamper(&opts.Options), names: memo.Map[string, string]{Max: maxRecords}}
}

func (b *batch) full() bool { return len(b.made.Records()) >= maxRecords || len(b.text) >= maxBytes }

// add collects an entry.
func (b *batch) add(e *entry, read int64) {
	b.cursor = string(e.cursor)
	if !e.has {
		return
	}
	b.size += e.size
	message := e.message
	if e.size > int64(b.opts.MaxRecord) {
		b.opts.NoteCut()
		message = input.Cut(message, b.opts.MaxRecord, e.size)
	}
	start := len(b.text)
	b.text = append(b.text, message...) // if it moves, earlier records keep the old array
	event := input.Event{Time: nanos(e.time), Source: b.source(e), Message: b.text[start:len(b.text):len(b.text)]}
	start = len(b.text)
	b.text = b.appendAttributes(b.text, e)
	event.Attributes = b.text[start:len(b.text):len(b.text)]
	b.size += int64(len(event.Attributes))
	event.Level, event.Fallback = levels(e)
	b.made.Add(&event, read)
}

// appendAttributes appends the fields of an entry that are not in message, level, time and source. The values of a field that has several
// become an array.
func (b *batch) appendAttributes(dst []byte, e *entry) []byte {
	b.own, b.values = b.own[:0], b.values[:0]
	cut := e.left
	for i := range e.others {
		o := &e.others[i]
		b.attribute(o.name, o.text())
		if o.cut && len(o.value) < maxOther { // because of others
			cut++
		}
	}
	if len(e.identifier) > 0 && len(e.command) > 0 {
		b.attribute(commandField, e.command)
	}
	if len(e.transport) > 0 {
		b.attribute(transportField, e.transport)
	}
	slices.SortStableFunc(b.own, func(a, b attributes.Member) int { return cmp.Compare(a.Name, b.Name) })
	all := b.own[:0]
	for i := 0; i < len(b.own); {
		n := 1
		for i+n < len(b.own) && b.own[i+n].Name == b.own[i].Name {
			n++
		}
		m := b.own[i]
		if n > 1 {
			m.Value = array(b.own[i : i+n])
		}
		all = append(all, m)
		i += n
	}
	set := attributes.Set{Own: all, Cut: cut}
	dst, _ = set.Append(dst)
	return dst
}

// attribute collects an attribute of the current entry.
func (b *batch) attribute(name string, value []byte) {
	start := len(b.values)
	b.values = attributes.AppendText(b.values, value) // if it moves, earlier attributes keep the old array
	b.own = append(b.own, attributes.Member{Name: name, Value: b.values[start:len(b.values):len(b.values)]})
}

// array returns the values of members as one.
func array(members []attributes.Member) []byte {
	values := make([][]byte, len(members))
	for i := range members {
		values[i] = members[i].Value
	}
	return attributes.AppendArray(nil, values)
}

// text returns the value; of one that is cut, only whole characters.
func (o *other) text() []byte {
	v := o.value
	for n := 1; o.cut && n < utf8.UTFMax && n <= len(v); n++ {
		if last := v[len(v)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				v = v[:len(v)-n]
			}
			break
		}
	}
	return v
}

// nanos is a time of the journal's in nanoseconds.
func nanos(micros int64) int64 {
	const most = math.MaxInt64 / 1000
	return min(max(micros, -most), most) * 1000
}

// levels returns the level of an entry, and the one that it has if its message has none. If its priority is missing or is the
// default for the output of a service, a level in the message takes precedence.
func levels(e *entry) (level, fallback record.Level) {
	level = record.LevelFromSyslog(e.priority)
	if e.priority >= 0 && (e.priority != info || string(e.transport) != "stdout") {
		return level, record.None
	}
	return record.None, level
}

// source returns UNIT/IDENTIFIER, without unknown parts.
func (b *batch) source(e *entry) string {
	name := append([]byte(b.opts.SourcePrefix), e.unit...)
	identifier := e.identifier
	if len(identifier) == 0 {
		identifier = e.command
	}
	if len(e.unit) > 0 && len(identifier) > 0 {
		name = append(name, '/')
	}
	name = append(name, identifier...)
	return memo.Text(&b.names, name, record.CleanSource)
}

// chunk returns the collected data. It is valid until reset.
func (b *batch) chunk(read int64) buffer.Chunk {
	return buffer.Chunk{
		Service: b.opts.Service, Class: b.opts.Class, Parse: b.opts.Parse, Read: read, Records: b.made.Records(),
		Positions: []buffer.Position{b.opts.position(b.cursor)},
	}
}

// reset discards the collected data.
func (b *batch) reset() {
	b.made.Reset()
	b.text, b.size, b.cursor = b.text[:0], 0, ""
}
