package config

import (
	"slices"
	"strings"

	"logstow/blobnaming"
	"logstow/input"
	"logstow/input/gelf"
	"logstow/input/listen"
	"logstow/input/syslog"
)

// input reads one element of inputs. It returns one input for each address.
func (d *decoder) input(s *section, defaults Common) (all []Input) {
	in := Input{Common: defaults.clone()}
	if s.node != nil && s.node.GetToken() != nil {
		in.Line = s.node.GetToken().Position.Line
	}
	for _, kind := range kinds() {
		if !s.has(string(kind)) {
			continue
		}
		if in.Kind != "" {
			d.fail(s.values[string(kind)], "an input has exactly one kind, not %s and %s; write one input for each", in.Kind, kind)
			return nil // the valid keys depend on the kind
		}
		in.Kind = kind
	}
	d.common(s, &in.Common)
	s.stringList("store", &in.Stores)
	var addresses []string
	switch in.Kind {
	case KindFiles:
		d.files(s, &in.Files)
	case KindStdin:
		s.boolean(string(KindStdin), new(bool))
	case KindSyslog:
		addresses = d.syslog(s, &in.Syslog)
	case KindForward:
		addresses = d.forward(s, &in.Forward)
	case KindGELF:
		addresses = d.gelf(s, &in.GELF)
	case KindHTTP:
		addresses = d.http(s, &in.HTTP)
	case KindJournald:
		d.journald(s, &in.Journald)
	default:
		if s.node != nil {
			d.fail(s.node, "an input requires one of %s", list(kindNames()))
		}
		s.known = append(s.known, kindNames()...)
	}
	if in.Kind != "" && in.Kind != KindFiles && in.Service != "" && !blobnaming.ValidService(in.Service) {
		d.fail(s.node, "service %s: a pattern of paths requires a files input", in.Service)
	}
	if in.Files.Pods != nil && !strings.Contains(in.Service, "{") {
		d.fail(s.get("pod-metadata"), "pod-metadata requires a service pattern, such as {namespace}.{container}")
	}
	if len(in.Stores) > 0 && (strings.Contains(in.Service, "{") || in.ServiceFromRecords()) {
		d.fail(s.get("store"), "store: an input with service-from-labels or service-from-resource cannot have its own store")
	}
	s.done()
	if len(addresses) == 0 {
		return []Input{in}
	}
	for _, address := range addresses {
		*in.address() = address
		all = append(all, in)
	}
	return all
}

func kindNames() (names []string) {
	for _, kind := range kinds() {
		names = append(names, string(kind))
	}
	return names
}

// clone returns a copy that shares no slice that reading an input appends to.
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
	if s.get("pod-metadata") == nil {
		return
	}
	pods := s.section("pod-metadata")
	f.Pods = &PodMetadata{}
	pods.stringList("labels", &f.Pods.Labels)
	pods.stringList("annotations", &f.Pods.Annotations)
	pods.text("server", &f.Pods.Server)
	pods.text("token-file", &f.Pods.TokenFile)
	pods.text("ca-file", &f.Pods.CAFile)
	pods.text("node", &f.Pods.Node)
	pods.done()
	if !pods.has("labels") && !pods.has("annotations") {
		d.missing(pods, "labels or annotations")
	}
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

func (d *decoder) syslog(s *section, v *Syslog) (addresses []string) {
	addresses = s.addresses(string(KindSyslog), func(v string) error {
		_, _, err := syslog.ParseAddress(v)
		return err
	})
	s.boolean("raw", &v.Raw)
	d.server(s, &v.Server)
	return addresses
}

func (d *decoder) forward(s *section, v *Forward) (addresses []string) {
	addresses = s.addresses(string(KindForward), listen.CheckAddress)
	s.text("shared-key", &v.SharedKey)
	s.text("message-key", &v.MessageKey)
	v.Users = d.users(s)
	dedupe := true
	s.boolean("dedupe-chunks", &dedupe)
	v.KeepRepeated = !dedupe
	d.server(s, &v.Server)
	return addresses
}

// users reads a mapping of user names to passwords.
func (d *decoder) users(s *section) (users map[string]string) {
	node := s.get("users")
	if node == nil {
		return nil
	}
	users = map[string]string{}
	all := d.section(node)
	for _, e := range all.keys {
		name := e.Key.GetToken().Value
		if password, node, ok := all.scalar(name); ok {
			if password == "" {
				d.fail(node, "users: the password of %s is empty", name)
			}
			users[name] = password
		}
	}
	return users
}

func (d *decoder) http(s *section, v *HTTP) (addresses []string) {
	addresses = s.addresses(string(KindHTTP), listen.CheckAddress)
	s.boolean("service-from-resource", &v.ServiceFromResource)
	fromLabels := !s.has("store")
	s.boolean("service-from-labels", &fromLabels)
	v.ConfiguredService = !fromLabels
	v.Login.Users = d.users(s)
	for _, node := range s.items("tokens") {
		if token, ok := d.scalar(node); ok {
			if token == "" {
				d.fail(node, "tokens: a token is empty")
			}
			v.Login.Tokens = append(v.Login.Tokens, token)
		}
	}
	d.server(s, &v.Server)
	return addresses
}

func (d *decoder) gelf(s *section, v *GELF) (addresses []string) {
	addresses = s.addresses(string(KindGELF), func(v string) error {
		_, _, err := gelf.ParseAddress(v)
		return err
	})
	d.server(s, &v.Server)
	return addresses
}

func (d *decoder) journald(s *section, v *Journald) {
	s.boolean(string(KindJournald), new(bool))
	s.text("name", &v.Name)
	s.stringList("units", &v.Units)
	s.stringList("matches", &v.Matches)
	s.text("directory", &v.Directory)
	s.boolean("from-start", &v.FromStart)
}
