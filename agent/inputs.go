package agent

import (
	"context"
	"net"

	"logstow/buffer"
	"logstow/config"
	"logstow/input"
	"logstow/message/parse"
	"logstow/process"
	"logstow/record"
	"logstow/record/recognize"
)

// openInput opens an input, see [input.Spec]. The reader passes its records through rules, which may be nil, to the sink.
func (p *pipeline) openInput(ctx context.Context, in *config.Input, rules input.Processor, sink input.Sink) (input.Reader, error) {
	opts, err := p.inputOptions(in, rules, sink)
	if err != nil {
		return nil, err
	}
	// Without a position, an input is read as configured, unless the buffer lost its positions.
	lost := p.buffer.LostPositions()
	reader, err := in.Open(ctx, input.Opening{
		Options: opts, Endpoint: in.Endpoint, MaxOpen: in.MaxOpen, Once: p.Once,
		FromStart: in.FromStart && lost != buffer.SkipLost || lost == buffer.RereadLost, FromEnd: lost == buffer.SkipLost,
		Resume: p.BufferDir != "", Skip: p.ownDirs(), StopWait: p.DrainTimeout * 2 / 5, Getenv: p.getenv,
		Instance: p.Instance, BufferID: p.buffer.ID, Volatile: p.BufferDir == "", DropsOldest: p.OnFull == buffer.DropOldest,
		Observe: p.observe, Senders: p.senders,
	})
	if err != nil {
		return nil, err
	}
	if server, ok := reader.(interface{ Addr() net.Addr }); ok {
		p.log.Info("listening", "input", in.Kind().Name, "address", server.Addr().String())
	}
	return reader, nil
}

// observe shows a record of another instance, which passes without processing, to the tap.
func (p *pipeline) observe(service, parser, instance string, r *record.Record) {
	if p.tap == nil {
		return
	}
	if o := p.tap.Observer(parser).Of(instance); o.Enabled() {
		o.Observe(service, r, nil, "")
	}
}

// processor makes the processor of an input.
func (p *pipeline) processor(in *config.Input) (input.Processor, error) {
	rules := in.Process
	rules.Stats, rules.Log, rules.Parse, rules.Instance = &p.processed, p.log, in.Parse, p.Instance
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
		TimeFrom:  in.TimeFrom,
		Lines:     input.Lines{Format: in.Format, Multiline: *in.Multiline},
		Recognize: recognize.Options{Zone: in.Zone, DayFirst: in.DayFirst, MaxAhead: in.MaxAhead, Rules: find, Parser: parser},
		Sink:      sink, Stats: p.inputStats.For(in.Kind().Name, in.Service, in.Address), Log: p.log, Memory: p.receiving,
		Buffers: p.buffers, Keys: p.keys, Process: rules,
	}, nil
}
