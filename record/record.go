// Package record defines a log record: its time, level, source, attributes and message, and the delimited text
// form in segments.
//
//	2026-11-20T15:04:05.123456789Z <TAB> ERROR <TAB> app.log <TAB> {"user":"ann"} <TAB> message
//
// Finding the time and the level of a raw line is the job of the package
// recognize below this one.
package record

import (
	"encoding/json"
	"iter"
	"time"
)

// MaxSize is the maximum size of a record's message in bytes that every reader accepts. Writers
// truncate longer messages with a visible mark, by default earlier.
const MaxSize = 16 << 20

// A Record is one log event.
//
// The zero Level is [None]. Message may contain any bytes, including newlines. It and Attributes may be views into
// larger buffers: a function that retains a Record must copy them.
type Record struct {
	// Time is the event's time in Unix nanoseconds, UTC.
	Time int64
	// Level is the severity found in the event, None if there was none.
	Level Level
	// Source is the origin of the record inside the instance; see [CleanSource].
	Source string
	// Attributes are what the sender says besides, in the form of package attributes; empty if there are none.
	Attributes []byte
	// Message is the event's bytes as logged, without the line's final newline.
	Message []byte
}

// Level is a record's severity. Levels compare: Warn < Error.
type Level uint8

// The level vocabulary, in order of severity. None stands for "no level found"
// and is written as "-".
const (
	None Level = iota
	Trace
	Debug
	Info
	Warn
	Error
	Fatal
	// Levels is the number of levels including None: the length of a table by level.
	Levels = int(Fatal) + 1
)

// Counts holds a number of records for each level, indexed by Level.
type Counts [Levels]uint64

// Add adds other counts.
func (c *Counts) Add(o Counts) {
	for l, n := range o {
		c[l] += n
	}
}

// Total is the number of records of all levels.
func (c Counts) Total() (n uint64) {
	for _, count := range c {
		n += count
	}
	return n
}

// All iterates over the counts that are not 0, in order of severity.
func (c Counts) All() iter.Seq2[Level, uint64] {
	return func(yield func(Level, uint64) bool) {
		for l, n := range c {
			if n > 0 && !yield(Level(l), n) {
				return
			}
		}
	}
}

// MarshalJSON encodes the counts that are not 0 by the names of their levels.
func (c Counts) MarshalJSON() ([]byte, error) {
	names := map[string]uint64{}
	for l, n := range c.All() {
		names[l.String()] = n
	}
	return json.Marshal(names)
}

// Minute counts the records of one minute by level.
type Minute struct {
	// Start is the minute's start in Unix seconds UTC.
	Start  int64
	Levels Counts
}

// MinuteOf returns the start of the minute that contains a time in Unix nanoseconds. The result is in
// Unix seconds, as in [Minute].
func MinuteOf(unixNano int64) int64 {
	const minute = int64(time.Minute)
	m := unixNano / minute
	if unixNano%minute < 0 {
		m--
	}
	return m * 60
}
