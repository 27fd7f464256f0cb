package input

import (
	"cmp"
	"slices"

	"logstow/record"
	"logstow/record/recognize"
)

// origin is where consecutive events come from.
type origin struct {
	// service is that of the records, name their source, and label its name in the log.
	service, name, label string
	// recognizer stamps the messages, in order.
	recognizer *recognize.Recognizer
	noted      *noted
}

// stamper makes records of events and collects them: with time and level, of limited length, and processed. All inputs use
// it. Not safe for concurrent use.
type stamper struct {
	opts *Options
	// read is the read time of the next events, ref the reference for times without a year, in Unix nanoseconds.
	read, ref int64
	// from decides which time counts if an event and its message both have one.
	from    TimeFrom
	records []record.Record
	// dropped is set if an event produced no record.
	dropped bool
	// ahead counts the collected records that are ahead of the clock; aheadName is the source of the last one.
	ahead     skewBatch
	aheadName string
}

// stamped is the time and the level of an event, and how they were found.
type stamped struct {
	recognize.Stamp
	// earlier is the earlier one of the time with which the event was sent and the read time.
	earlier int64
	// recognized is set if the message's time is considered.
	recognized bool
}

// add collects the record of an event, whose parts are those of [Event]. It does not copy attributes and message, unless the latter must
// be truncated to fit into a block. level takes precedence over the level in the message.
func (s *stamper) add(o *origin, attributes, message []byte, sent int64, level, fallback record.Level) {
	message = s.fit(o, message)
	stamp := s.stamp(o.recognizer, message, sent, level, fallback)
	s.collect(o, attributes, message, &stamp)
}

// event collects the record of an event, which has the time of receiving if it has no other. It stamps those that no Preview has stamped.
func (s *stamper) event(o *origin, e *Event) {
	if !e.previewed {
		o.recognizer.Forget()
		s.add(o, e.Attributes, e.Message, e.Time, e.Level, e.Fallback)
		return
	}
	stamp := stamped{Stamp: e.stamp, earlier: s.read, recognized: true}
	stamp.Time = cmp.Or(stamp.Time, s.read)
	if e.Time != 0 {
		sent, _ := o.recognizer.CheckTime(e.Time, s.read)
		stamp.earlier, stamp.recognized = min(sent, s.read), s.from != TimeProtocol
	}
	s.collect(o, e.Attributes, s.fit(o, e.Message), &stamp)
}

// fit returns the message, or a truncated copy that fits into a block.
func (s *stamper) fit(o *origin, message []byte) []byte {
	if len(message) > MinMaxRecord && (len(message) > maxText/2 || len(message) > s.opts.MaxRecord) {
		if text, truncated := truncate(message, s.opts.MaxRecord); truncated {
			s.noteTruncated(o, int64(len(message)))
			return text
		}
	}
	return message
}

// collect collects the record of a stamped message that fits into a block.
func (s *stamper) collect(o *origin, attributes, message []byte, stamp *stamped) {
	n := len(s.records)
	s.records = slices.Grow(s.records, 1)[:n+1]
	r := &s.records[n] // set in place: to copy it from the stack waits for the stores
	r.Time, r.Level, r.Source, r.Attributes, r.Message = stamp.Time, stamp.Level, o.name, attributes, message
	if s.ahead.add(stamp.Time, stamp.earlier) {
		s.aheadName = o.name
	}
	if s.opts.Process != nil && !s.opts.Process.Process(o.service, r) {
		s.records, s.dropped = s.records[:n], true
	}
	// What follows logs the processed message: processing redacts secrets.
	if stamp.Rejected != recognize.Accepted {
		s.noteRejectedTime(o, r.Message, stamp.Rejected)
	}
	if !stamp.Found && stamp.recognized && s.opts.Recognize.Rules.Times() {
		s.noteMissingTime(o, r.Message)
	}
	if stamp.recognized && stamp.ZoneAssumed {
		s.noteAssumedZone(o, r.Message)
	}
}

// stamp finds the time and the level of an event.
func (s *stamper) stamp(recognizer *recognize.Recognizer, message []byte, sent int64, level, fallback record.Level) (stamp stamped) {
	if sent == 0 {
		stamp = stamped{Stamp: recognizer.Stamp(message, s.read, s.ref), earlier: s.read, recognized: true}
	} else {
		stamp = s.choose(recognizer, message, sent, level)
	}
	switch {
	case level != record.None:
		stamp.Level = level
	case stamp.Level == record.None:
		stamp.Level = fallback
	}
	return stamp
}

// choose stamps the message of an event that was sent with a time.
func (s *stamper) choose(recognizer *recognize.Recognizer, message []byte, sent int64, level record.Level) (stamp stamped) {
	read := s.read
	sent, rejected := recognizer.CheckTime(sent, read)
	stamp.earlier = min(sent, read)
	if s.from == timeRuntime {
		read = sent
	}
	stamp.recognized = s.from != TimeProtocol
	if stamp.recognized || level == record.None {
		stamp.Stamp = recognizer.Stamp(message, read, read)
	}
	switch {
	case !stamp.recognized || !stamp.Found:
		stamp.Time, stamp.Rejected = sent, rejected
	case stamp.Rejected != recognize.Accepted:
		stamp.Time = sent
	case s.from == TimeLine || s.from == timeRuntime:
	case stamp.Time > sent && rejected == recognize.Accepted:
		stamp.Time = sent
	}
	return stamp
}

// Stamper makes records for an input that passes them to the sink itself and whose events have a time, which counts. Not
// safe for concurrent use.
type Stamper struct {
	stamper stamper
	origin  origin
	noted   noted
}

// NewStamper makes a Stamper. The options must have their defaults.
func NewStamper(opts *Options) *Stamper {
	s := &Stamper{stamper: stamper{opts: opts, from: TimeProtocol}, noted: noted{of: "input"}}
	s.origin = origin{service: opts.Service, recognizer: recognize.New(opts.Recognize), noted: &s.noted}
	return s
}

// Add collects the record of an event unless processing drops it. The event's source must be valid, and is used as it is. read
// is the read time in Unix nanoseconds.
func (s *Stamper) Add(e *Event, read int64) {
	s.origin.name, s.origin.label = e.Source, e.Source
	s.stamper.read, s.stamper.ref = read, read
	s.stamper.add(&s.origin, e.Attributes, e.Message, e.Time, e.Level, e.Fallback)
}

// Records returns the collected records, which are valid until Reset. Their messages are those of the events.
func (s *Stamper) Records() []record.Record { return s.stamper.records }

// Reset discards the records.
func (s *Stamper) Reset() {
	clear(s.stamper.records)
	s.stamper.records = s.stamper.records[:0]
}
