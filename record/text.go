package record

import (
	"bytes"
	"errors"
	"fmt"

	"logstow/record/attributes"
)

// ErrText is the error of [Next] for text that is not a record.
var ErrText = errors.New("malformed record text")

// Line is one record in a segment's text. Its slices are views into that text.
type Line struct {
	// Text is the whole record, including its final newline. It starts with [TimeLen] bytes of
	// time, whose byte order is the order of time.
	Text []byte
	// Time is in Unix nanoseconds, UTC.
	Time int64
	// Columns are those behind the time; the source is clean, see [CleanSource].
	Columns
}

// Prefix is the length of the columns before the attributes, in bytes of Text.
func (l *Line) Prefix() int {
	n := len(l.Text) - len(l.Raw) - len("\t\n")
	return n - max(len(l.Attributes), 1)
}

// noAttributes stands for no attributes.
const noAttributes = '-'

// AppendText appends a record's text form, its final newline included. The
// source is written clean ([CleanSource]); a level out of the vocabulary is written as "-". The attributes must be valid.
func AppendText(dst []byte, r Record) []byte {
	var e Encoder
	return e.AppendText(dst, &r)
}

// Encoder is [AppendText] for consecutive records: it caches the time and the source of the last
// one. The zero value is ready to use. It is not safe for concurrent use.
type Encoder struct {
	time TimeFormatter
	// raw was the last record's source and clean its written form.
	raw, clean string
}

// AppendText is the function AppendText. It neither changes nor retains r.
func (e *Encoder) AppendText(dst []byte, r *Record) []byte {
	if r.Source != e.raw || e.clean == "" {
		e.raw, e.clean = r.Source, CleanSource(r.Source)
	}
	dst = e.time.AppendTime(dst, r.Time)
	dst = append(dst, '\t')
	dst = append(dst, r.Level.String()...)
	dst = append(dst, '\t')
	dst = append(dst, e.clean...)
	if len(r.Attributes) == 0 {
		dst = append(dst, '\t', noAttributes, '\t')
	} else {
		dst = append(dst, '\t')
		dst = append(dst, r.Attributes...)
		dst = append(dst, '\t')
	}
	m := r.Message
	for {
		n := bytes.IndexByte(m, '\n')
		if n < 0 {
			break
		}
		dst = append(dst, m[:n]...)
		dst = append(dst, '\n', '\t')
		m = m[n+1:]
	}
	dst = append(dst, m...)
	return append(dst, '\n')
}

// AppendMessage appends the message of raw, which is [Columns].Raw: it removes the TAB after each newline.
func AppendMessage(dst, raw []byte) []byte {
	for {
		n := bytes.IndexByte(raw, '\n')
		if n < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:n+1]...)
		raw = raw[n+1:]
		if len(raw) > 0 && raw[0] == '\t' {
			raw = raw[1:]
		}
	}
}

// Message is a message as logged, in memory that the next message reuses.
type Message []byte

// Decode sets the message from its stored form, which is [Columns].Raw.
func (m *Message) Decode(raw []byte) { *m = AppendMessage((*m)[:0], raw) }

// Next parses the record at the start of text and returns it and the rest. It accepts exactly the
// output of [AppendText]; otherwise the error wraps [ErrText]. An empty text is an error too: a loop
// over a block's records ends when rest is empty.
func Next(text []byte) (line Line, rest []byte, err error) {
	const (
		level  = TimeLen + 1       // where the level starts
		header = level + 2 + 2 + 2 // the shortest columns before the message: "-", a source of one byte, "-"
		window = level + 6 + 256   // the longest
	)
	if len(text) < header {
		return Line{}, nil, malformed("truncated record")
	}
	if line.Time, err = ParseTime(text[:TimeLen]); err != nil {
		return Line{}, nil, malformed(err.Error())
	}
	if text[TimeLen] != '\t' {
		return Line{}, nil, malformed("no TAB after the time")
	}
	head := text[level:min(len(text), window)]
	n := bytes.IndexByte(head, '\t')
	if n < 0 {
		return Line{}, nil, malformed("no TAB after the level")
	}
	var ok bool
	if line.Level, ok = parseLevel(head[:n]); !ok {
		return Line{}, nil, malformed("level out of the vocabulary")
	}
	head = head[n+1:]
	source := level + n + 1
	n = bytes.IndexByte(head, '\t')
	if n < 0 {
		return Line{}, nil, malformed("no TAB after the source")
	}
	line.Source = head[:n:n]
	if !isCleanSource(line.Source) {
		return Line{}, nil, malformed("source is empty, too long or holds control bytes")
	}
	at := source + n + 1
	if at+1 < len(text) && text[at] == noAttributes && text[at+1] == '\t' { // as most
		at += 2
	} else {
		if n = bytes.IndexByte(text[at:min(len(text), at+attributes.MaxSize+1)], '\t'); n < 0 {
			return Line{}, nil, malformed("no TAB after the attributes")
		}
		if line.Attributes = text[at : at+n : at+n]; !attributes.Valid(line.Attributes) {
			return Line{}, nil, malformed("attributes are not in their canonical form")
		}
		at += n + 1
	}
	end, _ := End(text, at)
	if end == len(text) {
		return Line{}, nil, malformed("no newline at the end")
	}
	line.Raw = text[at:end:end]
	line.Text = text[: end+1 : end+1]
	return line, text[end+1:], nil
}

func malformed(what string) error { return fmt.Errorf("%w: %s", ErrText, what) }
