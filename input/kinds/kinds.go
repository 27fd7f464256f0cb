// Package kinds is the registry of the kinds of inputs.
package kinds

import (
	"logstow/input"
	"logstow/input/files"
	"logstow/input/forward"
	"logstow/input/gelf"
	"logstow/input/journald"
	"logstow/input/plain"
	"logstow/input/relay"
	"logstow/input/stdin"
	"logstow/input/syslog"
)

// All returns an empty configuration of each kind, in the order of their flags.
func All() []input.Spec {
	return []input.Spec{
		&files.Spec{},
		stdin.Spec{},
		&syslog.Spec{},
		&forward.Spec{},
		gelf.Spec{},
		&plain.Spec{},
		&HTTP{},
		&relay.Spec{},
		&journald.Spec{},
	}
}
