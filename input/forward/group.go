package forward

import (
	"encoding/binary"
	"math"
	"slices"

	"logstow/record/attributes"
)

// Fluent Bit marks the begin and the end of records that share a resource and a scope by events with the times -1 and -2, which are no
// records. As its OTLP input makes them:
//
//	[[-1, {"schema": "otlp", ...}], {"resource": {"attributes": {...}, ...}, "scope": {"name": "...", "attributes": {...}, ...}}]
//	[[-2, {}], {}]
//
// https://docs.fluentbit.io/manual/data-pipeline/processors/opentelemetry-envelope

// marker is what an event marks.
type marker uint8

const (
	noMarker marker = iota
	beginMarker
	endMarker
)

// markerOf returns what an event with this time marks.
func markerOf(when []byte) marker {
	in := cursor{when}
	h, body, err := in.next()
	if err == nil && h.kind == kindArray && h.n > 0 {
		h, body, err = in.next()
	}
	seconds := int64(0)
	switch {
	case err != nil:
	case h.kind == kindInt:
		seconds = int64(h.n)
	case h.kind == kindExt && h.ext == 0 && len(body) == 8:
		seconds = int64(int32(binary.BigEndian.Uint32(body)))
	}
	switch seconds {
	case -1:
		return beginMarker
	case -2:
		return endMarker
	}
	return noMarker
}

// group is what the records of a group have in common. The zero value is that of records without a group.
type group struct {
	resource, scope *attributes.Group
	// beside are the fields that are stored beside the attributes of the record.
	beside []attributes.Member
	// cut counts what was left out, all what there is.
	cut, all int
	// size is the size of the encoded attributes, held the memory reserved for them.
	size, held int
}

const (
	// groupCost is the approximate memory for the attributes of a group per byte of msgpack: short ones take most.
	groupCost = 64
	// maxShared bounds the size of the attributes that the records of a message get of groups. Further records are stored without them.
	maxShared = 128 << 20
)

// marker reads the record of a marker. A begin within a group is also its end.
func (c *collector) marker(kind marker, in *cursor) error {
	body, err := in.value()
	if err != nil {
		return err
	}
	_ = c.grow(-c.group.held)
	c.group = group{}
	if kind == endMarker {
		return nil
	}
	held := groupCost * min(len(body), maxMetadata)
	if err := c.grow(held); err != nil {
		return err
	}
	c.group.held = held
	return c.group.parse(body)
}

// skip passes an event that is stored already: a marker counts for those behind it.
func (c *collector) skip(b []byte) error {
	in := cursor{b}
	if _, err := in.list(2); err != nil {
		return err
	}
	when, err := in.value()
	if kind := markerOf(when); err == nil && kind != noMarker {
		return c.marker(kind, &in)
	}
	return err
}

// parse reads the record of a group's begin. What it does not know is left out, and counted.
func (g *group) parse(body []byte) error {
	in := cursor{body}
	h, _, err := in.next()
	if err != nil || h.kind != kindMap {
		return err
	}
	if len(body) > maxMetadata {
		g.cut = int(min(h.n, math.MaxInt32))
	} else if err := g.parts(&in, h.n); err != nil {
		return err
	}
	set := attributes.Set{}
	g.add(&set)
	text, _ := set.Append(nil)
	g.size = len(text)
	return nil
}

// parts reads n members: resource and scope.
func (g *group) parts(in *cursor, n uint64) error {
	for range n {
		name, value, err := in.member()
		if err != nil {
			return err
		}
		switch {
		case string(name) == "resource" && g.resource == nil:
			g.resource, err = g.part(value, func(field string) string {
				switch field {
				case "schema_url":
					return attributes.ResourceSchema
				case "dropped_attributes_count":
					return attributes.ResourceDropped
				}
				return ""
			})
		case string(name) == "scope" && g.scope == nil:
			g.scope, err = g.part(value, func(field string) string {
				switch field {
				case "name":
					return attributes.ScopeName
				case "version":
					return attributes.ScopeVersion
				case "schema_url":
					return attributes.ScopeSchema
				case "dropped_attributes_count":
					return attributes.ScopeDropped
				}
				return ""
			})
		default:
			g.cut++
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// part reads a resource or a scope: its attributes, and fields that are stored under the names that stored returns.
func (g *group) part(value []byte, stored func(field string) string) (*attributes.Group, error) {
	var all *attributes.Group
	in := cursor{value}
	h, _, err := in.next()
	if err != nil || h.kind != kindMap {
		g.cut++
		return nil, err
	}
	for range h.n {
		name, value, err := in.member()
		if err != nil {
			return nil, err
		}
		of := cursor{value}
		switch as := stored(string(name)); {
		case as != "" && !slices.ContainsFunc(g.beside, func(m attributes.Member) bool { return m.Name == as }):
			encoded, err := attribute(nil, &of, 0)
			if err != nil {
				return nil, err
			}
			if string(encoded) != `""` { // not set
				g.beside, g.all = append(g.beside, attributes.Member{Name: as, Value: encoded}), g.all+1
			}
		case string(name) == "attributes" && all == nil:
			h, _, err := of.next()
			if err != nil {
				return nil, err
			}
			if h.kind != kindMap {
				g.cut++
				continue
			}
			list, err := members(&of, h.n, 0)
			if err != nil {
				return nil, err
			}
			g.all += len(list)
			all = attributes.NewGroup(list)
		default:
			g.cut++
		}
	}
	return all, nil
}

// add adds the attributes to those of a record.
func (g *group) add(set *attributes.Set) {
	set.Own = append(set.Own, g.beside...)
	set.Resource, set.Scope, set.Cut = g.resource, g.scope, set.Cut+g.cut
}
