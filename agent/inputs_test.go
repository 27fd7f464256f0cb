package agent

import (
	"testing"

	"logstow/config"
	"logstow/input"
	"logstow/input/multiline"
)

// Each kind of network input has the time that it is configured to prefer.
func TestTimeFrom(t *testing.T) {
	t.Parallel()
	server := config.Server{TimeFrom: input.TimeLine}
	for _, in := range []config.Input{
		{Kind: config.KindSyslog, Syslog: config.Syslog{Server: server}},
		{Kind: config.KindForward, Forward: config.Forward{Server: server}},
		{Kind: config.KindHTTP, HTTP: config.HTTP{Server: server}},
	} {
		in.Multiline = &multiline.Options{}
		p := &pipeline{Settings: Settings{Once: true}}
		opts, err := p.inputOptions(&in)
		if err != nil || opts.TimeFrom != input.TimeLine {
			t.Errorf("%s: %v %v", in.Kind, opts.TimeFrom, err)
		}
	}
}
