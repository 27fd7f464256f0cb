package journald

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
)

// maxStderr is how much of journalctl's stderr is kept.
const maxStderr = 4 << 10

// format returns the arguments for the location of the journal and the output format.
func (o *Options) format() []string {
	args := []string{"--output=export", "--no-pager"}
	if o.Directory != "" {
		args = append(args, "--directory="+o.Directory)
	}
	return args
}

// filter returns the arguments that select entries. They must be the last ones.
func (o *Options) filter() (args []string) {
	for _, unit := range o.Units {
		args = append(args, "--unit="+unit)
	}
	return append(append(args, "--"), o.Matches...)
}

// run starts journalctl and passes its output to take, until it exits or take returns, which ends
// it.
func (in *Input) run(ctx context.Context, args []string, take func(*parser) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	command := exec.CommandContext(ctx, in.command, append(in.opts.format(), args...)...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopTimeout
	var said stderrHead
	command.Stderr = &said
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", in.command, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = out.Close() }) // the read then ends even if another process holds the other end
	defer stop()
	taken := take(newParser(out, in.opts.MaxRecord))
	if taken != nil && !errors.Is(taken, io.ErrUnexpectedEOF) {
		cancel()
		_ = command.Wait() // its context was canceled
		return taken
	}
	if err := command.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", in.command, err, said.text())
	}
	if text := said.text(); text != "" {
		in.opts.Log.Warn("stderr of journalctl", "text", text)
	}
	return taken
}

// stderrHead keeps the beginning of what is written to it.
type stderrHead struct{ b bytes.Buffer }

func (s *stderrHead) Write(b []byte) (int, error) {
	s.b.Write(b[:min(len(b), maxStderr-s.b.Len())])
	return len(b), nil
}

func (s *stderrHead) text() string { return strings.TrimSpace(s.b.String()) }
