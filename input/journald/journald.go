// Package journald reads the systemd journal with its own program, journalctl.
//
// The position, a cursor, is kept in the buffer and committed together with the records up to it,
// so that after a crash reading resumes where the buffer ends.
//
// # What a record holds
//
// The message is the field MESSAGE, byte for byte, including newlines and non-text bytes; an entry
// without that field is skipped. The time is when the journal received the entry. The source is
// UNIT/IDENTIFIER: _SYSTEMD_UNIT and SYSLOG_IDENTIFIER, or _COMM if there is none, without unknown
// parts. The level is derived from PRIORITY. The output of services always has the priority info, so a
// level in its message takes precedence. All other fields are attributes with their names.
package journald

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"time"

	"logstow/buffer"
	"logstow/input"
	"logstow/internal/retry"
)

// DefaultCommand is the program that reads the journal.
const DefaultCommand = "journalctl"

const (
	// minBackoff and maxBackoff bound the delay before journalctl is restarted.
	minBackoff, maxBackoff = time.Second, time.Minute
	// stopTimeout is how long journalctl may take to exit after its signal.
	stopTimeout = 5 * time.Second
)

// Spec configures the input and selects entries of the journal.
type Spec struct {
	// Name distinguishes several journal inputs of one buffer: letters, digits and . _ -, or "".
	Name string
	// Units are names or patterns of units, as for journalctl --unit; empty is all.
	Units []string
	// Matches are FIELD=VALUE, as for journalctl: values of one field are alternatives, different
	// fields must all match, "+" separates alternatives.
	Matches []string
	// Directory contains the journal's files; "" is this machine's journal.
	Directory string
}

// Kind implements [input.Spec].
func (s *Spec) Kind() input.Kind {
	return input.Kind{Name: "journald", Usage: "read the systemd journal", Positions: true}
}

// Keys implements [input.Spec].
func (s *Spec) Keys() []input.Key {
	return []input.Key{
		{Name: "journald", To: new(bool)},
		{Name: "name", To: &s.Name},
		{Name: "units", To: &s.Units},
		{Name: "matches", To: &s.Matches},
		{Name: "directory", To: &s.Directory},
	}
}

// Open implements [input.Spec].
func (s *Spec) Open(_ context.Context, with input.Opening) (input.Reader, error) {
	return New(Options{Options: with.Options, Spec: *s, FromStart: with.FromStart, FromEnd: with.FromEnd, Once: with.Once})
}

// Options configure an [Input].
type Options struct {
	input.Options
	Spec
	// FromStart reads existing entries when the journal is read for the first time; otherwise they
	// are skipped. Once implies FromStart.
	FromStart bool
	// FromEnd skips existing entries when the journal is read for the first time, also with Once and
	// FromStart.
	FromEnd bool
	// Once reads the existing entries and ends.
	Once bool
	// Command is a name or path; "" is [DefaultCommand].
	Command string
}

// Input reads the journal.
type Input struct {
	opts    Options
	command string
	// cursor is the cursor of the last entry that was passed to the sink.
	cursor string
	// known is set if reading starts after cursor.
	known bool
	batch *batch
}

// New returns an Input. It returns an error if journalctl does not exist.
func New(opts Options) (*Input, error) {
	fail := func(err error) (*Input, error) { return nil, fmt.Errorf("journald input: %w", err) }
	var err error
	if opts.Options, err = opts.WithDefaults(); err != nil {
		return fail(err)
	}
	if !regexp.MustCompile(`^[A-Za-z0-9._-]*$`).MatchString(opts.Name) {
		return fail(fmt.Errorf("name %q: want letters, digits and . _ -", opts.Name))
	}
	match := regexp.MustCompile(`^(\+|[A-Z0-9_]+=.*)$`)
	for _, m := range opts.Matches {
		if !match.MatchString(m) {
			return fail(fmt.Errorf("match %q: want FIELD=VALUE, with the field in capitals, or +", m))
		}
	}
	if slices.Contains(opts.Units, "") {
		return fail(errors.New("a unit without a name"))
	}
	in := &Input{opts: opts}
	if in.command, err = exec.LookPath(cmp.Or(opts.Command, DefaultCommand)); err != nil {
		return fail(fmt.Errorf("journalctl, which reads the journal and is part of systemd, is not on this machine: %w", err))
	}
	if in.cursor, err = in.opts.cursor(); err != nil {
		return fail(err)
	}
	in.known = in.cursor != "" || (opts.Once || opts.FromStart) && !opts.FromEnd
	in.batch = newBatch(&in.opts)
	return in, nil
}

