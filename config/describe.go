package config

import "strings"

// String names an input in a few words: its kind and its files or address.
func (in *Input) String() string {
	switch in.Kind {
	case KindFiles:
		return "files " + strings.Join(in.Files.Paths, " ")
	case KindSyslog:
		return "syslog at " + in.Syslog.Address
	case KindForward:
		return "forward at " + in.Forward.Address
	case KindHTTP:
		return "http at " + in.HTTP.Address
	}
	return string(in.Kind)
}
