package logmetrics

import (
	"strings"
	"unicode/utf8"

	"logstow/exact"
	"logstow/field/where"
	"logstow/message"
	"logstow/message/parse"
	"logstow/record"
)

// evaluator evaluates the metrics of a program for records with one parser. It is not safe for concurrent use.
type evaluator struct {
	instance string
	splitter *parse.Splitter
	metrics  []evaluated
	// split is set if values are the fields of the current message.
	split  bool
	values []message.Value
	record where.Record
	source string // the value of record.Source, as a string
	// key consists of the labels of the current record.
	key []byte
}

// evaluated is a metric with the evaluator of its condition. value and labels are indexes of program.fields; they are -1 if
// there is no such field.
type evaluated struct {
	*metric
	condition *where.Evaluator // nil matches all records
	fields    *view
	value     int
	labels    []int
}

// view maps the indexes of a condition's fields to those of program.fields.
type view struct {
	of      *evaluator
	indexes []int
}

// Value implements [where.Fields].
func (v *view) Value(i int) message.Value { return v.of.field(v.indexes[i]) }

func newEvaluator(p *program, parser string) *evaluator {
	compiled, err := parse.CompileStored(parser)
	if err != nil { // logq does the same for segments with such a parser
		compiled = parse.Auto()
	}
	e := &evaluator{instance: p.instance, splitter: compiled.Splitter(p.fields...)}
	indexes := map[string]int{}
	for i, name := range p.fields {
		indexes[name] = i
	}
	for _, m := range p.metrics {
		one := evaluated{metric: m, value: -1}
		if m.where != nil {
			one.condition = m.where.Evaluator()
			one.fields = &view{of: e}
			for _, name := range m.where.Fields() {
				one.fields.indexes = append(one.fields.indexes, indexes[name])
			}
		}
		if m.value != "" {
			one.value = indexes[m.value]
		}
		for _, l := range m.labels {
			index := -1
			if l.fixed == "" {
				index = indexes[l.field]
			}
			one.labels = append(one.labels, index)
		}
		e.metrics = append(e.metrics, one)
	}
	return e
}

// field returns a field of the current message by its index. The message is split at the first call.
func (e *evaluator) field(i int) message.Value {
	if !e.split {
		e.splitter.Split(e.record.Attributes, e.record.Message)
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
		e.record.Time, e.record.Level, e.record.Attributes, e.record.Message, e.split = r.Time, r.Level, r.Attributes, r.Message, false
		for k := range e.metrics {
			e.count(&e.metrics[k])
		}
	}
	e.record.Attributes, e.record.Message = nil, nil
}

// count counts the current record in a metric, if it matches.
func (e *evaluator) count(m *evaluated) {
	if m.condition != nil {
		e.record.Fields = m.fields
		if !m.condition.Holds(&e.record) {
			return
		}
	}
	var n exact.Number
	if m.value >= 0 {
		var ok bool
		if n, ok = m.numberOf(e.field(m.value)); !ok {
			m.skip(noNumber)
			return
		}
	}
	e.key = e.key[:0]
	for i, index := range m.labels {
		start := len(e.key)
		e.key = e.appendLabel(e.key, &m.metric.labels[i], index)
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

// labelEnd ends each label in a key. It does not occur in UTF-8.
const labelEnd = 0xff

// splitKey returns the labels of a key.
func splitKey(key string) []string {
	all := strings.Split(key, string([]byte{labelEnd}))
	return all[:len(all)-1]
}

// appendLabel appends the value of a label, or nothing if the field is missing. index is the index of its field.
func (e *evaluator) appendLabel(dst []byte, l *label, index int) []byte {
	if l.fixed != "" {
		return e.record.AppendFixed(dst, l.fixed)
	}
	if v := e.field(index); v.Kind != message.Null {
		dst = append(dst, v.Text...)
	}
	return dst
}
