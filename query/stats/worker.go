package stats

import (
	"logstow/message"
	"logstow/query/aggregate"
	"logstow/query/match"
	"logstow/query/source"

	"logstow/field/where"
	"logstow/message/parse"
	"logstow/record"
)

// worker adds records to an aggregation. Not safe for concurrent use.
type worker struct {
	*Computation
	*aggregate.Worker
	record     aggregate.Record
	message    []byte
	times      []byte
	parser     *parse.Parser
	splitter   *parse.Splitter
	evaluators []*where.Evaluator
	// input is the current record as the input of the conditions.
	input where.Record
	// holds and batcher evaluate columns.
	holds   []match.Expression
	batcher *aggregate.Batcher
}

// use sets the parser of the following records.
func (w *worker) use(parser *parse.Parser) {
	if w.parser != parser && len(w.names) > 0 {
		w.parser, w.splitter = parser, parser.Splitter(w.names...)
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
	w.record.Time = at
	decoded := len(w.names) == 0
	decode := func() {
		if !decoded {
			w.message, decoded = record.AppendMessage(w.message[:0], f.Raw), true
			w.splitter.Split(w.message)
		}
	}
	w.record.Values = w.record.Values[:0]
	for _, v := range w.values {
		if v.kind == fieldValue {
			decode()
			w.record.Values = append(w.record.Values, w.splitter.Value(v.index))
		} else {
			w.record.Values = append(w.record.Values, w.fixed(v.kind, origin, service, at, f))
		}
	}
	if len(w.conditions) > 0 {
		decode()
		w.input = where.Record{Time: at, Level: f.Level, Service: service, Source: f.Source, Instance: origin.Meta.Instance, Message: w.message}
		if w.splitter != nil {
			w.input.Fields = w.splitter
		}
		if err := w.evaluate(&w.input); err != nil {
			return err
		}
	}
	return w.Add(&w.record)
}

// evaluate evaluates the conditions on a record and sets the results in w.record.
func (w *worker) evaluate(r *where.Record) error {
	if err := w.makeEvaluators(); err != nil {
		return err
	}
	w.record.Holds = w.record.Holds[:0]
	for i, e := range w.evaluators {
		r.First = w.offsets[i]
		w.record.Holds = append(w.record.Holds, e.Holds(r))
	}
	return nil
}

// makeEvaluators makes the evaluators of the conditions on the first call.
func (w *worker) makeEvaluators() error {
	for _, program := range w.conditions[len(w.evaluators):] {
		e, err := program.Evaluator()
		if err != nil {
			return err
		}
		w.evaluators = append(w.evaluators, e)
	}
	return nil
}

// fixed returns the value of a fixed field of a record. A record without a level has no value.
func (w *worker) fixed(kind valueKind, origin *source.Segment, service string, at int64, f *record.Columns) message.Value {
	text := func(b []byte) message.Value { return message.Value{Kind: message.String, Text: b} }
	switch kind {
	case timeValue:
		w.times = record.AppendTime(w.times[:0], at)
		return text(w.times)
	case levelValue:
		if f.Level == record.None {
			return message.Value{}
		}
		return text([]byte(f.Level.String()))
	case serviceValue:
		return text([]byte(service))
	case instanceValue:
		return text([]byte(origin.Meta.Instance))
	case sourceValue:
		return text(f.Source)
	}
	w.message = record.AppendMessage(w.message[:0], f.Raw)
	return text(w.message)
}
