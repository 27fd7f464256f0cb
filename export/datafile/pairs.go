package datafile

import (
	"slices"

	"logstow/export/delta"
	"logstow/message"
	"logstow/record/attributes"
)

// The definition levels of the map: it is null, it is empty, a value in it is null, a value.
const (
	nullMap = iota
	emptyMap
	nullValue
	mapValue
)

// pairs is the column of attributes, a map.
type pairs struct {
	keys, values texts
	names        []string // of the record
	nulls        int64
}

// add adds the attributes of a record, nil for none: by the names under which logq finds them, the first of each.
func (c *pairs) add(text []byte) error {
	for _, leaf := range []*texts{&c.keys, &c.values} {
		if err := leaf.beginRow(0); err != nil {
			return err
		}
		leaf.rows++
	}
	if text == nil {
		c.none(nullMap)
		c.nulls++
		return nil
	}
	c.names = c.names[:0]
	for name, v := range attributes.All(text) {
		if slices.Contains(c.names, name) {
			continue
		}
		repetition := uint8(min(len(c.names), 1))
		c.names = append(c.names, name)
		c.keys.value(nullValue, repetition)
		c.keys.put([]byte(name))
		if v.Kind == message.Null || v.Kind == message.Missing {
			c.values.value(nullValue, repetition)
			c.values.nulls++
		} else {
			c.values.value(mapValue, repetition)
			c.values.put(v.Text)
		}
	}
	if len(c.names) == 0 {
		c.none(emptyMap)
	}
	return nil
}

// none adds a map without pairs.
func (c *pairs) none(definition uint8) {
	for _, leaf := range []*texts{&c.keys, &c.values} {
		leaf.value(definition, 0)
		leaf.nulls++
	}
}

func (c *pairs) endGroup(f *file) error {
	if err := c.keys.endGroup(f); err != nil {
		return err
	}
	return c.values.endGroup(f)
}

func (c *pairs) addStats(s *delta.Stats) { s.Nulls[attributesColumn] = c.nulls }
