package input

import (
	"logstow/record"
	"logstow/record/recognize"
)

// Preview stamps the events of a request before a [Receiver] with the same options does it, so that their attributes can have what their
// time and level do not tell. Not safe for concurrent use.
type Preview struct {
	stamper stamper
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
	read := opts.Now().UnixNano()
	return &Preview{stamper: stamper{opts: opts, read: read, ref: read, from: opts.TimeFrom}, of: map[string]previewed{}}
}

// From begins events of a service and a source.
func (p *Preview) From(service, source string) {
	of, ok := p.of[service]
	if !ok || of.source != source {
		of = previewed{source, recognize.New(p.stamper.opts.Recognize)}
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

// Event stamps the next event, which has all but its attributes. Its source is that of From.
func (p *Preview) Event(e *Event) Outcome {
	p.recognizer.Forget()
	e.stamp, _, _ = p.stamper.stamp(p.recognizer, e.Message, e.Time, e.Level, e.Fallback)
	e.previewed, e.zoneAssumed = true, p.recognizer.ZoneAssumed()
	if e.stamp.Time == p.stamper.read {
		e.stamp.Time = 0
	}
	made := Outcome{Time: e.stamp.Time, Level: e.stamp.Level}
	if e.Time != 0 {
		_, reason := p.recognizer.CheckTime(e.Time, p.stamper.read)
		made.Rejected = reason != recognize.Accepted
	}
	return made
}
