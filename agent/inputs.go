package agent

import (
	"context"
	"fmt"
	"os"

	"logstow/blobnaming"
	"logstow/buffer"
	"logstow/config"
	"logstow/input"
	"logstow/input/bulk"
	"logstow/input/container"
	"logstow/input/container/podmeta"
	"logstow/input/forward"
	"logstow/input/gelf"
	"logstow/input/httpserver"
	"logstow/input/journald"
	"logstow/input/lines"
	"logstow/input/otlp"
	"logstow/input/push"
	"logstow/input/socket"
	"logstow/input/stdin"
	"logstow/input/syslog"
	"logstow/input/tail"
	"logstow/message/parse"
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

// openInput opens an input. A listener is bound, but nothing is read yet. The caller must run the
// reader or, if it is an [io.Closer], close it. The reader passes its records through rules, which may
// be nil, to the sink.
func (p *pipeline) openInput(ctx context.Context, in *config.Input, rules input.Processor, sink input.Sink) (reader, error) {
	opts, err := p.inputOptions(in, rules, sink)
	if err != nil {
		return nil, err
	}
	switch in.Kind {
	case config.KindFiles:
		return p.openFiles(in, opts)
	case config.KindStdin:
		opts.Parts = otlp.Parts(opts)
		return stdinReader{opts}, nil
	case config.KindSyslog:
		server, err := syslog.New(ctx, syslog.Options{
			Options: socket.Options{Options: opts, Address: in.Syslog.Address, TLS: in.Syslog.TLS, MaxConnections: in.Syslog.MaxConnections},
			Raw:     in.Syslog.Raw,
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
			KeepRepeated: in.Forward.KeepRepeated,
		})
		if err != nil {
			return nil, err
		}
		p.log.Info("listening", "input", in.Kind, "address", server.Addr().String())
		return server, nil
	case config.KindGELF:
		server, err := gelf.New(ctx, gelf.Options{Options: socket.Options{
			Options: opts, Address: in.GELF.Address, TLS: in.GELF.TLS, MaxConnections: in.GELF.MaxConnections,
		}})
		if err != nil {
			return nil, err
		}
		p.lost.add(server)
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

// processor makes the processor of an input.
func (p *pipeline) processor(in *config.Input) (input.Processor, error) {
	rules := in.Process
	rules.Stats, rules.Log = &p.processed, p.log
	if p.tap != nil {
		rules.Observer = p.tap.Observer(in.Parse)
	}
	return process.New(rules)
}

func (p *pipeline) inputOptions(in *config.Input, rules input.Processor, sink input.Sink) (input.Options, error) {
	find, err := recognize.Compile(in.Rules)
	if err != nil {
		return input.Options{}, err
	}
	parser, err := parse.CompileStored(in.Parse)
	if err != nil {
		return input.Options{}, err
	}
	return input.Options{
		Service: in.Service, Class: in.Class, Parse: in.Parse, MaxRecord: int(in.MaxRecord), SourcePrefix: in.SourcePrefix,
		TimeFrom:  timeFrom(in),
		Lines:     input.Lines{Format: in.Format, Multiline: *in.Multiline},
		Recognize: recognize.Options{Zone: in.Zone, DayFirst: in.DateOrder == config.DayFirst, MaxAhead: in.MaxAhead, Rules: find, Parser: parser},
		Sink:      sink, Stats: p.inputStats.For(string(in.Kind), in.Service, in.Address()), Log: p.log, Memory: p.receiving,
		Buffers: p.buffers, Keys: p.keys, Process: rules,
	}, nil
}

// timeFrom returns the configured origin of a network input's times.
func timeFrom(in *config.Input) input.TimeFrom {
	switch in.Kind {
	case config.KindSyslog:
		return in.Syslog.TimeFrom
	case config.KindForward:
		return in.Forward.TimeFrom
	case config.KindGELF:
		return in.GELF.TimeFrom
	case config.KindHTTP:
		return in.HTTP.TimeFrom
	}
	return input.TimeDefault
}

func (p *pipeline) openFiles(in *config.Input, opts input.Options) (reader, error) {
	var pods *podmeta.Watcher
	if in.Files.Pods != nil {
		var err error
		if pods, err = p.openPods(in.Files.Pods, &opts); err != nil {
			return nil, err
		}
	}
	opts.Parts = otlp.Parts(opts)
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
	tailer, err := tail.New(files)
	if err != nil || pods == nil {
		return tailer, err
	}
	return podReader{tailer, pods}, nil
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
	pushed, err := push.NewHandler(push.Options{Options: opts, ConfiguredService: in.HTTP.ConfiguredService})
	if err != nil {
		return nil, err
	}
	documents, err := bulk.NewHandler(bulk.Options{Options: opts, ConfiguredService: in.HTTP.ConfiguredService})
	if err != nil {
		return nil, err
	}
	server, err := httpserver.New(ctx, httpserver.Options{
		Address: in.HTTP.Address, TLS: in.HTTP.TLS, Login: in.HTTP.Login, Denied: &opts.Stats.Denied, MaxConnections: in.HTTP.MaxConnections, Log: p.log,
	}, logs, text, pushed, documents)
	if err != nil {
		return nil, fmt.Errorf("http input: %w", err)
	}
	p.log.Info("listening", "input", in.Kind, "address", server.Addr().String())
	return server, nil
}
