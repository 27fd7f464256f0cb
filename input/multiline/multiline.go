// Package multiline joins lines that belong together, such as those of a stack trace, into one
// event. A [Joiner] is a pure state machine for the lines of one stream: it has no clock and no
// goroutine.
//
// With [Options].Auto it recognizes the stack traces of Java, .NET, Node, Python, Go, Ruby and PHP,
// and the indented output of .NET's console logger. A line joins only if both it and the preceding
// text match; if only the next line decides, one line waits for it. Everything else stays an event
// of one line. With [Options].Start a line joins unless the expression matches it.
package multiline

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

const (
	// DefaultTimeout is how long an event waits for its next line by default.
	DefaultTimeout = time.Second
	// DefaultMaxLines is the default limit of an event's lines.
	DefaultMaxLines = 1000
	// Mark ends the text of an event that reached a limit: the next event continues it.
	Mark = " …[logstow: goes on in the next record]"
)

// Options configure joining. The zero value joins nothing.
type Options struct {
	// Auto joins by the built-in rules.
	Auto bool
	// Start matches the first lines of events; all other lines join. It excludes Auto.
	Start *regexp.Regexp
	// Timeout is how long an event waits for its next line; 0 is [DefaultTimeout]. It is for the
	// caller of [Joiner.Flush]; [Joiner] ignores it.
	Timeout time.Duration
	// MaxLines is the limit on an event's lines; 0 is [DefaultMaxLines].
	MaxLines int
	// MaxBytes is the limit on an event's text, [Mark] included; 0 is none.
	MaxBytes int
}

// Enabled reports whether anything may be joined.
func (o Options) Enabled() bool { return o.Auto || o.Start != nil }

