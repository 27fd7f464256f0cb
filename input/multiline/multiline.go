// Package multiline joins lines that belong together, such as those of a stack trace, into one
// event. A [Joiner] is a pure state machine for the lines of one stream: it has no clock and no
// goroutine.
//
// With [Options].Auto it recognizes the stack traces of Java, .NET, Node, Python, Go, Ruby, Rust, PHP and others, the
// reports of race detectors and sanitizers, the indented output of .NET's console logger and of pino-pretty, the
// messages of PostgreSQL, the slow log of MySQL, the history of apt and indented JSON. Lines behind the name of a container, as docker
// compose and kubectl write it, are joined by what stands behind it. A line joins only if both it
// and the preceding text match; if only a later line decides, up to 50 lines wait for it. Everything else stays an
// event of one line, and a line with a time of its own is never joined.
// With [Options].Start a line joins unless the expression matches it.
package multiline

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"logstow/internal/ansi"
	"logstow/record/recognize"
)

const (
	// DefaultTimeout is how long an event waits for its next line by default.
	DefaultTimeout = time.Second
	// DefaultMaxLines is the default limit of an event's lines.
	DefaultMaxLines = 1000
	// Mark ends the text of an event that reached a limit: the next event continues it.
	Mark = " …[logstow: goes on in the next record]"

	// maxPending and maxPendingBytes limit the lines that wait for a later one to decide.
	maxPending, maxPendingBytes = 50, 128 << 10
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
	// HasTime reports whether a line has a time of its own, so that Auto does not join it; nil is
	// [recognize.Recognizer.HasTime].
	HasTime func(line []byte) bool
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
	if o.Auto && o.HasTime == nil {
		o.HasTime = recognize.New(recognize.Options{}).HasTime
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
	// colored is set if the first line of held has escape sequences; plain is reused for its text without them.
	colored bool
	plain   []byte
	// wrapper is the length of what stands before the first line of held and must stand before the others; see recognize.WrapperEnd.
	wrapper int
	// begun is the state in which held began, state that after its last line.
	begun, state state
	// pending are lines after held that join only if a later one does; pendingSize is their length. The texts of
	// the first pendingOwned are copies.
	pending                   []pendingLine
	pendingSize, pendingOwned int
	// resume is the state in which the next event begins; see Resume.
	resume state
	// last is when the last line was added.
	last int64
}

// pendingLine is a line that waits, and the state that it leads to.
type pendingLine struct {
	Line
	state state
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
	j.add(l)
}

func (j *Joiner) add(l Line) {
	if j.held.Lines == 0 {
		text := withoutColors(l.Text)
		j.begin(l, opening(text[recognize.WrapperEnd(text):]))
		return
	}
	switch v, s := j.classify(l.Text); {
	case v == joins:
		j.joinPending(len(j.pending))
		j.join(l, s)
	case v == undecided && len(j.pending) < maxPending && j.pendingSize+len(l.Text) <= maxPendingBytes:
		j.pending = append(j.pending, pendingLine{l, s})
		j.pendingSize += len(l.Text)
	default:
		j.joinPending(j.complete(l.Text))
		j.release()
		j.add(l)
	}
}

// Single reports whether a line is an event of its own if it is added now, so that it need not be added; it emits the held event before
// it. next is the text that follows the line, as far as it was read. It is true for nearly all lines of JSON, and for those that begin
// with a digit of their time or address, as the next one does.
func (j *Joiner) Single(line, next []byte) bool {
	if !j.opts.Auto || j.resume != plain || len(line) <= 2 || len(j.pending) > 0 {
		return false
	}
	if line[0] == '{' {
		return j.held.Lines == 0
	}
	if !isDigit(line[0]) || len(next) == 0 || !isDigit(next[0]) || mayOpen(line) && opening(line) != plain {
		return false
	}
	if !sharesStart(line, next) || isPostgresField(line, next) {
		if v, _ := afterPlain(line, next); v != begins {
			return false
		}
	}
	if j.held.Lines > 0 {
		if v, _ := j.classify(line); v != begins {
			return false
		}
		j.emitHeld(false)
	}
	return true
}

// classify decides about the line after the held event and the pending lines.
func (j *Joiner) classify(line []byte) (action, state) {
	switch {
	case j.opts.Start != nil:
		if j.opts.Start.Match(line) {
			return begins, plain
		}
		return joins, plain
	case !j.opts.Auto:
		return begins, plain
	}
	from := j.state
	if n := len(j.pending); n > 0 {
		from = j.pending[n-1].state
	}
	line, text := withoutColors(line), j.heldText()
	if j.wrapper > 0 {
		wrapper := text[:j.wrapper]
		if !bytes.HasPrefix(line, bytes.TrimRight(wrapper, " ")) {
			return begins, plain
		}
		line, text = line[min(len(line), len(wrapper)):], text[len(wrapper):]
	}
	v, s := from.next(text, line)
	if v != begins && s.mayHaveTime(line) && j.opts.HasTime(line) {
		return begins, plain
	}
	return v, s
}

// heldText returns the text of the held event for a decision: without escape sequences if its first line has any.
func (j *Joiner) heldText() []byte {
	text := bytes.TrimPrefix(j.held.Text, []byte(orderMark))
	if !j.colored {
		return text
	}
	const maxText = 4 << 10 // decisions depend on the first lines
	j.plain = ansi.Strip(j.plain[:0], text[:min(len(text), maxText)])
	return j.plain
}

// orderMark is the byte order mark, which the first line of a file may have.
const orderMark = "\ufeff"

// withoutColors returns a line without a byte order mark and the escape sequences of terminals.
func withoutColors(line []byte) []byte {
	line = bytes.TrimPrefix(line, []byte(orderMark))
	if bytes.IndexByte(line, ansi.Escape) < 0 {
		return line
	}
	return ansi.Strip(nil, line)
}

// complete returns how many of the pending lines join the held event if the next line does not: the lines between a
// Python exception and a line with a time.
func (j *Joiner) complete(next []byte) int {
	n := len(j.pending)
	for n > 0 && j.pending[n-1].state == pyBlank {
		n--
	}
	if n > 0 && j.pending[n-1].state == pyMessage && j.opts.HasTime(next) {
		return n
	}
	return 0
}

// joinPending joins the first n pending lines.
func (j *Joiner) joinPending(n int) {
	if n == 0 {
		return
	}
	for _, p := range j.pending[:n] {
		j.join(p.Line, p.state)
		j.pendingSize -= len(p.Text)
	}
	j.pending, j.pendingOwned = slices.Delete(j.pending, 0, n), max(0, j.pendingOwned-n) // it keeps the capacity
}

// release emits the held event, and adds the pending lines again.
func (j *Joiner) release() {
	pending := j.pending
	j.pending, j.pendingSize, j.pendingOwned = nil, 0, 0
	j.emitHeld(false)
	for _, p := range pending {
		j.add(p.Line)
	}
}

// begin holds a line as the first of an event.
func (j *Joiner) begin(l Line, s state) {
	if j.resume != plain {
		s, j.resume = j.resume, plain
	}
	j.held, j.owned = Event{Line: l, Lines: 1}, false
	j.begun, j.state = s, s
	j.colored = bytes.IndexByte(l.Text, ansi.Escape) >= 0
	j.wrapper = recognize.WrapperEnd(withoutColors(l.Text))
	if j.opts.Auto && (s == closed || s == plain && isObject(l.Text)) {
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
	if j.state = s; s == closed {
		j.emitHeld(false)
	}
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
	for i := j.pendingOwned; i < len(j.pending); i++ {
		j.pending[i].Text = bytes.Clone(j.pending[i].Text)
	}
	j.pendingOwned = len(j.pending)
}

// End emits everything held.
func (j *Joiner) End() {
	for j.held.Lines > 0 {
		j.release()
	}
}

// EndSingle emits the held event if Auto knows nothing that joins it: a line after which none is expected.
func (j *Joiner) EndSingle() {
	if j.opts.Auto && j.held.Lines == 1 && j.state == plain && len(j.pending) == 0 {
		j.emitHeld(false)
	}
}

// Flush emits the held event if no line was added for timeout, in nanoseconds. If the clock went back, the time begins again.
func (j *Joiner) Flush(now, timeout int64) {
	if j.last = min(j.last, now); now-j.last >= timeout {
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

// Continue makes a Joiner without lines hold what another one holds, in copies. start replaces the start of the lines.
func (j *Joiner) Continue(from *Joiner, start int64) {
	j.held, j.owned, j.colored, j.wrapper = from.held, false, from.colored, from.wrapper
	j.held.Start = start
	j.begun, j.state, j.last = from.begun, from.state, from.last
	j.pending, j.pendingSize, j.pendingOwned = slices.Clone(from.pending), from.pendingSize, 0
	for i := range j.pending {
		j.pending[i].Start = start
	}
	j.Own()
}
