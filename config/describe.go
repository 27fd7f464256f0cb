package config

import "strings"

// String describes an input by its kind and its files or address.
func (in *Input) String() string {
	if in.Kind == KindFiles {
		return "files " + strings.Join(in.Files.Paths, " ")
	}
	if address := in.address(); address != nil {
		return string(in.Kind) + " at " + *address
	}
	return string(in.Kind)
}

// ServiceFromRecords reports whether records may name their service.
func (in *Input) ServiceFromRecords() bool {
	return in.Kind == KindGELF || in.Kind == KindHTTP && (in.HTTP.ServiceFromResource || !in.HTTP.ConfiguredService)
}

// Address returns the address that an input listens on, or "" if it does not listen.
func (in *Input) Address() string {
	if address := in.address(); address != nil {
		return *address
	}
	return ""
}

// address returns a pointer to the address of an input, or nil if it does not listen.
func (in *Input) address() *string {
	switch in.Kind {
	case KindSyslog:
		return &in.Syslog.Address
	case KindForward:
		return &in.Forward.Address
	case KindGELF:
		return &in.GELF.Address
	case KindHTTP:
		return &in.HTTP.Address
	}
	return nil
}
