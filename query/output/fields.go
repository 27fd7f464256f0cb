package output

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"logstow/field"
	"logstow/internal/jsonlines"
	"logstow/message"
	"logstow/query"
	"logstow/record"
)

// column is a column of the output.
type column struct {
	// name is its header. fixed is its fixed field, "" for a field of the message.
	name  string
	fixed field.Fixed
	// attributes is set for the column of all attributes, which has no name in queries.
	attributes bool
	// index is the index of a field of the message in Writer.fields.
	index int
}

// CheckFields reports names that cannot be columns.
func CheckFields(names []string) error {
	_, _, err := newColumns(names)
	return err
}

// newColumns returns the columns with these names, and the names of those that are fields of the message.
func newColumns(texts []string) (columns []column, fields []string, err error) {
	names, err := field.ParseRecordNames(texts)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		c := column{name: name.Text, fixed: name.Fixed}
		if name.Fixed == "" {
			c.index = len(fields)
			fields = append(fields, name.Field)
		}
		columns = append(columns, c)
	}
	return columns, fields, nil
}

// EmptyFields returns the fields of the message, named in the options or the template, that no record printed so far has.
func (o *Writer) EmptyFields() (names []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, name := range o.fields {
		if !o.found[i] {
			names = append(names, name)
		}
	}
	return names
}

// split makes a record's the current message.
func (o *Writer) split(m *query.Match) {
	o.message.Decode(m.Message())
	if len(o.fields) > 0 {
		o.splitFields(m)
	}
}

// splitFields finds the fields of the current message.
func (o *Writer) splitFields(m *query.Match) {
	o.splitter = o.splitters.Of(o.opts.Parser(m.Segment), o.fields...)
	o.splitter.Split(m.Attributes(), o.message)
	for i := range o.fields {
		o.found[i] = o.found[i] || o.splitter.Value(i).Kind != message.Missing
	}
}

// FormatTime is a time in Unix nanoseconds in a zone (nil is UTC), in RFC 3339 with nine digits.
func FormatTime(unixNano int64, zone *time.Location) string {
	return string(appendTime(nil, unixNano, zone))
}

func appendTime(dst []byte, unixNano int64, zone *time.Location) []byte {
	if zone == nil || zone == time.UTC {
		return record.AppendTime(dst, unixNano)
	}
	return time.Unix(0, unixNano).In(zone).AppendFormat(dst, "2006-01-02T15:04:05.000000000Z07:00")
}

// time is a record's in the zone of the options; valid until the next call.
func (o *Writer) time(m *query.Match) []byte {
	if o.opts.Zone == time.UTC {
		return m.Line[:record.TimeLen]
	}
	o.scratch = appendTime(o.scratch[:0], m.Time, o.opts.Zone)
	return o.scratch
}

// fixed returns the text of a fixed field of a record, whose message is the current one; valid until the next call.
func (o *Writer) fixed(f field.Fixed, m *query.Match) []byte {
	switch f {
	case field.Time:
		return o.time(m)
	case field.Level:
		return []byte(m.Level().String())
	case field.Service:
		return []byte(m.Segment.Name.Service)
	case field.Instance:
		return []byte(m.Instance)
	case field.Source:
		return m.Source()
	}
	return o.message
}

// value returns the value of a record, whose message is the current one, in a column.
func (o *Writer) value(c *column, m *query.Match) message.Value {
	if c.fixed != "" {
		return message.Value{Kind: message.String, Text: o.fixed(c.fixed, m)}
	}
	return o.splitter.Value(c.index)
}

// values appends a record's values with TABs between them. Newlines and TABs in a
// value are shown as they are written in JSON, so that a record stays a line.
func (o *Writer) values(dst []byte, m *query.Match) []byte {
	o.split(m)
	for i := range o.columns {
		if i > 0 {
			dst = append(dst, '\t')
		}
		at := len(dst)
		dst = o.shown(appendFlat(dst, o.value(&o.columns[i], m).Text), at)
	}
	return append(dst, '\n')
}

// appendFlat appends a value with \n and \t in the place of newlines and TABs.
func appendFlat(dst, s []byte) []byte {
	for _, b := range s {
		switch b {
		case '\n':
			dst = append(dst, `\n`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, b)
		}
	}
	return dst
}

// objects appends a record's values as a JSON object. It omits missing fields.
func (o *Writer) objects(dst []byte, m *query.Match) []byte {
	o.split(m)
	dst = append(dst, '{')
	first := true
	for i := range o.columns {
		v := o.value(&o.columns[i], m)
		if v.Kind == message.Missing {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(jsonlines.AppendString(dst, []byte(o.columns[i].name)), ':')
		dst = o.appendValue(dst, v)
	}
	at := len(dst)
	if dst = o.appendMarks(dst, m); first && len(dst) > at {
		dst = slices.Delete(dst, at, at+1) // its comma
	}
	return append(dst, "}\n"...)
}

// appendValue appends a value as JSON: a number, an array and so on as written, on one line and in UTF-8.
func (o *Writer) appendValue(dst []byte, v message.Value) []byte {
	o.formatted.Reset()
	if v.IsText() || json.Compact(&o.formatted, v.Text) != nil {
		return jsonlines.AppendString(dst, v.Text)
	}
	at := len(dst)
	return o.shown(append(dst, bytes.ToValidUTF8(o.formatted.Bytes(), []byte("\ufffd"))...), at)
}

// csv appends a record's values as a line of RFC 4180, with a newline at its end. A line
// with nothing on it would be skipped by readers: a single empty value is quoted.
func (o *Writer) csv(dst []byte, m *query.Match) []byte {
	o.split(m)
	start := len(dst)
	for i := range o.columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		at := len(dst)
		dst = appendQuoted(dst, o.value(&o.columns[i], m).Text)
		dst = o.shown(dst, at)
	}
	for _, mark := range o.marked {
		dst = append(dst, ',')
		dst = strconv.AppendBool(dst, o.isMarked(mark, m))
	}
	if len(dst) == start {
		dst = append(dst, `""`...)
	}
	return append(dst, '\n')
}

// isMarked reports whether a mark is a record's.
func (o *Writer) isMarked(mark string, m *query.Match) bool {
	return mark == contextMark && m.Context || mark == lateMark && o.late
}

// The columns of CSV and Parquet that mark some records.
const (
	contextMark = "context"
	lateMark    = "late"
)

// marks returns the marks that records may need with these options.
func marks(opts Options) (all []string) {
	if opts.Around {
		all = append(all, contextMark)
	}
	if opts.Late {
		all = append(all, lateMark)
	}
	return all
}

// csvHead is the line of names.
func (o *Writer) csvHead() []byte {
	var dst []byte
	for i := range o.columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendQuoted(dst, []byte(o.columns[i].name))
	}
	for _, mark := range o.marked {
		dst = append(append(dst, ','), mark...)
	}
	return append(dst, '\n')
}

func appendQuoted(dst, s []byte) []byte {
	if !bytes.ContainsAny(s, "\",\r\n") && len(bytes.TrimSpace(s)) == len(s) {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	dst = append(dst, bytes.ReplaceAll(s, []byte(`"`), []byte(`""`))...)
	return append(dst, '"')
}
