package stats

import (
	"encoding/binary"
	"slices"
	"time"

	"logstow/field"
	"logstow/field/parse"
	"logstow/record"
)

// dimension is one property that records are counted by.
type dimension struct {
	field.Name
	// index is that of a field of the message among all.
	index int
}

// step reports whether it is a time step.
func (one *dimension) step() bool { return one.Step != (field.Step{}) }

// inMessage reports whether it is a field of the message.
func (one *dimension) inMessage() bool { return one.Fixed == "" && !one.step() }

// dimensions make keys of records; for one goroutine at a time.
type dimensions struct {
	all     []dimension
	zone    *time.Location
	scratch []byte
	message []byte
	// fields are the names of fields of the message, which splitter finds.
	fields   []string
	splitter *parse.Splitter
	// first and last are the bounds, Unix nanoseconds, of the time step of an earlier record.
	first, last int64
}

// newDimensions makes dimensions of names, of which one at most is a time step.
func newDimensions(by []field.Name, zone *time.Location) dimensions {
	if zone == nil {
		zone = time.UTC
	}
	d := dimensions{zone: zone, first: 1}
	for _, name := range by {
		one := dimension{Name: name}
		if one.inMessage() {
			one.index = len(d.fields)
			d.fields = append(d.fields, name.Field)
		}
		d.all = append(d.all, one)
	}
	return d
}

// use has a parser find the fields of the records that follow.
func (d *dimensions) use(parser *parse.Parser) {
	if len(d.fields) > 0 {
		d.splitter = parser.Splitter(d.fields...)
	}
}

// clone is the same for another goroutine.
func (d *dimensions) clone() *dimensions {
	by := make([]field.Name, len(d.all))
	for i := range d.all {
		by[i] = d.all[i].Name
	}
	c := newDimensions(by, d.zone)
	return &c
}

func (d *dimensions) names() []string {
	names := []string{}
	for i := range d.all {
		names = append(names, d.all[i].Text)
	}
	return names
}

// inFooters reports whether footers have all dimensions.
func (d *dimensions) inFooters() bool {
	for i := range d.all {
		switch one := &d.all[i]; {
		case one.step() && one.Step.Minutes(), one.Fixed == field.Level, one.Fixed == field.Service, one.Fixed == field.Instance:
		default:
			return false
		}
	}
	return true
}

// byInstance reports whether a record's instance matters.
func (d *dimensions) byInstance() bool {
	return slices.ContainsFunc(d.all, func(one dimension) bool { return one.Fixed == field.Instance })
}

// timed reports whether a record's time matters.
func (d *dimensions) timed() bool {
	return slices.ContainsFunc(d.all, func(one dimension) bool { return one.step() })
}

// samePeriods reports whether two times, and all between them, are in the same periods.
func (d *dimensions) samePeriods(from, to int64) bool {
	for i := range d.all {
		if one := &d.all[i]; one.step() && d.start(one.Step, from) != d.start(one.Step, to) {
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
	message := func() []byte {
		if !decoded {
			d.message, decoded = record.AppendMessage(d.message[:0], s.Raw), true
		}
		return d.message
	}
	split := false
	for i := range d.all {
		one := &d.all[i]
		switch {
		case one.step():
			d.scratch = append(d.scratch, 8)
			d.scratch = binary.BigEndian.AppendUint64(d.scratch, uint64(d.start(one.Step, s.time))^1<<63)
		case one.Fixed == field.Time:
			d.put(record.AppendTime(nil, s.time))
		case one.Fixed == field.Level:
			d.put([]byte(s.Level.String()))
		case one.Fixed == field.Service:
			d.put([]byte(s.service))
		case one.Fixed == field.Instance:
			d.put([]byte(s.instance))
		case one.Fixed == field.Source:
			d.put(s.Source)
		case one.Fixed == field.Message:
			d.put(message())
		default:
			if !split {
				d.splitter.Split(message())
				split = true
			}
			v := d.splitter.Value(one.index)
			if v.Kind == field.Missing {
				v.Text = []byte("-")
			}
			d.put(v.Text)
		}
	}
	return d.scratch
}

func (d *dimensions) put(b []byte) {
	d.scratch = binary.AppendUvarint(d.scratch, uint64(len(b)))
	d.scratch = append(d.scratch, b...)
}

// start is the start of the step around t, both in Unix nanoseconds. Steps of whole minutes are those
// of a record's minute, which footers count.
func (d *dimensions) start(step field.Step, t int64) int64 {
	if d.first <= t && t <= d.last {
		return d.first
	}
	at := time.Unix(0, t)
	if step.Minutes() {
		at = time.Unix(record.MinuteOf(t), 0)
	}
	start := step.Start(at.In(d.zone))
	d.first, d.last = start.UnixNano(), step.Next(start).UnixNano()-1
	return d.first
}

// times are the times of a key, in their order, to sort by; "" if it has none.
func (d *dimensions) times(key string) string {
	var times []byte
	for i, rest := 0, []byte(key); len(rest) > 0; i++ {
		n, width := binary.Uvarint(rest)
		if d.all[i].step() {
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
		if one := &d.all[len(values)]; one.step() {
			at := time.Unix(0, int64(binary.BigEndian.Uint64(value)^1<<63))
			values = append(values, at.In(d.zone).Format(one.Step.Layout()))
		} else {
			values = append(values, string(value))
		}
		rest = rest[width+int(n):]
	}
	return values
}