// sinkError is an error of the sink, which ends the input.
type sinkError struct{ error }

func (e sinkError) Unwrap() error { return e.error }

// Run reads until ctx ends, which is no error. Entries that are not passed to the sink by then are read again by
// the next Run. If journalctl exits, it is restarted after a delay of a second to a minute. With Once, Run reads
// the existing entries and returns an error if some were not read, also because ctx has ended. Other errors are
// those of the sink. Run must be called only once.
func (in *Input) Run(ctx context.Context) error {
	for pause := minBackoff; ; pause = min(2*pause, maxBackoff) {
		before := in.cursor
		err := in.read(ctx)
		if ctx.Err() != nil {
			return in.stopped(ctx)
		}
		if sink := (sinkError{}); in.opts.Once || errors.As(err, &sink) {
			return err
		}
		if in.cursor != before {
			pause = minBackoff
		}
		in.opts.Log.Warn("journalctl exited, restarting it", "error", err, "after", pause)
		if retry.Sleep(ctx, pause) != nil {
			return nil //nolint:nilerr // the end
		}
	}
}

// stopped returns the result of Run after ctx has ended.
func (in *Input) stopped(ctx context.Context) error {
	if in.opts.Once {
		return context.Cause(ctx)
	}
	return nil
}

// read starts journalctl, once or twice, and reads to its end.
func (in *Input) read(ctx context.Context) error {
	if !in.known {
		if err := in.skipExisting(ctx); err != nil {
			return err
		}
	}
	args := []string{"--no-tail"}
	if !in.opts.Once {
		args = append(args, "--follow")
	}
	if in.cursor != "" {
		// Not --after-cursor: that skips one more entry if the entry with the cursor does not
		// match, as after a change of the selection.
		args = append(args, "--cursor="+in.cursor)
	}
	return in.run(ctx, append(args, in.opts.filter()...), func(p *parser) error { return in.receive(ctx, p) })
}

// skipExisting marks the last entry as read: only later ones are new. The cursor is stored at once,
// so that nothing is missed if the process ends before the next entry. It is the last of all
// entries: journalctl fails for units that never logged.
func (in *Input) skipExisting(ctx context.Context) error {
	last := ""
	err := in.run(ctx, []string{"--lines=1"}, func(p *parser) error {
		return p.each(func(e *entry) error {
			last = string(e.cursor)
			return nil
		})
	})
	if err != nil {
		return err
	}
	if last != "" {
		c := buffer.Chunk{
			Service:   in.opts.Service,
			Class:     in.opts.Class,
			Parse:     in.opts.Parse,
			Positions: []buffer.Position{in.opts.position(last)},
		}
		if _, err := in.opts.Sink.Append(ctx, c); err != nil {
			return sinkError{err}
		}
	}
	in.cursor, in.known = last, true
	return nil
}

// receive passes entries to the sink as they come.
func (in *Input) receive(ctx context.Context, p *parser) error {
	b := in.batch
	b.reset()
	hand := func() error {
		if b.cursor == "" {
			return nil
		}
		_, err := in.opts.Sink.Append(ctx, b.chunk(in.opts.Now().UnixNano()))
		if err == nil {
			in.opts.Stats.Records.Add(int64(len(b.made.Records())))
			in.opts.Stats.Bytes.Add(b.size)
			in.cursor = b.cursor
		} else {
			err = sinkError{fmt.Errorf("hand over what was read of the journal: %w", err)}
		}
		b.reset()
		return err
	}
	err := p.each(func(e *entry) error {
		if string(e.cursor) != in.cursor {
			b.add(e, in.opts.Now().UnixNano())
		}
		if b.full() || p.r.Buffered() == 0 {
			return hand()
		}
		return nil
	})
	return errors.Join(hand(), err)
}
