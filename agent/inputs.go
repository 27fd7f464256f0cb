package agent

import (
	"context"
	"fmt"
	"os"

	"logstow/blobnaming"
	"logstow/buffer"
	"logstow/config"
	"logstow/field/parse"
	"logstow/input"
	"logstow/input/container"
	"logstow/input/forward"
	"logstow/input/httpserver"
	"logstow/input/journald"
	"logstow/input/lines"
	"logstow/input/otlp"
	"logstow/input/stdin"
	"logstow/input/syslog"
	"logstow/input/tail"
	"logstow/process"
	"logstow/record/recognize"
)

// reader is an open input.
type reader interface {
	Run(ctx context.Context) error
}

// stdinReader reads standard input.
type stdinReader struct{ opts input.Options }

func (r stdinReader) Run(ctx context.Context) error { return stdin.Run(ctx, os.Stdin, r.opts) }

// openInput opens an input; it reads nothing yet, but a listener is bound. The reader
// must be run or, if it has a Close, closed.
func (p *pipeline) openInput(ctx context.Context, in *config.Input) (reader, error) {
	opts, err := p.inputOptions(in)
	if err != nil {
		return nil, err
	}
	switch in.Kind {
	case config.KindFiles:
		return p.openFiles(in, opts)
	case config.KindStdin:
		return stdinReader{opts}, nil
	case config.KindSyslog:
		server, err := syslog.New(ctx, syslog.Options{
			Options: opts, Address: in.Syslog.Address, TLS: in.Syslog.TLS, MaxConnections: in.Syslog.MaxConnections, Raw: in.Syslog.Raw,
		})
		if err != nil {
			return nil, err
		}
		p.lost.add(server)
		p.log.Info("listening", "input", in.Kind, "address", server.Addr().String())
		return server, nil
	case config.KindForward:
		server, err := forward.New(ctx, forward.Options{
			Options: opts, Address: in.Forward.Address, TLS: in.Forward.TLS, MaxConnections: in.Forward.MaxConnections,
			SharedKey: in.Forward.SharedKey, Users: in.Forward.Users, MessageKey: in.Forward.MessageKey,
		})
		if err != nil {
			return nil, err
		}
		p.log.Info("listening", "input", in.Kind, "address", server.Addr().String())
		return server, nil
	case config.KindHTTP:
		return p.openHTTP(ctx, in, opts)
	case config.KindJournald:
		journal, err := journald.New(journald.Options{
			Options: opts, Name: in.Journald.Name, Units: in.Journald.Units, Matches: in.Journald.Matches,
			Directory: in.Journald.Directory, FromStart: p.fromStart(in.Journald.FromStart), FromEnd: p.fromEnd(), Once: p.Once,
		})
		if err != nil {
			return nil, err
		}
		return journal, nil
	}
	return nil, fmt.Errorf("unknown kind of input %q", in.Kind)
}

func (p *pipeline) inputOptions(in *config.Input) (input.Options, error) {
	find, err := recognize.Compile(in.Rules)
	if err != nil {
		return input.Options{}, err
	}
	parser, err := parse.CompileStored(in.Parse)
	if err != nil {
		return input.Options{}, err
	}
	opts := input.Options{
		Service: in.Service, Class: in.Class, Parse: in.Parse, MaxRecord: int(in.MaxRecord), SourcePrefix: in.SourcePrefix,
		TimeFrom:  timeFrom(in),
		Lines:     input.Lines{Format: in.Format, Multiline: *in.Multiline},
		Recognize: recognize.Options{Zone: in.Zone, MaxAhead: in.MaxAhead, Rules: find, Parser: parser},
		Sink:      p.sink(in.Kind), Stats: p.inputStats.For(string(in.Kind), in.Service), Log: p.log, Memory: p.receiving,
	}
	rules := in.Process
	rules.Stats, rules.Log = &p.processed, p.log
	opts.Process, err = process.New(rules)
	return opts, err
}

// timeFrom is the time that a network input prefers.
func timeFrom(in *config.Input) input.TimeFrom {
	switch in.Kind {
	case config.KindSyslog:
		return in.Syslog.TimeFrom
	case config.KindForward:
		return in.Forward.TimeFrom
	case config.KindHTTP:
		return in.HTTP.TimeFrom
	}
	return input.TimeDefault
}

func (p *pipeline) openFiles(in *config.Input, opts input.Options) (reader, error) {
	files := tail.Options{
		Options: opts, Paths: in.Files.Paths, Exclude: in.Files.Exclude, Name: in.Files.Name,
		Once: p.Once, FromStart: p.fromStart(in.Files.FromStart), FromEnd: p.fromEnd(), Polling: in.Files.Polling, MaxOpen: in.Files.MaxOpen,
		Skip: p.ownDirs(), Resume: p.BufferDir != "", StopWait: p.DrainTimeout * 2 / 5,
	}
	if !blobnaming.ValidService(in.Service) {
		pattern, err := container.ParsePattern(in.Service)
		if err != nil {
			return nil, err
		}
		files.Service, files.ServiceOf = "", pattern.Of
	}
	return tail.New(files)
}

// fromStart reports whether an input without a position is read from its start: as
// configured, unless the buffer lost its positions.
func (p *pipeline) fromStart(configured bool) bool {
	return !p.fromEnd() && (configured || p.buffer.LostPositions() == buffer.RereadLost)
}

// fromEnd reports whether an input without a position is read from its end, also with Once.
func (p *pipeline) fromEnd() bool { return p.buffer.LostPositions() == buffer.SkipLost }

func (p *pipeline) openHTTP(ctx context.Context, in *config.Input, opts input.Options) (reader, error) {
	logs, err := otlp.NewHandler(otlp.Options{Options: opts, ServiceFromResource: in.HTTP.ServiceFromResource})
	if err != nil {
		return nil, err
	}
	text, err := lines.NewHandler(lines.Options{Options: opts})
	if err != nil {
		return nil, err
	}
	server, err := httpserver.New(ctx, httpserver.Options{
		Address: in.HTTP.Address, TLS: in.HTTP.TLS, MaxConnections: in.HTTP.MaxConnections, Log: p.log,
	}, logs, text)
	if err != nil {
		return nil, err
	}
	p.log.Info("listening", "input", in.Kind, "address", server.Addr().String())
	return server, nil
}
