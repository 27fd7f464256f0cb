package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"logstow/buffer"
	"logstow/buffer/spool"
	"logstow/config"
	"logstow/input"
	"logstow/input/httpserver"
	"logstow/input/listen"
	"logstow/internal/hint"
)

// Check opens the inputs, the metrics address and the buffer's directory as [Run] would, and closes
// them again. It calls report with one line per thing that it opened. The error joins all errors
// that [Run] would return; it is a [*SettingsError] if any of them is.
func Check(ctx context.Context, s Settings, getenv func(string) string, report func(topic, text string)) (err error) {
	quiet := slog.New(slog.DiscardHandler)
	p := &pipeline{Settings: s, getenv: getenv, log: quiet}
	// The inputs use a buffer in memory, because the buffer on disk may be in use.
	p.buffer, err = buffer.Open(ctx, buffer.Options{
		Instance:      s.Instance,
		Width:         s.Width,
		FlushSize:     s.FlushSize,
		FlushInterval: s.FlushInterval,
		Log:           quiet,
	})
	if err != nil {
		return &SettingsError{err}
	}
	defer func() { err = errors.Join(err, p.buffer.Close()) }()
	var usage, failed []error
	reads := readers{}
	for i := range s.Inputs {
		in := &s.Inputs[i]
		report("input", in.Service+": "+in.String())
		rules, err := p.processor(in)
		var r input.Reader
		if err == nil {
			r, err = p.openInput(ctx, in, rules, p.buffer)
		}
		if err = checkOpened(report, r, err); err != nil {
			usage = append(usage, atLine(in, err))
			continue
		}
		if t, ok := r.(interface {
			Check() (missing, unreadable []error)
			Matches() []string
		}); ok {
			if warning := reads.add(in, t.Matches()); warning != "" {
				report("warning", warning)
			}
			missing, unreadable := t.Check()
			if s.Once {
				unreadable, missing = append(missing, unreadable...), nil
			}
			for _, err := range missing {
				report("input", fmt.Sprintf("%s: %v; run waits for it", in.Service, err))
			}
			for _, err := range unreadable {
				failed = append(failed, atLine(in, err))
			}
		}
	}
	for _, m := range s.LogMetrics {
		report("log metric", m.Name+": "+string(m.Type))
	}
	if s.MetricsAddress != "" {
		report("metrics", "at "+s.MetricsAddress)
		server, err := httpserver.New(ctx, httpserver.Options{Endpoint: listen.Endpoint{Address: s.MetricsAddress}, Log: quiet})
		if err = checkOpened(report, server, err); err != nil {
			usage = append(usage, fmt.Errorf("metrics: %w", err))
		}
	}
	if s.BufferDir != "" {
		report("buffer", s.BufferDir)
		failed = append(failed, checkBuffer(ctx, s.BufferDir, s.OnLostPositions))
	}
	if len(usage) > 0 {
		return &SettingsError{errors.Join(append(usage, failed...)...)}
	}
	return errors.Join(failed...)
}

// readers has the input that reads a file, by service and path.
type readers map[[2]string]*config.Input

// add adds the files of an input. It returns a text if one of them is read by another input for the same service.
func (r readers) add(in *config.Input, paths []string) (warning string) {
	for _, path := range paths {
		key := [2]string{in.Service, path}
		other := r[key]
		switch {
		case other == nil:
			r[key] = in
		case other != in && warning == "":
			reader := "another input"
			if other.Line > 0 {
				reader = fmt.Sprintf("the input in line %d", other.Line)
			}
			warning = fmt.Sprintf("%s: %s is also read by %s, so its lines are stored twice: exclude it from one", in.Service, path, reader)
		}
	}
	return warning
}

// checkOpened closes opened, or returns err. An address that is in use is no error, since the running
// shipper may use it; it is reported instead.
func checkOpened(report func(topic, text string), opened any, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		report("address", err.Error()+"; this is expected while the shipper to be replaced runs")
		return nil
	}
	if c, ok := opened.(io.Closer); ok && err == nil {
		return c.Close()
	}
	return err
}

// checkBuffer returns an error if a buffer cannot be opened or created in a directory: the directory
// cannot be read or written, its disk is too small, or the positions are lost and onLost is
// [buffer.StopLost].
func checkBuffer(ctx context.Context, dir string, onLost buffer.LostPositions) error {
	held, err := spool.Inspect(ctx, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if held.LostPositions != nil && onLost == buffer.StopLost {
		return fmt.Errorf("cannot open buffer %s: %w", dir, held.LostPositions)
	}
	if err := spool.CheckDisk(dir); err != nil {
		return err
	}
	for above := dir; ; above = filepath.Dir(above) {
		probe, err := os.MkdirTemp(above, ".logstow-check-*")
		switch {
		case err == nil:
			return os.Remove(probe)
		case !errors.Is(err, fs.ErrNotExist) || filepath.Dir(above) == above:
			return hint.Wrap(fmt.Errorf("cannot write the buffer's directory %s: %w", dir, err), "give another directory with --buffer-dir")
		}
	}
}

// atLine prefixes an error with the line of the input in the configuration file.
func atLine(in *config.Input, err error) error {
	if in.Line > 0 {
		return fmt.Errorf("the input in line %d: %w", in.Line, err)
	}
	return err
}
