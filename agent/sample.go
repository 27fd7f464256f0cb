package agent

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"time"

	"logstow/buffer"
	"logstow/config"
	"logstow/input"
	"logstow/logmetrics"
	"logstow/message"
	"logstow/message/parse"
	"logstow/record"
	"logstow/record/recognize"
)

// TimeOrigin is the origin of a sampled record's time.
type TimeOrigin string

// The origins of times.
const (
	TimeOfLine     TimeOrigin = "line"
	TimeOfRuntime  TimeOrigin = "runtime"  // of the container runtime
	TimeOfPrevious TimeOrigin = "previous" // of the previous record
	TimeOfReading  TimeOrigin = "reading"
)

// SampledRecord is a record that [Run] would make of lines of a file.
type SampledRecord struct {
	// Line is the number of its first line, from 1; Lines is the number of its lines.
	Line, Lines int
	Time        time.Time
	TimeFrom    TimeOrigin
	// Rejected is the reason why the line's time was rejected.
	Rejected recognize.Reason
	Level    record.Level
	// Parse is the parser of its fields, in the form that a segment's footer contains.
	Parse string
	// Message is the message as stored. Fields are its fields in their order. Objects are not among
	// them, but their members are.
	Message string
	Fields  []SampledField
	// Dropped is set if processing drops the record.
	Dropped bool
}

// SampledField is a field of a message.
type SampledField struct {
	Name string
	Kind message.Kind
	Text string
}

// Sample returns the records that an input of files makes of lines. It stores nothing. now is the time
// of reading, ref the reference for times without a year.
func Sample(ctx context.Context, in *config.Input, lines io.Reader, now, ref time.Time) ([]SampledRecord, error) {
	p := &pipeline{Settings: Settings{Once: true}, log: slog.New(slog.DiscardHandler)}
	rules, err := p.processor(in)
	if err != nil {
		return nil, &SettingsError{err}
	}
	opts, err := p.inputOptions(in, rules, discard{})
	if err != nil {
		return nil, &SettingsError{err}
	}
	opts.Now = func() time.Time { return now }
	if opts, err = opts.WithDefaults(); err != nil {
		return nil, &SettingsError{err}
	}
	s := &sampler{
		inner:      opts.Process,
		recognizer: recognize.New(opts.Recognize),
		splitter:   opts.Recognize.Parser.Splitter(),
		configured: opts.Parse,
		parse:      opts.Parse,
		now:        now.UnixNano(),
		ref:        ref.UnixNano(),
		next:       1,
	}
	opts.Process = s
	feed, err := input.NewFeed(opts)
	if err != nil {
		return nil, err
	}
	src := feed.NewSource("sample")
	if err := feed.Read(ctx, src, lines, ref); err != nil {
		return nil, err
	}
	return s.records, feed.End(ctx, src, ref)
}

// SampleMetrics computes metrics from the records of a sample that are not dropped, as records of a
// service and source.
func SampleMetrics(specs []logmetrics.Spec, service, source, instance string, records []SampledRecord) ([]logmetrics.Summary, error) {
	set := logmetrics.New(instance)
	apply, err := set.Prepare(specs)
	if err != nil {
		return nil, &SettingsError{err}
	}
	apply()
	for i := range records {
		if r := &records[i]; !r.Dropped {
			set.Observe(service, r.Parse,
				[]record.Record{{Time: r.Time.UnixNano(), Level: r.Level, Source: source, Message: []byte(r.Message)}})
		}
	}
	return set.Summaries(), nil
}

// sampler is an [input.Processor] that collects the records.
type sampler struct {
	inner      input.Processor
	recognizer *recognize.Recognizer
	splitter   *parse.Splitter
	// configured is the input's parser; parse is the current one.
	configured, parse string
	// now and ref are Unix times in nanoseconds.
	now, ref int64
	// next is the number of the next line.
	next    int
	records []SampledRecord
}

func (s *sampler) Process(service string, r *record.Record) bool {
	one := SampledRecord{Line: s.next, Lines: 1 + bytes.Count(r.Message, []byte{'\n'}), Time: time.Unix(0, r.Time).UTC(), Level: r.Level}
	s.next += one.Lines
	stamp := s.recognizer.Stamp(r.Message, s.now, s.ref)
	one.Rejected = stamp.Rejected
	switch {
	case stamp.Found && stamp.Rejected == recognize.Accepted:
		one.TimeFrom = TimeOfLine
	case stamp.Found || r.Time == s.now:
		one.TimeFrom = TimeOfReading
	case len(s.records) > 0 && one.Time.Equal(s.records[len(s.records)-1].Time):
		one.TimeFrom = TimeOfPrevious
	default:
		one.TimeFrom = TimeOfRuntime
	}
	one.Dropped = s.inner != nil && !s.inner.Process(service, r)
	one.Message = string(r.Message)
	if parser, ok := parse.Header(s.configured, r.Message, len(s.records) == 0); ok {
		s.splitter, s.parse = parser.Splitter(), parser.Stored()
	}
	one.Parse = s.parse
	s.splitter.Split(r.Attributes, r.Message)
	for name, v := range s.splitter.All() {
		if v.IsObject() {
			continue // the loop returns its members too
		}
		one.Fields = append(one.Fields, SampledField{name, v.Kind, string(v.Text)})
	}
	s.records = append(s.records, one)
	return false
}

// discard is a sink that keeps nothing.
type discard struct{ input.Transient }

func (discard) Append(context.Context, buffer.Chunk) (buffer.LSN, error) { return 0, nil }
