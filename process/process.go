// Package process changes and drops records between an input and the buffer: it
// takes secrets out, leaves out what nobody wants, keeps one of many, and bounds
// how many records a service may log. What it decides is final: the buffer, and
// a replay of it, hold its result alone.
package process

import (
	"log/slog"
	"regexp"
	"time"

	"logstow/input"
	"logstow/record"
)

// Options say what is done, in the order of the fields. The zero value does nothing.
type Options struct {
	// Redact are names of built-in kinds of secrets, see [Kinds]; "all" is all of them.
	Redact []string
	// Replace are expressions of the user's own.
	Replace []Replacement
	// Drop are rules; a record that fulfils one is dropped.
	Drop []Rule
	// Keep are rules; where there are any, a record that fulfils none is dropped.
	Keep []Rule
	// Sample are rules; of the records that fulfil one, one in so many is kept. The
	// first rule that a record fulfils counts.
	Sample []Sample
	// RateLimit is how many records a second of a service are kept, Burst how many at
	// once; 0 is no limit, and a Burst of 0 is the records of one second.
	RateLimit float64
	Burst     int
	// ByteLimit and ByteBurst are the same for the bytes of messages. A record longer
	// than the burst passes when the whole burst is there.
	ByteLimit, ByteBurst int64
	// Stats counts what is done, if not nil.
	Stats *Stats
	// Now is the clock of the rate limit; default [time.Now].
	Now func() time.Time
	// Log is told what is done, each reason at most once a minute; nil is silence.
	Log *slog.Logger
}

// Replacement puts something in the place of what an expression matches.
type Replacement struct {
	Regexp *regexp.Regexp
	// With may name groups, as [regexp.Regexp.Expand] has them; "" is [redacted].
	With string
}

// Rule is a condition on a record: all that is set must hold.
type Rule struct {
	// Levels must have the record's level.
	Levels record.LevelSet
	// Contains are texts; the message must hold one of them.
	Contains []string
	// Regexp must match the message.
	Regexp *regexp.Regexp
}

// Sample keeps the first of each OneIn records that fulfil its rule.
type Sample struct {
	Rule
	OneIn int
}

// processor does what Options say. Safe for concurrent use.
type processor struct {
	redactors  []redactor
	drop, keep []matcher
	samples    []*sampler
	limit      *limiter

	dropped, notKept *tally
}

// New makes what inputs call for each record; it is nil where nothing is to be
// done. The error is an unknown kind, or a value out of range.
func New(opts Options) (input.Processor, error) {
	if opts.Stats == nil {
		opts.Stats = new(Stats)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	p := &processor{dropped: opts.dropTally(reasonDrop), notKept: opts.dropTally(reasonKeep)}
	var err error
	if p.redactors, err = redactors(&opts); err != nil {
		return nil, err
	}
	p.drop, p.keep = matchers(opts.Drop), matchers(opts.Keep)
	if p.samples, err = samplers(&opts); err != nil {
		return nil, err
	}
	if p.limit, err = newLimiter(&opts); err != nil {
		return nil, err
	}
	if len(p.redactors)+len(p.drop)+len(p.keep)+len(p.samples) == 0 && p.limit == nil {
		return nil, nil //nolint:nilnil // documented: no processor, no cost
	}
	return p, nil
}

// Process implements [input.Processor].
func (p *processor) Process(service string, r *record.Record) bool {
	if len(p.redactors) > 0 {
		var seen byteSet // what redactors put in holds no secrets
		seen.add(r.Message)
		for i := range p.redactors {
			r.Message = p.redactors[i].redact(r.Message, &seen)
		}
	}
	if matchesAny(p.drop, r) {
		p.dropped.add()
		return false
	}
	if len(p.keep) > 0 && !matchesAny(p.keep, r) {
		p.notKept.add()
		return false
	}
	for _, s := range p.samples {
		if s.matches(r) {
			if !s.sample() {
				return false
			}
			break
		}
	}
	return p.limit == nil || p.limit.allow(service, len(r.Message))
}
