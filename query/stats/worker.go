package stats

import (
	"logstow/message"
	"logstow/query/aggregate"
	"logstow/query/fetch"
	"logstow/query/match"
	"logstow/query/merge"
	"logstow/query/source"

	"logstow/field"
	"logstow/field/where"
	"logstow/message/parse"
	"logstow/record"
)

// worker adds records to an aggregation. Not safe for concurrent use.
type worker struct {
	*Computation
	*aggregate.Worker
	matcher *match.Matcher
	// footers decides what was counted by metadata and footers; nil if nothing was. counted is set if minutes of segment, the segment of
	// the last record, may have been.
	footers *answerable
	counted bool
	segment *source.Segment
	// position is the number of records.
	position   uint64
	record     aggregate.Record
	message    record.Message
	text       []byte // the values of fixed fields
	splitters  parse.Splitters
	splitter   *parse.Splitter
	evaluators *where.Evaluators
	// input is the current record.
	input where.Record
	// expression evaluates the conditions on columns; holds has the results for the records of a block.
	expression match.Expression
	holds      [][]bool
}

func newWorker(c *Computation, all *aggregate.Aggregation, m *match.Matcher) *worker {
	return &worker{Computation: c, Worker: all.Worker(), matcher: m, evaluators: c.conditions.Evaluators()}
}

// Text implements [merge.Worker].
func (w *worker) Text(t *fetch.Task, origin *source.Segment, line []byte, columns *record.Columns) error {
	if t.Segment != w.segment {
		w.begin(t.Segment)
	}
	at, err := w.time(line)
	if err != nil || w.counted && w.footers.countedMinute(at) {
		return err
	}
	if w.plan.Ordered {
		w.position++
		w.record.Sequence = merge.AppendPosition(w.record.Sequence[:0], origin, t.Block.Index, w.position)
	}
	return w.add(origin, t.Segment.Name.Service, at, columns)
}

// begin makes a segment that of the following records.
func (w *worker) begin(s *source.Segment) {
	w.segment, w.counted = s, w.footers != nil && w.footers.answers(s)
	if names := w.conditions.Names; len(names) > 0 {
		w.splitter = w.splitters.Of(w.matcher.FieldsOf(s.Meta.Parse).Parser, names...)
		w.input.Fields = w.splitter
	}
}

// time returns the time of a stored record, or 0 if times are not needed.
func (w *worker) time(line []byte) (int64, error) {
	if !w.timed {
		return 0, nil
	}
	return record.ParseTime(line[:record.TimeLen])
}

// add adds a record of a service.
func (w *worker) add(origin *source.Segment, service string, at int64, f *record.Columns) error {
	w.record.Time, w.record.Values, w.text = at, w.record.Values[:0], w.text[:0]
	in := &w.input
	in.Time, in.Level, in.Service, in.Source, in.Instance = at, f.Level, service, f.Source, origin.Meta.Instance
	if w.messages {
		w.message.Decode(f.Raw)
		in.Message = w.message
	}
	if w.splitter != nil {
		w.splitter.Split(f.Attributes, w.message)
	}
	next := 0
	for i := range w.values {
		if f := w.values[i].Fixed; f == "" {
			w.record.Values = append(w.record.Values, w.splitter.Value(next))
			next++
		} else {
			w.record.Values = append(w.record.Values, w.fixed(f))
		}
	}
	w.evaluate()
	return w.Add(&w.record)
}

// evaluate evaluates the conditions on w.input and sets the results in w.record.
func (w *worker) evaluate() {
	w.record.Holds = w.record.Holds[:0]
	for i := range w.conditions.Programs {
		w.record.Holds = append(w.record.Holds, w.evaluators.Holds(i, &w.input))
	}
}

// fixed returns the value of a fixed field of w.input. A record without a level has no value.
func (w *worker) fixed(f field.Fixed) message.Value {
	if f == field.Level && w.input.Level == record.None {
		return message.Value{}
	}
	text := w.message
	if f != field.Message {
		start := len(w.text)
		w.text = w.input.AppendFixed(w.text, f)
		text = w.text[start:]
	}
	return message.Value{Kind: message.String, Text: text}
}
