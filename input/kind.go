package input

import (
	"context"
	"time"

	"logstow/input/listen"
	"logstow/record"
	"logstow/watch"
)

// Spec is the configuration of an input of one kind. It is plain data, so that two of them can be compared. Package kinds
// lists all kinds.
type Spec interface {
	// Kind describes the kind of the input.
	Kind() Kind
	// Keys returns the keys of the configuration that only this kind has. They set fields of the Spec.
	Keys() []Key
	// Open opens the input. A listener is bound, but nothing is read yet. The caller must run the Reader or, if it is an
	// [io.Closer], close it.
	Open(ctx context.Context, with Opening) (Reader, error)
}

// Reader is an open input.
type Reader interface {
	// Run reads until ctx ends, or to the end of what there is to read.
	Run(ctx context.Context) error
}

// Kind describes a kind of input.
type Kind struct {
	// Name is the key that selects it in the configuration, and the name of its flag.
	Name string
	// Usage is the help of the flag, which is repeatable if the input listens. If it is empty, there is no flag.
	Usage string
	// CheckAddress checks an address of an input that listens. For others it is nil.
	CheckAddress func(address string) error
	// Files is set if it reads files. Paths are their paths and globs.
	Files bool
	Paths []string
	// Positions is set if it keeps positions in the buffer, at which it continues after a restart.
	Positions bool
	// Segments is set if it receives segments, which have service, class and parser. There may be one of these inputs.
	Segments bool
	// ServiceFromLabels and ServiceFromRecords are set if labels of records, or records, may name their service.
	ServiceFromLabels, ServiceFromRecords bool
}

// Key is a key of the configuration.
type Key struct {
	Name string
	// To receives the value. It is a pointer to a bool, a string, a list or map of strings, or a [Not]. Or it is a function that
	// is called if the key is given: a func(), or a func() []Key, whose keys are those of a section.
	To any
	// Check checks a string, or each of a list. It may be nil.
	Check func(value string) error
	// OneOf is set if at least one of the keys with OneOf is required.
	OneOf bool
	// ForPattern is set if the service must be a pattern.
	ForPattern bool
}

// Not is a bool that is set if the value of its key is false.
type Not *bool

// Opening is what an input is opened with. Each kind uses a part of it.
type Opening struct {
	Options
	listen.Endpoint
	// MaxOpen is the maximum number of open files.
	MaxOpen int
	// Once reads to the end and stops.
	Once bool
	// FromStart and FromEnd read what has no position from its start, or from its end also with Once.
	FromStart, FromEnd bool
	// Resume states that the positions survive the process.
	Resume bool
	// Skip are the directories that Logstow itself writes to.
	Skip []string
	// StopWait is the maximum time on shutdown for reading what there is by then.
	StopWait time.Duration
	// Instance is the instance of the shipper.
	Instance string
	// BufferID returns the ID of the buffer, see [buffer.Buffer.ID].
	BufferID func(context.Context) (string, error)
	// Observe is called with records that an input appends without a [Processor], and their instance; nil calls nothing.
	Observe func(service, parser, instance string, r *record.Record)
	// Senders are the shippers that send segments to an input and poll it for watches; nil is none.
	Senders *watch.Senders
	// Volatile is set if the buffer is in memory, DropsOldest if it drops its oldest records when it is full.
	Volatile, DropsOldest bool
	// Getenv looks up environment variables.
	Getenv func(string) string
}
