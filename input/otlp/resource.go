package otlp

import (
	"bytes"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// resource is the common part of the records of one ResourceLogs.
type resource struct {
	// suffix is the end of the records' objects. It is written once, however many scopes there are.
	suffix []byte
	// deep is set if it could not be written because of errTooDeep.
	deep bool
	// service is the value of service.name.
	service, source string
}

// sources are the attributes that name a record's source, in order of preference.
const (
	attrPod       = "k8s.pod.name"
	attrPodPart   = "k8s.container.name"
	attrInstance  = "service.instance.id"
	attrContainer = "container.name"
	attrHost      = "host.name"
	attrService   = "service.name"
)

// newResource parses a Resource message; its output is in o.
func newResource(message []byte, o *object) (resource, error) {
	var names map[string]string
	err := each(message, func(f field) error {
		if !f.is(1, protowire.BytesType) {
			return nil
		}
		key, value, err := keyValue(f.bytes)
		if err != nil {
			return err
		}
		switch string(key) {
		case attrPod, attrPodPart, attrInstance, attrContainer, attrHost, attrService:
			if names == nil {
				names = map[string]string{}
			}
			names[string(key)] = plain(value)
		}
		return nil
	})
	if err != nil {
		return resource{}, err
	}
	err = o.resource(message)
	deep := errors.Is(err, errTooDeep)
	if deep {
		o.discard()
		err = nil
	}
	return resource{suffix: o.finish(), deep: deep, service: names[attrService], source: source(names)}, err
}

func source(names map[string]string) string {
	if pod := names[attrPod]; pod != "" {
		if part := names[attrPodPart]; part != "" {
			return pod + "/" + part
		}
		return pod
	}
	for _, name := range []string{attrInstance, attrContainer, attrHost, attrService} {
		if names[name] != "" {
			return names[name]
		}
	}
	return ""
}

// plain is the beginning of an AnyValue's string, up to the maximum length of a name.
func plain(any []byte) string {
	var text []byte
	_ = each(any, func(f field) error { // malformed values are reported where they are written
		if f.is(1, protowire.BytesType) {
			text = f.bytes
		}
		return nil
	})
	return string(bytes.ToValidUTF8(text[:min(len(text), 255)], []byte("_")))
}

// resource writes the end of the records' objects: the resource, if it is not empty.
func (o *object) resource(message []byte) error {
	const name = `,"resource":`
	put(o, name)
	if err := o.keyValues(message, 1, 0); err != nil {
		return err
	}
	if len(o.b)-o.start == len(name)+len("{}") {
		o.discard()
	}
	put(o, "}")
	return o.err
}

// scope writes the member for an InstrumentationScope, if it is not empty.
func (o *object) scope(message []byte) error {
	var name, version []byte
	attributes := false
	err := each(message, func(f field) error {
		switch {
		case f.is(1, protowire.BytesType):
			name = f.bytes
		case f.is(2, protowire.BytesType):
			version = f.bytes
		case f.is(3, protowire.BytesType):
			attributes = true
		}
		return nil
	})
	if err != nil || len(name) == 0 && len(version) == 0 && !attributes {
		return err
	}
	put(o, `,"scope":{`)
	separator := ""
	member := func(key string) {
		put(o, separator+`"`+key+`":`)
		separator = ","
	}
	if len(name) > 0 {
		member("name")
		if err := o.text(name); err != nil {
			return err
		}
	}
	if len(version) > 0 {
		member("version")
		if err := o.text(version); err != nil {
			return err
		}
	}
	if attributes {
		member("attributes")
		if err := o.keyValues(message, 3, 0); err != nil {
			return err
		}
	}
	put(o, "}")
	return o.err
}
