package otlp

import (
	"bytes"
	"errors"

	"logstow/input/httpserver"
	"logstow/input/protobuf"
	"logstow/record/attributes"
)

// shared are the attributes that records have in common: those of a resource or a scope.
type shared struct {
	httpserver.Shared
	// deep is set if they cannot be stored because of errTooDeep.
	deep bool
}

func (s *shared) reset() {
	s.Reset()
	s.deep = false
}

// attributes adds the attributes that are fields of a message, and counts them.
func (s *shared) attributes(message []byte, tag uint64) (n int, err error) {
	to := encoder{&s.Attributes}
	in := protobuf.Fields{Rest: message}
	for in.Next() {
		if in.Tag != tag {
			continue
		}
		key, value, err := protobuf.Pair(in.Bytes)
		if err != nil {
			return 0, err
		}
		name, err := to.Name(key)
		if err != nil {
			return 0, err
		}
		if err := to.attribute(name, value); err != nil {
			return 0, err
		}
		n++
	}
	return n, in.Err
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
	in := protobuf.Fields{Rest: message}
	for in.Next() {
		switch in.Tag {
		case 1<<3 | protobuf.Text:
			key, value, err := protobuf.Pair(in.Bytes)
			if err != nil {
				return err
			}
			switch string(key) {
			case attrPod, attrPodPart, attrInstance, attrContainer, attrHost, attrService:
				values[string(key)] = plain(value)
			}
		case 2<<3 | protobuf.Varint:
			dropped = uint64(uint32(in.Number)) //nolint:gosec // as protobuf decodes it
		case 3<<3 | protobuf.Text:
			entities = true
		}
	}
	if in.Err != nil {
		return in.Err
	}
	r.service, r.source = values[attrService], source(values)
	own, err := r.attributes(message, 1<<3|protobuf.Text)
	if errors.Is(err, errTooDeep) {
		r.deep = true
		return nil
	}
	if err != nil {
		return err
	}
	if len(schema) > 0 {
		if err := httpserver.AddText(&r.Attributes, attributes.ResourceSchema, schema); err != nil {
			return err
		}
	}
	if dropped > 0 {
		if err := httpserver.AddNumber(&r.Attributes, attributes.ResourceDropped, dropped); err != nil {
			return err
		}
	}
	if entities {
		if err := (&encoder{&r.Attributes}).entities(message); err != nil {
			return err
		}
	}
	return r.Group(own)
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
	at := len(e.Text)
	if err := e.elements(message, 3<<3|protobuf.Text, e.entity); err != nil {
		return err
	}
	return e.Add(nameResourceEntities, at)
}

// entity appends an EntityRef as a map of the fields that are set, in the order of their names.
func (e *encoder) entity(message []byte) error {
	fieldsOf := []struct {
		name string
		tag  uint64
		list bool
	}{{"description_keys", 4<<3 | protobuf.Text, true}, {"id_keys", 3<<3 | protobuf.Text, true}, {"schema_url", 1<<3 | protobuf.Text, false}, {"type", 2<<3 | protobuf.Text, false}}
	open := "{"
	put := func(s string) error {
		if err := e.Reserve(len(s)); err != nil {
			return err
		}
		e.Text = append(e.Text, s...)
		return nil
	}
	for _, f := range fieldsOf {
		begin, end := open+`"`+f.name+`":`, ""
		if f.list {
			begin, end = begin+"[", "]"
		}
		found := false
		in := protobuf.Fields{Rest: message}
		for in.Next() {
			if in.Tag != f.tag || found && !f.list {
				continue
			}
			if found {
				begin = ","
			}
			found = true
			if err := put(begin); err != nil {
				return err
			}
			if err := e.appendText(in.Bytes, 1); err != nil {
				return err
			}
		}
		if in.Err != nil {
			return in.Err
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
	in := protobuf.Fields{Rest: message}
	for in.Next() {
		switch in.Tag {
		case 1<<3 | protobuf.Text:
			name = in.Bytes
		case 2<<3 | protobuf.Text:
			version = in.Bytes
		case 4<<3 | protobuf.Varint:
			dropped = uint64(uint32(in.Number)) //nolint:gosec // as protobuf decodes it
		}
	}
	if in.Err != nil {
		return in.Err
	}
	own, err := s.attributes(message, 3<<3|protobuf.Text)
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
	}{{attributes.ScopeName, name}, {attributes.ScopeVersion, version}, {attributes.ScopeSchema, schema}} {
		if len(f.value) > 0 {
			if err := httpserver.AddText(&s.Attributes, f.name, f.value); err != nil {
				return err
			}
		}
	}
	if dropped > 0 {
		if err := httpserver.AddNumber(&s.Attributes, attributes.ScopeDropped, dropped); err != nil {
			return err
		}
	}
	return s.Group(own)
}
