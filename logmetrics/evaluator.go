package logmetrics

import (
	"strings"
	"unicode/utf8"

	"logstow/field"
	"logstow/field/parse"
	"logstow/field/where"
	"logstow/record"
)

// evaluator evaluates the metrics of a program for records with one parser. It is for one goroutine.
type evaluator struct {
	instance string
	splitter *parse.Splitter
	metrics  []evaluated
	// split: the splitter has the current message.
	split  bool
	values []field.Value
	record where.Record
	source string // that record.Source has
	// key is made of the labels of the current record.
	key []byte
}

// evaluated is a metric with its condition, and the numbers of its fields in the splitter.
type evaluated struct {
	*metric
	holds  *where.Evaluator // nil is true
	fields *view
	value  int
	labels []int
}

// view has the fields of a condition by their numbers in it.
type view struct {
	of      *evaluator
	numbers []int
}

// Value implements [where.Fields].
func (v *view) Value(i int) field.Value { return v.of.field(v.numbers[i]) }

func newEvaluator(p *program, parser string) *evaluator {
	compiled, err := parse.CompileStored(parser)
	if err != nil { // as logq does with the segments of it
		compiled = parse.Auto()
	}
	e := &evaluator{instance: p.instance, splitter: compiled.Splitter(p.fields...)}
	numbers := map[string]int{}
	for i, name := range p.fields {
		numbers[name] = i
	}
	for _, m := range p.metrics {
		one := evaluated{metric: m, value: -1}
		if m.where != nil {
			one.holds, _ = m.where.Evaluator() // its errors are those of compiling it
			one.fields = &view{of: e}
			for _, name := range m.where.Fields() {
				one.fields.numbers = append(one.fields.numbers, numbers[name])
			}
		}
		if m.value != "" {
			one.value = numbers[m.value]
		}
		for _, l := range m.labels {
			number := -1
			if l.fixed == "" {
				number = numbers[l.field]
			}
			one.labels = append(one.labels, number)
		}
		e.metrics = append(e.metrics, one)
	}
	return e
}

// field is a field of the current message, which is split when the first one is requested.
func (e *evaluator) field(i int) field.Value {
	if !e.split {
		e.splitter.Split(e.record.Message)
		e.split = true
		e.values = e.splitter.Values()
	}
	return e.values[i]
}

// observe counts records.
func (e *evaluator) observe(service string, records []record.Record) {
	e.record = where.Record{Service: service, Source: e.record.Source, Instance: e.instance}
	for i := range records {
		r := &records[i]
		if r.Source != e.source || i == 0 {
			e.source, e.record.Source = r.Source, append(e.record.Source[:0], r.Source...)
		}
		e.record.Time, e.record.Level, e.record.Message, e.split = r.Time, r.Level, r.Message, false
		for k := range e.metrics {
			e.count(&e.metrics[k])
		}
	}
	e.record.Message = nil
}

// count counts the current record in a metric, if it matches.
func (e *evaluator) count(m *evaluated) {
	if m.holds != nil {
		e.record.Fields = m.fields
		if !m.holds.Holds(&e.record) {
			return
		}
	}
	var n value
	if m.value >= 0 {
		var ok bool
		if n, ok = m.numberOf(e.field(m.value)); !ok {
			m.skip(noNumber)
			return
		}
	}
	e.key = e.key[:0]
	for i, number := range m.labels {
		start := len(e.key)
		e.key = e.appendLabel(e.key, &m.metric.labels[i], number)
		text := e.key[start:]
		if len(text) > MaxLabelSize {
			m.skip(longLabel)
			return
		}
		if !utf8.Valid(text) {
			e.key = append(e.key[:start], strings.ToValidUTF8(string(text), string(utf8.RuneError))...)
		}
		e.key = append(e.key, labelEnd)
	}
	m.add(e.key, n)
}

// labelEnd ends each label in a key: no byte of UTF-8.
const labelEnd = 0xff

// splitKey are the labels of a key.
func splitKey(key string) []string {
	all := strings.Split(key, string([]byte{labelEnd}))
	return all[:len(all)-1]
}

// appendLabel appends the value of a label: nothing if the field is missing.
func (e *evaluator) appendLabel(dst []byte, l *label, number int) []byte {
	switch l.fixed {
	case field.Level:
		return append(dst, e.record.Level.String()...)
	case field.Service:
		return append(dst, e.record.Service...)
	case field.Source:
		return append(dst, e.record.Source...)
	case field.Instance:
		return append(dst, e.instance...)
	}
	if v := e.field(number); v.Kind != field.Null {
		dst = append(dst, v.Text...)
	}
	return dst
}
