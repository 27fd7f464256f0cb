package agent

import (
	"cmp"
	"strings"

	"logstow/config"
	"logstow/input/listen"
	"logstow/internal/descriptors"
)

// metricsConnections is the maximum number of connections to the metrics server.
const metricsConnections = 64

// takeDescriptors sets the maximum of connections or open files of an input to its part of the file descriptors. further are
// the inputs that are opened after it, which get equal parts. give gives the descriptors back when the input has ended.
func (p *pipeline) takeDescriptors(in *config.Input, further []config.Input) (give func()) {
	limit, files := limitOf(in)
	if limit == nil {
		return func() {}
	}
	share, want, what := p.connections, cmp.Or(*limit, listen.DefaultMaxConnections), "connections"
	if files {
		share, want, what = p.followed, cmp.Or(*limit, descriptors.MaxFiles), "open files"
	}
	others := 0
	for i := range further {
		if other, of := limitOf(&further[i]); other != nil && of == files {
			others++
		}
	}
	taken, configured := share.Take(want, others), *limit > 0
	*limit = taken
	if taken < want && (configured || !files) {
		p.log.Warn("the limit of open files allows an input fewer "+what+": raise it (ulimit -n, LimitNOFILE)",
			"input", in.Kind().Name, "service", in.Service, "address", in.Address, "limit", taken, "wanted", want)
	}
	return func() { share.Give(taken) }
}

// limitOf returns the maximum of open files or connections of an input, nil if it has none.
func limitOf(in *config.Input) (limit *int, files bool) {
	switch kind := in.Kind(); {
	case kind.Files:
		return &in.MaxOpen, true
	case kind.CheckAddress == nil || strings.HasPrefix(in.Address, "udp:") || strings.HasPrefix(in.Address, "unixgram:"):
		return nil, false
	}
	return &in.MaxConnections, false
}

// metricsLimit returns the maximum number of connections to the metrics server.
func (p *pipeline) metricsLimit() int {
	listeners := 0
	for i := range p.Inputs {
		if limit, files := limitOf(&p.Inputs[i]); limit != nil && !files {
			listeners++
		}
	}
	return p.connections.Take(metricsConnections, listeners)
}
