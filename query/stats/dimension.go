package stats

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"logstow/field"
	"logstow/field/parse"
	"logstow/record"
)

// kind is the property that a dimension counts by.
type kind uint8

const (
	byLevel kind = iota
	byMinute
	byHour
	byDay
	byService
	byInstance
	bySource
	byField
)

func (k kind) timed() bool { return k == byMinute || k == byHour || k == byDay }

// dimension is one property that records are counted by.
type dimension struct {
	name string
	kind kind
	// index is that of a field among all.
	index int
}

// dimensions make keys of records; for one goroutine at a time.
type dimensions struct {
	all     []dimension
	zone    *time.Location
	scratch []byte
	message []byte
	// fields are the names of fields of the message, which splitter finds.
	fields   []string
	splitter *parse.Splitter
}

func newDimensions(by []string, zone *time.Location) (dimensions, error) {
	if zone == nil {
		zone = time.UTC
	}
	d := dimensions{zone: zone}
	for _, name := range by {
		if name == "" {
			return d, errors.New("there is nothing to count by: level, minute, hour, day, service, source, instance or a field")
		}
		one := newDimension(name)
		if one.kind == byField {
			one.index = len(d.fields)
			d.fields = append(d.fields, field.Named(name))
		}
		d.all = append(d.all, one)
	}
	return d, nil
}

// use has a parser find the fields of the records that follow.
func (d *dimensions) use(parser *parse.Parser) {
	if len(d.fields) > 0 {
		d.splitter = parser.Splitter(d.fields...)
	}
}

func newDimension(name string) dimension {
	switch name {
	case "level":
		return dimension{name: name, kind: byLevel}
	case "minute":
		return dimension{name: name, kind: byMinute}
	case "hour":
		return dimension{name: name, kind: byHour}
	case "day":
		return dimension{name: name, kind: byDay}
	case "service":
		return dimension{name: name, kind: byService}
	case "instance":
		return dimension{name: name, kind: byInstance}
	case "source":
		return dimension{name: name, kind: bySource}
	}
	return dimension{name: name, kind: byField}
}

// clone is the same for another goroutine.
func (d *dimensions) clone() *dimensions {
	c, _ := newDimensions(d.names(), d.zone)
	return &c
}

func (d *dimensions) names() []string {
	names := []string{}
	for _, one := range d.all {
		names = append(names, one.name)
	}
	return names
}

// inFooters reports whether footers have all dimensions.
func (d *dimensions) inFooters() bool {
	for _, one := range d.all {
		if one.kind == bySource || one.kind == byField {
			return false
		}
	}
	return true
}

// byInstance reports whether a record's instance matters.
func (d *dimensions) byInstance() bool {
	return slices.ContainsFunc(d.all, func(one dimension) bool { return one.kind == byInstance })
}

// timed reports whether a record's time matters.
func (d *dimensions) timed() bool {
	for _, one := range d.all {
		if one.kind.timed() {
			return true
		}
	}
	return false
}

// samePeriods reports whether two times, and all between them, are in the same periods.
func (d *dimensions) samePeriods(from, to int64) bool {
	for _, one := range d.all {
		if one.kind.timed() && d.start(one.kind, from) != d.start(one.kind, to) {
			return false
		}
	}
	return true
}

// groupRecord is a record to count.
type groupRecord struct {
	service, instance string
	time              int64
	record.Columns
}

// key is a record's group, valid until the next call: the length and the bytes of
// every value, times as eight bytes that sort.
func (d *dimensions) key(s *groupRecord) []byte {
	d.scratch = d.scratch[:0]
	decoded := false
	for i := range d.all {
		one := &d.all[i]
		switch one.kind {
		case byLevel:
			d.put([]byte(s.Level.String()))
		case byService:
			d.put([]byte(s.service))
		case byInstance:
			d.put([]byte(s.instance))
		case bySource:
			d.put(s.Source)
		case byField:
			if !decoded {
				d.message, decoded = record.AppendMessage(d.message[:0], s.Raw), true
				d.splitter.Split(d.message)
			}
			v := d.splitter.Value(one.index)
			if v.Kind == field.Missing {
				v.Text = []byte("-")
			}
			d.put(v.Text)
		default:
			d.scratch = append(d.scratch, 8)
			d.scratch = binary.BigEndian.AppendUint64(d.scratch, uint64(d.start(one.kind, s.time))^1<<63)
		}
	}
	return d.scratch
}

func (d *dimensions) put(b []byte) {
	d.scratch = binary.AppendUvarint(d.scratch, uint64(len(b)))
	d.scratch = append(d.scratch, b...)
}

// start is the start of the period around t (Unix nanoseconds) in Unix seconds.
func (d *dimensions) start(k kind, t int64) int64 {
	minute := record.MinuteOf(t)
	if k == byMinute {
		return minute
	}
	at := time.Unix(minute, 0).In(d.zone)
	if k == byHour {
		return minute - int64(at.Minute())*60
	}
	return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, d.zone).Unix()
}

// times are the times of a key, in their order, to sort by; "" if it has none.
func (d *dimensions) times(key string) string {
	var times []byte
	for i, rest := 0, []byte(key); len(rest) > 0; i++ {
		n, width := binary.Uvarint(rest)
		if d.all[i].kind.timed() {
			times = append(times, rest[width:width+int(n)]...)
		}
		rest = rest[width+int(n):]
	}
	return string(times)
}

// split takes a key apart.
func (d *dimensions) split(key string) []string {
	var values []string
	for rest := []byte(key); len(rest) > 0; {
		n, width := binary.Uvarint(rest)
		value := rest[width : width+int(n)]
		if d.all[len(values)].kind.timed() {
			at := time.Unix(int64(binary.BigEndian.Uint64(value)^1<<63), 0)
			values = append(values, at.In(d.zone).Format(time.RFC3339))
		} else {
			values = append(values, string(value))
		}
		rest = rest[width+int(n):]
	}
	return values
}