// WithDefaults fills in defaults and validates the options.
func (o Options) WithDefaults() (Options, error) {
	if o.Auto && o.Start != nil {
		return o, errors.New("multi-line: auto cannot be used together with a start expression")
	}
	if o.Timeout < 0 {
		return o, fmt.Errorf("multi-line timeout %v: it must not be negative", o.Timeout)
	}
	if o.MaxLines < 0 || o.MaxBytes < 0 {
		return o, fmt.Errorf("multi-line limits of %d lines and %d bytes: they must not be negative", o.MaxLines, o.MaxBytes)
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxLines == 0 {
		o.MaxLines = DefaultMaxLines
	}
	return o, nil
}

// Line is a line without its newline.
type Line struct {
	// Text is not retained past the next call of [Joiner.Own].
	Text []byte
	// Start and Time are the caller's: an event has those of its first line.
	Start, Time int64
}

// Event is one line or several, joined with newlines.
type Event struct {
	// Line is the event's text with the caller's fields of its first line. The text of an event of
	// one line is the added one; that of others belongs to the receiver.
	Line
	// Lines is how many there are, at least 1.
	Lines int
	// More is set if it reached a limit, and the next event continues it.
	More bool
}

// Joiner joins the lines of one stream. It is not safe for concurrent use.
type Joiner struct {
	opts Options
	emit func(Event)
	// held is the event that may continue. It has no lines if there is none.
	held Event
	// owned is set if held.Text is a buffer of the Joiner.
	owned bool
	// begun is the state in which held began, state that after its last line.
	begun, state state
	// pending is a line after held that joins only if the next one does; next is the state it leads
	// to.
	pending    Line
	hasPending bool
	next       state
	// resume is the state in which the next event begins; see Resume.
	resume state
	// last is when the last line was added.
	last int64
}

// New returns a Joiner. Its other methods call emit with events, in order. emit must not call methods of the
// Joiner.
func New(opts Options, emit func(Event)) (*Joiner, error) {
	opts, err := opts.WithDefaults()
	if err != nil {
		return nil, err
	}
	return &Joiner{opts: opts, emit: emit}, nil
}

// Add adds the next line of the stream. now is when it was read, in the unit of [Joiner.Flush].
func (j *Joiner) Add(l Line, now int64) {
	j.last = now
	if j.held.Lines == 0 {
		j.begin(l, opening(l.Text))
		return
	}
	switch v, s := j.classify(l.Text); v {
	case joins:
		if j.hasPending {
			j.hasPending = false
			j.join(j.pending, j.next)
		}
		j.join(l, s)
	case undecided:
		j.pending, j.next, j.hasPending = l, s, true
	default:
		j.emitHeld(false)
		if j.hasPending {
			j.hasPending = false
			j.begin(j.pending, opening(j.pending.Text))
			j.Add(l, now)
			return
		}
		j.begin(l, opening(l.Text))
	}
}

// classify decides about the line after the held event.
func (j *Joiner) classify(line []byte) (action, state) {
	switch {
	case j.opts.Start != nil:
		if j.opts.Start.Match(line) {
			return begins, plain
		}
		return joins, plain
	case !j.opts.Auto:
		return begins, plain
	case j.hasPending:
		return j.next.next(j.held.Text, line)
	}
	return j.state.next(j.held.Text, line)
}

// begin holds a line as the first of an event.
func (j *Joiner) begin(l Line, s state) {
	if j.resume != plain {
		s, j.resume = j.resume, plain
	}
	j.held, j.owned = Event{Line: l, Lines: 1}, false
	j.begun, j.state = s, s
	if j.opts.Auto && s == plain && isObject(l.Text) {
		j.emitHeld(false) // no line can join it
	}
}

// join adds a line to the held event. Past a limit it begins another event, which continues in the
// state that the line leads to.
func (j *Joiner) join(l Line, s state) {
	size := len(j.held.Text) + 1 + len(l.Text) + len(Mark)
	if j.held.Lines >= j.opts.MaxLines || j.opts.MaxBytes > 0 && size > j.opts.MaxBytes {
		j.emitHeld(true)
		j.begin(l, s)
		return
	}
	j.copyHeld(max(size, 1024))
	j.held.Text = append(append(j.held.Text, '\n'), l.Text...)
	j.held.Lines++
	j.state = s
}

// copyHeld copies the held text to a buffer of the Joiner of at least the given size.
func (j *Joiner) copyHeld(size int) {
	if j.owned || j.held.Lines == 0 {
		return
	}
	j.held.Text = append(make([]byte, 0, max(size, len(j.held.Text))), j.held.Text...)
	j.owned = true
}

// emitHeld emits the held event, without a pending line.
func (j *Joiner) emitHeld(more bool) {
	e := j.held
	if more && (j.opts.MaxBytes == 0 || len(e.Text)+len(Mark) <= j.opts.MaxBytes) {
		j.copyHeld(len(e.Text) + len(Mark))
		e.Text = append(j.held.Text, Mark...)
	}
	e.More = more
	j.held, j.owned = Event{}, false
	j.emit(e)
}

// Own copies the held lines, so that the caller may overwrite their texts.
func (j *Joiner) Own() {
	j.copyHeld(0)
	if j.hasPending {
		j.pending.Text = append([]byte(nil), j.pending.Text...)
	}
}

// End emits everything held.
func (j *Joiner) End() {
	if j.held.Lines > 0 {
		j.emitHeld(false)
	}
	if j.hasPending {
		j.hasPending = false
		j.emit(Event{Line: j.pending, Lines: 1})
	}
}

// Flush emits the held event if no line was added after before.
func (j *Joiner) Flush(before int64) {
	if j.last <= before {
		j.End()
	}
}

// Held returns the start of the held event and the state in which it began. A Joiner to which the state is passed
// with [Joiner.Resume] and then the lines from start on are added holds the same event. ok is false if no event is
// held.
func (j *Joiner) Held() (start int64, state byte, ok bool) {
	return j.held.Start, byte(j.begun), j.held.Lines > 0
}

// Resume sets the state in which the next event begins, which [Joiner.Held] has returned.
func (j *Joiner) Resume(s byte) {
	if state(s) < states {
		j.resume = state(s)
	}
}
