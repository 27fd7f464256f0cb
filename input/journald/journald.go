// Package journald reads the systemd journal with its own program, journalctl.
//
// How far it was read, a cursor, is kept in the buffer and committed together
// with the records up to it, so that after a crash reading goes on where the buffer ends.
//
// # What a record holds
//
// The message is the field MESSAGE, byte for byte, newlines and bytes that are no
// text too; an entry without one is no record. The time is the one at which the
// journal received it. The source is UNIT/IDENTIFIER: _SYSTEMD_UNIT and
// SYSLOG_IDENTIFIER, or _COMM where there is none, without what is not known. The
// level is that of PRIORITY; but what services write to their output has priority
// info whatever it says, so there a level in the message goes before it.
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
)

// DefaultCommand is what reads the journal.
const DefaultCommand = "journalctl"

const (
	// minBackoff and maxBackoff bound how long is waited before journalctl is started again.
	minBackoff, maxBackoff = time.Second, time.Minute
	// stopTimeout is how long journalctl may take to end when it is told to.
	stopTimeout = 5 * time.Second
)

// Options say what is read of the journal.
type Options struct {
	input.Options
	// Name tells inputs of one buffer apart that read the journal: letters, digits and . _ -, or "".
	Name string
	// Units are names or patterns of units, as journalctl --unit takes them; none is all.
	Units []string
	// Matches are FIELD=VALUE, as journalctl takes them: values of one field are
	// alternatives, different fields must all fit, "+" stands between alternatives.
	Matches []string
	// Directory holds the journal's files; "" is this machine's journal.
	Directory string
	// FromStart reads what is there already when the journal was never read before;
	// else that is passed over. Once has always been FromStart.
	FromStart bool
	// Once reads what is there and ends.
	Once bool
	// Command is a name or path; "" is [DefaultCommand].
	Command string
}

// Input reads the journal.
type Input struct {
	opts    Options
	command string
	// cursor is that of the last entry that the sink has.
	cursor string
	// known says that cursor is where to start.
	known bool
	batch *batch
}

// New makes an Input. That there is no journalctl is an error.
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
		return fail(fmt.Errorf("the journal is read with journalctl, which is not on this machine (it comes with systemd): %w", err))
	}
	if in.cursor, err = in.opts.cursor(); err != nil {
		return fail(err)
	}
	in.known = in.cursor != "" || opts.Once || opts.FromStart
	in.batch = newBatch(&in.opts)
	return in, nil
}

// sinkError is an error of the sink: there is no use in going on.
type sinkError struct{ error }

func (e sinkError) Unwrap() error { return e.error }

// Run reads until ctx ends, which is no error; what was read of the journal and
// not taken by then is read again the next time. Where journalctl ends it is
// started again, after a pause of a second that grows to a minute. With Once it
// reads what is there; an error then says that this was not all of it, ctx's end too.
// Other errors are those of the sink. It is called once.
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
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// stopped is what the end of ctx means.
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
		// Not --after-cursor: that passes over one more entry where the one with the
		// cursor does not match, as after a change of what is read.
		args = append(args, "--cursor="+in.cursor)
	}
	return in.run(ctx, append(args, in.opts.filter()...), func(p *parser) error { return in.receive(ctx, p) })
}

// skipExisting takes the last entry for read: what comes after it is new. The cursor is
// kept at once, so that nothing is missed if it all ends before an entry comes.
// It is the last of all entries: journalctl fails for units that never logged.
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
		c := buffer.Chunk{Service: in.opts.Service, Class: in.opts.Class, Positions: []buffer.Position{in.opts.position(last)}}
		if _, err := in.opts.Sink.Append(ctx, c); err != nil {
			return sinkError{err}
		}
	}
	in.cursor, in.known = last, true
	return nil
}

// receive hands over entries as they come.
func (in *Input) receive(ctx context.Context, p *parser) error {
	b := in.batch
	b.reset()
	hand := func() error {
		if b.cursor == "" {
			return nil
		}
		_, err := in.opts.Sink.Append(ctx, b.chunk(in.opts.Now().UnixNano()))
		if err == nil {
			in.opts.Stats.Records.Add(int64(len(b.records)))
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
