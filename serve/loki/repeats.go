package loki

import (
	"strconv"

	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/record"
	"logstow/record/recognize"
)

// repeats finds what lines begin with that only repeats the time and level of their record. A nil one finds nothing.
type repeats struct{ recognizer *recognize.Recognizer }

// repeats returns the finder if the client requests it, for a client that shows time and level beside the line.
func (q *request) repeats() *repeats {
	if q.get("repeats") != "1" {
		return nil
	}
	return &repeats{recognize.New(recognize.Options{})}
}

// append appends the member "repeats" with the number of bytes, and before in front of it, if a line has any, and its first line
// more than these. They are ASCII, so that they are as many characters.
func (r *repeats) append(dst []byte, before string, e *engine.Entry) []byte {
	if r == nil {
		return dst
	}
	n := r.recognizer.RepeatedStart(e.Line, e.Time, record.LevelFromAlias(e.Stream.Get(labels.Level)))
	if n == 0 || n == len(e.Line) || e.Line[n] == '\n' || e.Line[n] == '\r' {
		return dst
	}
	for _, c := range e.Line[:n] {
		if c >= 0x80 {
			return dst
		}
	}
	return strconv.AppendInt(append(append(dst, before...), `"repeats":`...), int64(n), 10)
}
