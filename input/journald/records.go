package journald

import (
	"math"

	"logstow/buffer"
	"logstow/input"
	"logstow/record"
	"logstow/record/recognize"
)

const (
	// maxRecords and maxBytes limit the records that are collected before they are flushed.
	maxRecords, maxBytes = 1024, 1 << 20
	// info is the priority of all output of services.
	info = 6
)

// batch collects records until they are flushed.
type batch struct {
	opts *Options
	// recognizer finds levels; times are the journal's.
	recognizer *recognize.Recognizer
	records    []record.Record
	text       []byte
	ends       []int
	// size is how many bytes the messages had.
	size int64
	// cursor is the cursor of the last entry, which may have no record.
	cursor string
	// names are known sources, so that each is allocated once.
	names map[string]string
}

func newBatch(opts *Options) *batch {
	return &batch{opts: opts, recognizer: recognize.New(opts.Recognize), names: make(map[string]string)}
}

func (b *batch) full() bool { return len(b.records) >= maxRecords || len(b.text) >= maxBytes }

// add collects an entry.
func (b *batch) add(e *entry, read int64) {
	b.cursor = string(e.cursor)
	if !e.has {
		return
	}
	b.size += e.size
	message := e.message
	if e.size > int64(b.opts.MaxRecord) {
		b.opts.Stats.Cut.Add(1)
		message = input.Cut(message, b.opts.MaxRecord, e.size)
	}
	when, reason := b.recognizer.CheckTime(nanos(e.time), read)
	if reason != recognize.Accepted {
		b.opts.Stats.TimesRejected.Add(1)
	}
	r := record.Record{Time: when, Level: b.level(e, message), Source: b.source(e), Message: message}
	if b.opts.Process != nil && !b.opts.Process.Process(b.opts.Service, &r) {
		return
	}
	b.text = append(b.text, r.Message...)
	r.Message = nil
	b.records = append(b.records, r)
	b.ends = append(b.ends, len(b.text))
}

// nanos is a time of the journal's in nanoseconds.
func nanos(micros int64) int64 {
	const most = math.MaxInt64 / 1000
	return min(max(micros, -most), most) * 1000
}

// level returns the level of an entry. If its priority is missing or is the default for the output of a service, a
// level in the message takes precedence.
func (b *batch) level(e *entry, message []byte) record.Level {
	level := record.LevelFromSyslog(e.priority)
	if e.priority >= 0 && (e.priority != info || string(e.transport) != "stdout") {
		return level
	}
	if found := b.recognizer.Stamp(message, 0, 0).Level; found != record.None {
		return found
	}
	return level
}

// source returns UNIT/IDENTIFIER, without unknown parts.
func (b *batch) source(e *entry) string {
	name := append([]byte(b.opts.SourcePrefix), e.unit...)
	identifier := e.identifier
	if len(identifier) == 0 {
		identifier = e.command
	}
	if len(e.unit) > 0 && len(identifier) > 0 {
		name = append(name, '/')
	}
	name = append(name, identifier...)
	if s, ok := b.names[string(name)]; ok {
		return s
	}
	if len(b.names) >= maxRecords {
		clear(b.names)
	}
	s := record.CleanSource(string(name))
	b.names[string(name)] = s
	return s
}

// chunk returns the collected data. It is valid until reset.
func (b *batch) chunk(read int64) buffer.Chunk {
	start := 0
	for i, end := range b.ends {
		b.records[i].Message = b.text[start:end:end]
		start = end
	}
	return buffer.Chunk{
		Service: b.opts.Service, Class: b.opts.Class, Parse: b.opts.Parse, Read: read, Records: b.records,
		Positions: []buffer.Position{b.opts.position(b.cursor)},
	}
}

// reset discards the collected data.
func (b *batch) reset() {
	clear(b.records)
	b.records, b.text, b.ends, b.size, b.cursor = b.records[:0], b.text[:0], b.ends[:0], 0, ""
}
