package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"logstow/query/output"
)

// screen is the size of a stream's terminal; the zero value is no terminal.
type screen struct{ rows, columns int }

func (s screen) terminal() bool { return s.columns > 0 }

// as is the screen with so many columns, if that is a positive number and it is a terminal.
func (s screen) as(columns string) screen {
	if n, err := strconv.Atoi(columns); err == nil && n > 0 && s.terminal() {
		s.columns = n
	}
	return s
}

// display is the standard output of a command with long output. On a terminal it buffers
// a screenful, and starts a pager for more.
type display struct {
	to     io.Writer
	screen screen // the zero value: nothing is buffered
	// before is called before the first byte is written.
	before func()
	// start starts the pager; ended is called when it has ended.
	start func(ended func()) (*running, error)
	ended func()

	mu   sync.Mutex
	held []byte
	// counted is the number of bytes of held that lines includes; lines is the number of lines on the screen.
	counted, lines int
	begun          bool
	pager          *running // nil while none runs
}

// running is a running pager. Writing to one that has ended fails with errLeft.
type running struct {
	in   io.WriteCloser
	wait func()
}

func (r *running) Write(p []byte) (int, error) {
	n, err := r.in.Write(p)
	if errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE) {
		err = errLeft
	}
	return n, err
}

func (r *running) Close() error {
	err := r.in.Close()
	r.wait()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	return err
}

// Write prints or buffers p.
func (d *display) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pager != nil {
		return d.pager.Write(p)
	}
	if d.begun || !d.screen.terminal() {
		d.begin()
		return d.to.Write(p)
	}
	d.held = append(d.held, p...)
	for line := range bytes.Lines(d.held[d.counted:]) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is counted when its end is written
		}
		d.counted += len(line)
		d.lines += max(1, (columnsOf(line)+d.screen.columns-1)/d.screen.columns)
	}
	if d.lines < d.screen.rows {
		return len(p), nil
	}
	d.begin()
	held := d.held
	d.held = nil
	var err error
	if d.pager, err = d.start(d.ended); err != nil { // there is none: as without
		d.pager = nil
		_, err = d.to.Write(held)
	} else {
		_, err = d.pager.Write(held)
	}
	return len(p), err
}

// columnsOf is the approximate number of columns of a line without colours: each character is one.
func columnsOf(line []byte) int {
	text, colored, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte("\x1b["))
	n := utf8.RuneCount(text)
	for part := range bytes.SplitSeq(colored, []byte("\x1b[")) {
		n += utf8.RuneCount(part[bytes.IndexByte(part, 'm')+1:])
	}
	return n
}

func (d *display) begin() {
	if !d.begun && d.before != nil {
		d.before()
	}
	d.begun = true
}

// Close writes the buffered output, or waits until the pager has ended.
func (d *display) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begin()
	if d.pager != nil {
		err := d.pager.Close()
		d.pager = nil
		return err
	}
	_, err := d.to.Write(d.held)
	d.held = nil
	return err
}

// display returns the standard output of a command, paged or not. left is called when the
// pager has ended; before, if not nil, is called before the first output. The caller must call Close.
func (e *environment) display(ctx context.Context, paged bool, before func(), left context.CancelCauseFunc) *display {
	// Leaving the pager is a success, as closing a pipe is.
	d := &display{to: e.stdout, ended: func() { left(errLeft) }}
	if e.out.terminal() || e.piped {
		d.before = before
	}
	if paged && e.out.terminal() {
		if d.start = e.pager(ctx); d.start != nil {
			d.screen = e.out
		}
	}
	return d
}

// paged calls print with a standard output that uses the pager for long output. On a terminal control bytes are
// printed as escapes.
func (e environment) paged(ctx context.Context, print func(*environment) error) (err error) {
	looking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	shown := e.display(looking, true, nil, cancel)
	e.stdout = shown
	if e.out.terminal() {
		e.stdout = output.NewVisibleWriter(shown)
	}
	defer func() { err = errors.Join(err, shown.Close()) }()
	return print(&e)
}

// pager returns a function that starts $LOGSTOW_PAGER, $PAGER or less; nil if there is
// none, it is "cat", or none is wanted.
func (e *environment) pager(ctx context.Context) func(ended func()) (*running, error) {
	if e.noPager {
		return nil
	}
	command := e.getenv("LOGSTOW_PAGER")
	if command == "" {
		command = e.getenv("PAGER")
	}
	given := command != ""
	if !given {
		command = "less -FRX"
	}
	if command == "cat" {
		return nil
	}
	if name, _, _ := strings.Cut(command, " "); !strings.ContainsAny(name, `=$'"\`) { // else the shell finds it
		if _, err := exec.LookPath(name); err != nil {
			if given {
				e.printf("cannot start the pager: %v; the output is not paged", err)
			}
			return nil
		}
	}
	stdout := e.stdout // the current one: it may be replaced by the input of the pager
	return func(ended func()) (*running, error) {
		// The pager handles interrupts itself.
		//nolint:gosec // the user's own command, as the shell would run it
		cmd := exec.CommandContext(context.WithoutCancel(ctx), "sh", "-c", command)
		cmd.Stdout, cmd.Stderr = stdout, e.line.Unwrap()
		if e.getenv("LESS") == "" {
			cmd.Env = append(os.Environ(), "LESS=FRX") // also for a $PAGER of "less" alone
		}
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		release := e.line.Hold()
		if err := cmd.Start(); err != nil {
			release()
			return nil, errors.Join(err, in.Close())
		}
		// Interrupts belong to the pager now; leaving it ends both.
		signal.Ignore(os.Interrupt)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = cmd.Wait() // the exit status of a pager does not matter
			release()
			ended()
		}()
		return &running{in, func() { <-done }}, nil
	}
}
