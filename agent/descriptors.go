package agent

import (
	"slices"
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
	share, limit, standard := p.connections, maxConnections(in), listen.DefaultMaxConnections
	what := "connections"
	if in.Kind == config.KindFiles {
		share, limit, standard = p.followed, &in.Files.MaxOpen, descriptors.MaxFiles
		what = "open files"
	}
	if limit == nil {
		return func() {}
	}
	configured := *limit
	want := configured
	if want == 0 {
		want = standard
	}
	others := 0
	for i := range further {
		if further[i].Kind == config.KindFiles == (in.Kind == config.KindFiles) && (in.Kind == config.KindFiles || maxConnections(&further[i]) != nil) {
			others++
		}
	}
	*limit = share.Take(want, others)
	if *limit < want && (configured > 0 || in.Kind != config.KindFiles) {
		p.log.Warn("the limit of open files allows an input fewer "+what+": raise it (ulimit -n, LimitNOFILE)",
			"input", in.Kind, "service", in.Service, "address", in.Address(), "limit", *limit, "wanted", want)
	}
	taken := *limit
	return func() { share.Give(taken) }
}

// maxConnections returns the maximum of connections of an input, nil if it does not accept any.
func maxConnections(in *config.Input) *int {
	if strings.HasPrefix(in.Address(), "udp:") || strings.HasPrefix(in.Address(), "unixgram:") {
		return nil
	}
	switch in.Kind {
	case config.KindSyslog:
		return &in.Syslog.MaxConnections
	case config.KindForward:
		return &in.Forward.MaxConnections
	case config.KindGELF:
		return &in.GELF.MaxConnections
	case config.KindHTTP:
		return &in.HTTP.MaxConnections
	}
	return nil
}

// metricsLimit returns the maximum number of connections to the metrics server.
func (p *pipeline) metricsLimit() int {
	listeners := len(slices.DeleteFunc(slices.Clone(p.Inputs), func(in config.Input) bool { return maxConnections(&in) == nil }))
	return p.connections.Take(metricsConnections, listeners)
}
