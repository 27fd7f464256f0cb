package otlp

import (
	"bytes"
	"errors"

	"logstow/input/httpserver"
	"logstow/record/attributes"
)

// shared are the attributes that records have in common: those of a resource or a scope.
type shared struct {
	// group has the attributes themselves, top the other fields, which are stored beside those of the record.
	group *attributes.Group
	top   []attributes.Member
	// size is the maximum encoded size, cut the number of members of maps that were left out.
	size, cut int
	// deep is set if they cannot be stored because of errTooDeep.
	deep bool

	encoder encoder
	held    int64
}

// reset discards everything.
func (s *shared) reset(lease *httpserver.Lease) {
	lease.Give(s.held)
	s.encoder.reset()
	*s = shared{encoder: s.encoder}
}

// collect ends the collection of the encoder's attributes. The first own ones are those of the group.
func (s *shared) collect(own int) error {
	s.size, s.cut = s.encoder.size, s.encoder.cut
	cost := 3 * int64(s.size) // the group, and the space while it grows
	if err := s.encoder.lease.Take(cost); err != nil {
		return err
	}
	s.held = cost
	s.group, s.top = attributes.NewGroup(s.encoder.list[:own:own]), s.encoder.list[own:]
	return nil
}

// attributes adds the attributes that are fields of a message, and counts them.
func (s *shared) attributes(message []byte, tag uint64) (n int, err error) {
	in := fields{rest: message}
	for in.next() {
		if in.tag != tag {
			continue
		}
		key, value, err := keyValue(in.bytes)
		if err != nil {
			return 0, err
		}
		name, err := s.encoder.name(key)
		if err != nil {
			return 0, err
		}
		if err := s.encoder.attribute(name, value); err != nil {
			return 0, err
		}
		n++
	}
	return n, in.err
}

// The attributes that name a record's source, in order of preference.
const (
	attrPod       = "k8s.pod.name"
	attrPodPart   = "k8s.container.name"
	attrInstance  = "service.instance.id"
	attrContainer = "container.name"
	attrHost      = "host.name"
	attrService   = "service.name"
)

// resource is the common part of the records of one ResourceLogs.
type resource struct {
	shared
	// service is the value of service.name.
	service, source string
}

// parse parses a Resource message.
func (r *resource) parse(message, schema []byte) error {
	r.service, r.source = "", ""
	values := map[string]string{}
	dropped, entities := uint64(0), false
	in := fields{rest: message}
	for in.next() {
		switch in.tag {
		case 1<<3 | text:
			key, value, err := keyValue(in.bytes)
			if err != nil {
				return err
			}
			switch string(key) {
			case attrPod, attrPodPart, attrInstance, attrContainer, attrHost, attrService:
				values[string(key)] = plain(value)
			}
		case 2<<3 | varint:
			dropped = uint64(uint32(in.number)) //nolint:gosec // as protobuf decodes it
		case 3<<3 | text:
			entities = true
		}
	}
	if in.err != nil {
		return in.err
	}
	r.service, r.source = values[attrService], source(values)
	own, err := r.attributes(message, 1<<3|text)
	if errors.Is(err, errTooDeep) {
		r.deep = true
		return nil
	}
	if err != nil {
		return err
	}
	if len(schema) > 0 {
		if err := r.encoder.string(nameResourceSchema, schema); err != nil {
			return err
		}
	}
	if dropped > 0 {
		if err := r.encoder.number(nameResourceDropped, dropped); err != nil {
			return err
		}
	}
	if entities {
		if err := r.encoder.entities(message); err != nil {
			return err
		}
	}
	return r.collect(own)
}

func source(values map[string]string) string {
	if pod := values[attrPod]; pod != "" {
		if part := values[attrPodPart]; part != "" {
			return pod + "/" + part
		}
		return pod
	}
	for _, name := range []string{attrInstance, attrContainer, attrHost, attrService} {
		if values[name] != "" {
			return values[name]
		}
	}
	return ""
}

// plain is the beginning of an AnyValue's string, up to the maximum length of a name.
func plain(any []byte) string {
	v, err := valueOf(any)
	if err != nil || v.tag != anyString { // malformed values are reported where they are encoded
		return ""
	}
	return string(bytes.ToValidUTF8(v.bytes[:min(len(v.bytes), 255)], []byte("_")))
}

// entities adds the entity references of a Resource message: an array of maps.
func (e *encoder) entities(message []byte) error {
	at := len(e.text)
	if err := e.reserve(1); err != nil {
		return err
	}
	e.text = append(e.text, '[')
	in := fields{rest: message}
	for first := true; in.next(); {
		if in.tag != 3<<3|text {
			continue
		}
		if err := e.reserve(1); err != nil {
			return err
		}
		if !first {
			e.text = append(e.text, ',')
		}
		first = false
		if err := e.entity(in.bytes); err != nil {
			return err
		}
	}
	if err := e.reserve(1); err != nil {
		return err
	}
	e.text = append(e.text, ']')
	return e.add(nameResourceEntities, at)
}

// entity appends an EntityRef as a map of the fields that are set, in the order of their names.
func (e *encoder) entity(message []byte) error {
	fieldsOf := []struct {
		name string
		tag  uint64
		list bool
	}{{"description_keys", 4<<3 | text, true}, {"id_keys", 3<<3 | text, true}, {"schema_url", 1<<3 | text, false}, {"type", 2<<3 | text, false}}
	open := "{"
	put := func(s string) error {
		if err := e.reserve(len(s)); err != nil {
			return err
		}
		e.text = append(e.text, s...)
		return nil
	}
	for _, f := range fieldsOf {
		begin, end := open+`"`+f.name+`":`, ""
		if f.list {
			begin, end = begin+"[", "]"
		}
		found := false
		in := fields{rest: message}
		for in.next() {
			if in.tag != f.tag || found && !f.list {
				continue
			}
			if found {
				begin = ","
			}
			found = true
			if err := put(begin); err != nil {
				return err
			}
			if err := e.appendText(in.bytes, 1); err != nil {
				return err
			}
		}
		if in.err != nil {
			return in.err
		}
		if found {
			open = ","
			if err := put(end); err != nil {
				return err
			}
		}
	}
	if open == "{" {
		return put("{}")
	}
	return put("}")
}

// scope parses an InstrumentationScope message.
func (s *shared) scope(message, schema []byte) error {
	var name, version []byte
	dropped := uint64(0)
	in := fields{rest: message}
	for in.next() {
		switch in.tag {
		case 1<<3 | text:
			name = in.bytes
		case 2<<3 | text:
			version = in.bytes
		case 4<<3 | varint:
			dropped = uint64(uint32(in.number)) //nolint:gosec // as protobuf decodes it
		}
	}
	if in.err != nil {
		return in.err
	}
	own, err := s.attributes(message, 3<<3|text)
	if errors.Is(err, errTooDeep) {
		s.deep = true
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name  string
		value []byte
	}{{nameScope, name}, {nameScopeVersion, version}, {nameScopeSchema, schema}} {
		if len(f.value) > 0 {
			if err := s.encoder.string(f.name, f.value); err != nil {
				return err
			}
		}
	}
	if dropped > 0 {
		if err := s.encoder.number(nameScopeDropped, dropped); err != nil {
			return err
		}
	}
	return s.collect(own)
}
