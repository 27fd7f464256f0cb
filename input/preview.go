package input

import (
	"logstow/record"
	"logstow/record/recognize"
)

// Preview tells which time and level a [Receiver] will give the events of a request, so that their attributes can have what that does
// not tell. Not safe for concurrent use.
type Preview struct {
	opts *Options
	read int64
	// of has the recognizer of each service: that of the source of its last event.
	of map[string]previewed
	// recognizer is that of the next events.
	recognizer *recognize.Recognizer
}

type previewed struct {
	source     string
	recognizer *recognize.Recognizer
}

// NewPreview makes a Preview for one request. The options must have their defaults.
func NewPreview(opts *Options) *Preview {
	return &Preview{opts: opts, read: opts.Now().UnixNano(), of: map[string]previewed{}}
}

// From begins events of a service and a source.
func (p *Preview) From(service, source string) {
	of, ok := p.of[service]
	if !ok || of.source != source {
		of = previewed{source, recognize.New(p.opts.Recognize)}
		p.of[service] = of
	}
	p.recognizer = of.recognizer
}

// Outcome is what becomes of an event.
type Outcome struct {
	// Time is the record's time, 0 if it is that of receiving or the event has none.
	Time int64
	// Rejected is set if the event has a time that is before 1990 or too far ahead.
	Rejected bool
	// Level is the record's level.
	Level record.Level
}

// Event previews the next event. Its source is that of From.
func (p *Preview) Event(e *Event) Outcome {
	made := Outcome{Level: e.Level}
	if e.Time != 0 {
		_, reason := p.recognizer.CheckTime(e.Time, p.read)
		made.Rejected = reason != recognize.Accepted
	}
	if !made.Rejected {
		made.Time = e.Time
	}
	from := p.opts.TimeFrom
	if from == TimeProtocol && e.Time != 0 && e.Level != record.None {
		return made
	}
	p.recognizer.Forget()
	stamp := p.recognizer.Stamp(e.Message, p.read, p.read)
	if made.Level == record.None {
		made.Level = stamp.Level
	}
	if !stamp.Found || stamp.Rejected != recognize.Accepted || from == TimeProtocol && e.Time != 0 {
		return made
	}
	if from == TimeLine || made.Time == 0 || stamp.Time <= made.Time {
		made.Time = stamp.Time
	}
	return made
}
