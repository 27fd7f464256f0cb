// Package process changes and drops records between an input and the buffer: it redacts secrets,
// filters, samples, and limits the rate of records per service. Its decisions are final: the
// buffer, and a replay of it, contain only the result.
package process

import (
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"logstow/input"
	"logstow/internal/logging"
	"logstow/record"
	"logstow/record/attributes"
)

// Options configure processing, in the order of the fields. The zero value does nothing.
type Options struct {
	// Redact are names of built-in kinds of secrets, see [Kinds]; "all" is all of them.
	Redact []string
	// Replace are user-defined expressions.
	Replace []Replacement
	// Drop are rules; a record that matches one is dropped.
	Drop []Rule
	// Keep are rules; if there are any, a record that matches none is dropped.
	Keep []Rule
	// Sample are rules; of the records that match one, one in OneIn is kept. The first matching
	// rule counts.
	Sample []Sample
	// KeepAttributes and DropAttributes are globs of the names of attributes that stay and that are removed, as for
	// [attributes.NewSelection]. Redaction and rules see all of them.
	KeepAttributes, DropAttributes []string
	// LabelAttributes are globs of the names of attributes that become labels of streams, as for [attributes.NewLabeler], unless they were
	// removed.
	LabelAttributes []string
	// RateLimit is how many records per second are kept per service, Burst how many at once. A RateLimit
	// of 0 is unlimited; a Burst of 0 means as many as one second allows.
	RateLimit float64
	Burst     int
	// ByteLimit and ByteBurst are the same for the bytes of messages. A record longer than the
	// burst passes when the whole burst is available.
	ByteLimit, ByteBurst int64
	// Parse is the parser of the fields that rules use, in the form of [parse.Parser.Stored]; "" is auto. Instance is that of the records.
	Parse, Instance string
	// Stats counts the results, if not nil.
	Stats *Stats
	// Observer gets every record, if not nil.
	Observer Observer
	// Now is the clock of the rate limit; default [time.Now].
	Now func() time.Time
	// Log receives a message for each reason, at most once per minute; nil discards them.
	Log *slog.Logger
}

// Observer gets the results of processing. Safe for concurrent use.
type Observer interface {
	// Enabled reports whether to observe the next record.
	Enabled() bool
	// Observe gets a record after redaction, the kinds of secrets that were redacted, and the reason
	// why it is dropped, as in [Stats.Counts]; "" means that it is kept. It must not retain them.
	Observe(service string, r *record.Record, redacted []string, dropped string)
}

// Replacement replaces the matches of an expression.
type Replacement struct {
	Regexp *regexp.Regexp
	// With may refer to groups as in [regexp.Regexp.Expand]; "" means "[redacted]".
	With string
}

// Rule is a condition on a record: all fields that are set must match.
type Rule struct {
	// Levels must contain the record's level.
	Levels record.LevelSet
	// Contains are texts; the message or a string among the attributes must contain one of them.
	Contains []string
	// Regexp must match the message or a string among the attributes.
	Regexp *regexp.Regexp
	// Where is a condition that [where.CompileUntimed] accepts.
	Where string
}

// Sample keeps the first of each OneIn records that match its rule.
type Sample struct {
	Rule
	OneIn int
}

// processor applies Options. Safe for concurrent use.
type processor struct {
	redactor   *redactor
	drop, keep []matcher
	samples    []*sampler
	conditions *conditions
	selection  *attributes.Selection
	labeler    *attributes.Labeler
	limit      *limiter

	dropped, notKept *tally
	observer         Observer
}

// New returns the processor for inputs; it is nil if there is nothing to do. The error reports an
// unknown kind of secret, or a value out of range.
func New(opts Options) (input.Processor, error) {
	if opts.Stats == nil {
		opts.Stats = new(Stats)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.Log = logging.OrDiscard(opts.Log)
	p := &processor{dropped: opts.dropTally(reasonDrop), notKept: opts.dropTally(reasonKeep), observer: opts.Observer}
	var err error
	if p.redactor, err = newRedactor(&opts); err != nil {
		return nil, err
	}
	if err = p.addRules(&opts); err != nil {
		return nil, err
	}
	if p.selection, err = attributes.NewSelection(opts.KeepAttributes, opts.DropAttributes); err != nil {
		return nil, err
	}
	if p.labeler, err = attributes.NewLabeler(opts.LabelAttributes); err != nil {
		return nil, err
	}
	if p.limit, err = newLimiter(&opts); err != nil {
		return nil, err
	}
	if len(p.drop)+len(p.keep)+len(p.samples) == 0 && p.redactor == nil && p.selection == nil && p.labeler == nil &&
		p.limit == nil && p.observer == nil {
		return nil, nil //nolint:nilnil // documented: no processor, no cost
	}
	return p, nil
}

// addRules compiles the rules.
func (p *processor) addRules(opts *Options) (err error) {
	if p.conditions, err = newConditions(opts.Parse, opts.Instance); err != nil {
		return err
	}
	if p.drop, err = p.conditions.matchers(opts.Drop); err != nil {
		return fmt.Errorf("drop: %w", err)
	}
	if p.keep, err = p.conditions.matchers(opts.Keep); err != nil {
		return fmt.Errorf("keep: %w", err)
	}
	p.samples, err = samplers(opts, p.conditions)
	return err
}

// Process implements [input.Processor].
func (p *processor) Process(service string, r *record.Record) bool {
	if p.observer == nil || !p.observer.Enabled() {
		return p.process(service, r, nil) == ""
	}
	var redacted []string
	dropped := p.process(service, r, &redacted)
	p.observer.Observe(service, r, redacted, dropped)
	return dropped == ""
}

// process returns the reason why a record is dropped, "" if it is kept. It appends the kinds of secrets
// that it redacts to redacted, if that is not nil.
func (p *processor) process(service string, r *record.Record, redacted *[]string) (dropped string) {
	if p.redactor != nil {
		p.redactor.redact(r, redacted)
	}
	if len(p.drop)+len(p.keep)+len(p.samples) > 0 {
		if dropped = p.rule(service, r); dropped != "" {
			return dropped
		}
	}
	if p.selection != nil {
		r.Attributes = p.selection.Apply(r.Attributes)
	}
	if p.labeler != nil && len(r.Attributes) > 0 {
		r.Attributes = p.labeler.Apply(r.Attributes)
	}
	if p.limit != nil && !p.limit.allow(service, len(r.Message)) {
		return reasonLimit
	}
	return ""
}

// rule returns the kind of rule that drops a record, "" if there is none.
func (p *processor) rule(service string, r *record.Record) (dropped string) {
	e := p.conditions.get(service, r)
	defer p.conditions.put(e)
	if matchesAny(p.drop, r, e) {
		p.dropped.add()
		return reasonDrop
	}
	if len(p.keep) > 0 && !matchesAny(p.keep, r, e) {
		p.notKept.add()
		return reasonKeep
	}
	for _, s := range p.samples {
		if s.matches(r, e) {
			if !s.sample() {
				return reasonSample
			}
			break
		}
	}
	return ""
}
