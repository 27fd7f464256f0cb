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

// add collects the record of an event, whose parts are those of [Event]. It does not copy attributes and message, unless the latter must
// be truncated to fit into a block. level takes precedence over the level in the message. previewed is the event if a [Preview] has
// stamped it, otherwise nil.
func (s *stamper) add(o *origin, attributes, message []byte, sent int64, level, fallback record.Level, previewed *Event) {
	if len(message) > MinMaxRecord && (len(message) > maxText/2 || len(message) > s.opts.MaxRecord) {
		if text, truncated := truncate(message, s.opts.MaxRecord); truncated {
			s.noteTruncated(o, int64(len(message)))
			message = text
		}
	}
	var stamp recognize.Stamp
	var read int64
	var recognized, zoneAssumed bool
	if previewed == nil {
		stamp, read, recognized = s.stamp(o.recognizer, message, sent, level, fallback)
		zoneAssumed = o.recognizer.ZoneAssumed()
	} else {
		stamp, read, recognized = s.previewed(o.recognizer, previewed)
		zoneAssumed = previewed.zoneAssumed
	}
	n := len(s.records)
	s.records = slices.Grow(s.records, 1)[:n+1]
	r := &s.records[n] // set in place: to copy it from the stack waits for the stores
	r.Time, r.Level, r.Source, r.Attributes, r.Message = stamp.Time, stamp.Level, o.name, attributes, message
	if s.ahead.add(stamp.Time, read) {
		s.aheadName = o.name
	}
	if s.opts.Process != nil && !s.opts.Process.Process(o.service, r) {
		s.records, s.dropped = s.records[:n], true
	}
	// What follows logs the processed message: processing redacts secrets.
	if stamp.Rejected != recognize.Accepted {
		s.noteRejectedTime(o, r.Message, stamp.Rejected)
	}
	if !stamp.Found && recognized && s.opts.Recognize.Rules.Times() {
		s.noteMissingTime(o, r.Message)
	}
	if recognized && zoneAssumed {
		s.noteAssumedZone(o, r.Message)
	}
}

// stamp finds the time and the level of an event. It also returns the earlier one of the time with which it was sent and the read time,
// and whether the message's time is considered.
func (s *stamper) stamp(recognizer *recognize.Recognizer, message []byte, sent int64, level, fallback record.Level) (stamp recognize.Stamp, read int64, recognized bool) {
	read, recognized = s.read, true
	if sent == 0 {
		stamp = recognizer.Stamp(message, read, s.ref)
	} else {
		stamp, read, recognized = s.choose(recognizer, message, sent, level)
	}
	switch {
	case level != record.None:
		stamp.Level = level
	case stamp.Level == record.None:
		stamp.Level = fallback
	}
	return stamp, read, recognized
}

// previewed is stamp for an event that a Preview has stamped.
func (s *stamper) previewed(recognizer *recognize.Recognizer, e *Event) (stamp recognize.Stamp, read int64, recognized bool) {
	stamp = e.stamp
	stamp.Time = cmp.Or(stamp.Time, s.read)
	if e.Time == 0 {
		return stamp, s.read, true
	}
	sent, _ := recognizer.CheckTime(e.Time, s.read)
	return stamp, min(sent, s.read), s.from != TimeProtocol
}

// choose stamps the message of an event that was sent with a time. It also returns the earlier one of that time and the read time,
// and whether the message's time is considered.
func (s *stamper) choose(recognizer *recognize.Recognizer, message []byte, sent int64, level record.Level) (stamp recognize.Stamp, earlier int64, recognized bool) {
	read := s.read
	sent, rejected := recognizer.CheckTime(sent, read)
	earlier = min(sent, read)
	if s.from == timeRuntime {
		read = sent
	}
	recognized = s.from != TimeProtocol
	if recognized || level == record.None {
		stamp = recognizer.Stamp(message, read, read)
	}
	switch {
	case !recognized || !stamp.Found:
		stamp.Time, stamp.Rejected = sent, rejected
	case stamp.Rejected != recognize.Accepted:
		stamp.Time = sent
	case s.from == TimeLine || s.from == timeRuntime:
	case stamp.Time > sent && rejected == recognize.Accepted:
		stamp.Time = sent
	}
	return stamp, earlier, recognized
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
	s.stamper.add(&s.origin, e.Attributes, e.Message, e.Time, e.Level, e.Fallback, nil)
}

// Records returns the collected records, which are valid until Reset. Their messages are those of the events.
func (s *Stamper) Records() []record.Record { return s.stamper.records }

// Reset discards the records.
func (s *Stamper) Reset() {
	clear(s.stamper.records)
	s.stamper.records = s.stamper.records[:0]
}
