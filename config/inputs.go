package config

import (
	"fmt"
	"slices"
	"strings"

	"logstow/blobnaming"
	"logstow/input"
	"logstow/input/kinds"
)

// input reads one element of inputs. It returns one input for each address.
func (d *decoder) input(s *section, defaults Common) (all []Input) {
	in := Input{Common: defaults.clone()}
	if s.node != nil && s.node.GetToken() != nil {
		in.Line = s.node.GetToken().Position.Line
	}
	var kind input.Kind
	var names []string
	for _, spec := range kinds.All() {
		one := spec.Kind()
		names = append(names, one.Name)
		if !s.has(one.Name) {
			continue
		}
		if in.Spec != nil {
			d.fail(s.values[one.Name], "an input has exactly one kind, not %s and %s; write one input for each", kind.Name, one.Name)
			return nil // the valid keys depend on the kind
		}
		in.Spec, kind = spec, one
	}
	d.common(s, &in.Common)
	s.stringList("store", &in.Stores)
	pattern := strings.Contains(in.Service, "{")
	if in.Spec == nil {
		if s.node != nil {
			d.fail(s.node, "an input requires one of %s", wordList(names))
		}
		s.known = append(s.known, names...)
		s.done()
		return nil
	}
	s.kindKeys(in.Keys(), pattern)
	var addresses []string
	if kind.CheckAddress != nil {
		addresses = s.addresses(kind.Name, kind.CheckAddress)
		d.server(s, &in)
	}
	if kind.Positions {
		s.boolean("from-start", &in.FromStart)
	}
	if kind.Files {
		s.number("max-open", 8, &in.MaxOpen)
	} else if in.Service != "" && !blobnaming.ValidService(in.Service) {
		d.fail(s.node, "service %s: a pattern of paths requires a files input", in.Service)
	}
	if len(in.Stores) > 0 && (pattern || in.NamesServices()) {
		d.fail(s.get("store"), "store: an input with service-from-labels or service-from-resource cannot have its own store")
	}
	s.done()
	if len(addresses) == 0 {
		return []Input{in}
	}
	for _, address := range addresses {
		in.Address = address
		all = append(all, in)
	}
	return all
}

// addresses adds the addresses of the inputs of a section, and reports those that others have.
func (d *decoder) addresses(s *section, inputs []Input, all Addresses) {
	for i := range inputs {
		in := &inputs[i]
		if earlier := all.Add(in.Address, fmt.Sprintf("the input in line %d", in.Line)); earlier != "" {
			d.fail(s.get(in.Kind().Name), "%s: %s is also the address of %s", in.Kind().Name, in.Address, earlier)
		}
	}
}

// kindKeys reads the keys of a kind of input. pattern is set if its service is a pattern.
func (s *section) kindKeys(keys []input.Key, pattern bool) {
	var alternatives []string
	missing := false
	for _, k := range keys {
		s.kindKey(&k)
		if k.ForPattern && !pattern && s.get(k.Name) != nil {
			s.d.fail(s.get(k.Name), "%s requires a service pattern, such as {namespace}.{container}", k.Name)
		}
		if k.OneOf {
			missing = (missing || len(alternatives) == 0) && !s.has(k.Name)
			alternatives = append(alternatives, k.Name)
		}
	}
	if missing {
		s.d.missing(s, strings.Join(alternatives, " or "))
	}
}

// kindKey reads a key of a kind of input.
func (s *section) kindKey(k *input.Key) {
	check := k.Check
	if check == nil {
		check = func(string) error { return nil }
	}
	switch to := k.To.(type) {
	case *bool:
		s.boolean(k.Name, to)
	case input.Not:
		on := !*to
		s.boolean(k.Name, &on)
		*to = !on
	case *string:
		read(s, k.Name, to, checked(check))
	case *[]string:
		for _, node := range s.items(k.Name) {
			if text, ok := s.d.scalar(node); ok {
				if err := check(text); err != nil {
					s.d.fail(node, "%s: %v", k.Name, err)
				}
				*to = append(*to, text)
			}
		}
	case *map[string]string:
		*to = s.d.users(s, k.Name)
	case func():
		if s.has(k.Name) {
			to()
		}
	case func() []input.Key:
		if s.get(k.Name) != nil {
			inner := s.section(k.Name)
			inner.kindKeys(to(), true)
			inner.done()
		}
	default:
		s.d.fail(s.node, "key %s: a value of %T cannot be read", k.Name, to)
	}
}

// NamesServices reports whether records may name their service.
func (in *Input) NamesServices() bool {
	kind := in.Kind()
	return kind.ServiceFromLabels || kind.ServiceFromRecords
}

// clone returns a copy that shares no slice that reading an input appends to.
func (c Common) clone() Common {
	p := &c.Process
	p.Redact = slices.Clone(p.Redact)
	p.Replace = slices.Clone(p.Replace)
	p.KeepAttributes, p.DropAttributes, p.LabelAttributes = slices.Clone(p.KeepAttributes), slices.Clone(p.DropAttributes), slices.Clone(p.LabelAttributes)
	p.Drop, p.Keep, p.Sample = slices.Clone(p.Drop), slices.Clone(p.Keep), slices.Clone(p.Sample)
	return c
}

func (d *decoder) server(s *section, in *Input) {
	tls := s.section("tls")
	tls.text("cert", &in.TLS.Cert)
	tls.text("key", &in.TLS.Key)
	tls.text("client-ca", &in.TLS.ClientCA)
	tls.done()
	if _, err := in.TLS.Config(nil); err != nil {
		d.fail(s.get("tls"), "tls: %v", err)
	}
	s.number("max-connections", 1, &in.MaxConnections)
	read(s, "time-from", &in.TimeFrom, input.ParseTimeFrom)
}

// users reads a mapping of user names to passwords.
func (d *decoder) users(s *section, key string) (users map[string]string) {
	node := s.get(key)
	if node == nil {
		return nil
	}
	users = map[string]string{}
	all := d.section(node)
	for _, e := range all.keys {
		name := e.Key.GetToken().Value
		if password, node, ok := all.scalar(name); ok {
			if password == "" {
				d.fail(node, "%s: the password of %s is empty", key, name)
			}
			users[name] = password
		}
	}
	return users
}
