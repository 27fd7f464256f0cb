package config

import (
	"slices"
	"strings"

	"logstow/blobnaming"
	"logstow/input"
	"logstow/input/syslog"
)

// input reads one element of inputs.
func (d *decoder) input(s *section, defaults Common) Input {
	in := Input{Common: defaults.clone()}
	if s.node != nil && s.node.GetToken() != nil {
		in.Line = s.node.GetToken().Position.Line
	}
	for _, kind := range kinds() {
		if !s.has(string(kind)) {
			continue
		}
		if in.Kind != "" {
			d.fail(s.values[string(kind)], "an input has one kind: %s or %s", in.Kind, kind)
		}
		in.Kind = kind
	}
	d.common(s, &in.Common)
	s.stringList("store", &in.Stores)
	switch in.Kind {
	case KindFiles:
		d.files(s, &in.Files)
	case KindStdin:
		s.boolean(string(KindStdin), new(bool))
	case KindSyslog:
		d.syslog(s, &in.Syslog)
	case KindForward:
		d.forward(s, &in.Forward)
	case KindHTTP:
		d.http(s, &in.HTTP)
	case KindJournald:
		d.journald(s, &in.Journald)
	default:
		if s.node != nil {
			d.fail(s.node, "an input needs one of %s", list(kindNames()))
		}
		s.known = append(s.known, kindNames()...)
	}
	if in.Kind != "" && in.Kind != KindFiles && in.Service != "" && !blobnaming.ValidService(in.Service) {
		d.fail(s.node, "service %s: a pattern of paths is for files", in.Service)
	}
	if len(in.Stores) > 0 && (strings.Contains(in.Service, "{") || in.HTTP.ServiceFromResource) {
		d.fail(s.get("store"), "store: an input that takes the service from its records cannot have its own store")
	}
	s.done()
	return in
}

func kindNames() (names []string) {
	for _, kind := range kinds() {
		names = append(names, string(kind))
	}
	return names
}

// clone is a copy that shares nothing that an input may modify.
func (c Common) clone() Common {
	p := &c.Process
	p.Redact = slices.Clone(p.Redact)
	p.Replace = slices.Clone(p.Replace)
	p.Drop, p.Keep, p.Sample = slices.Clone(p.Drop), slices.Clone(p.Keep), slices.Clone(p.Sample)
	return c
}

func (d *decoder) files(s *section, f *Files) {
	s.stringList(string(KindFiles), &f.Paths)
	s.stringList("exclude", &f.Exclude)
	read(s, "name", &f.Name, func(v string) (string, error) {
		return v, valid(blobnaming.ValidInstance(v), "%q: want letters, digits and . _ -", v)
	})
	s.boolean("from-start", &f.FromStart)
	s.boolean("polling", &f.Polling)
	s.number("max-open", 8, &f.MaxOpen)
}

func (d *decoder) server(s *section, v *Server) {
	tls := s.section("tls")
	tls.text("cert", &v.TLS.Cert)
	tls.text("key", &v.TLS.Key)
	tls.text("client-ca", &v.TLS.ClientCA)
	tls.done()
	if _, err := v.TLS.Config(); err != nil {
		d.fail(s.get("tls"), "tls: %v", err)
	}
	s.number("max-connections", 1, &v.MaxConnections)
	read(s, "time-from", &v.TimeFrom, input.ParseTimeFrom)
}

func (d *decoder) syslog(s *section, v *Syslog) {
	read(s, string(KindSyslog), &v.Address, func(v string) (string, error) {
		_, _, err := syslog.ParseAddress(v)
		return v, err
	})
	s.boolean("raw", &v.Raw)
	d.server(s, &v.Server)
}

func (d *decoder) forward(s *section, v *Forward) {
	s.address(string(KindForward), &v.Address)
	s.text("shared-key", &v.SharedKey)
	s.text("message-key", &v.MessageKey)
	if users := s.get("users"); users != nil {
		v.Users = map[string]string{}
		all := d.section(users)
		for _, e := range all.keys {
			name := e.Key.GetToken().Value
			if password, _, ok := all.scalar(name); ok {
				v.Users[name] = password
			}
		}
	}
	d.server(s, &v.Server)
}

func (d *decoder) http(s *section, v *HTTP) {
	s.address(string(KindHTTP), &v.Address)
	s.boolean("service-from-resource", &v.ServiceFromResource)
	d.server(s, &v.Server)
}

func (d *decoder) journald(s *section, v *Journald) {
	s.boolean(string(KindJournald), new(bool))
	s.text("name", &v.Name)
	s.stringList("units", &v.Units)
	s.stringList("matches", &v.Matches)
	s.text("directory", &v.Directory)
	s.boolean("from-start", &v.FromStart)
}
