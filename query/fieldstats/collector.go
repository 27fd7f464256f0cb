package fieldstats

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"logstow/field"
	"logstow/message"
	"logstow/message/parse"
	"logstow/record"
	"logstow/record/attributes"
)

// limits bound the memory of a collector.
type limits struct {
	// names is the maximum number of fields, values that of values of each field, bytes the approximate memory of all.
	names, values, bytes int
}

// globalLimits returns the limits of the collector of all records, blockLimits those of the collector of a block.
func globalLimits() limits { return limits{2000, 1000, 32 << 20} }
func blockLimits() limits  { return limits{4000, 1000, 4 << 20} }

const (
	// fewestValues is the minimum number of values of a field that are kept, regardless of the memory.
	fewestValues = 16
	// valueOverhead is the approximate memory of a value in addition to its text.
	valueOverhead = 64
)

// collector collects the fields of records.
type collector struct {
	limits
	fields  map[string]*fieldCount
	records uint64
	// used is the approximate memory of names and values in bytes.
	used    int
	leftOut bool

	splitter *parse.Splitter
	message  record.Message
}

// fieldCount has the counts of a field so far.
type fieldCount struct {
	records uint64
	// attributes is the number of records of which it is an attribute.
	attributes uint64
	types      [types]uint64
	// values are counts by the keys of values: see valueKey.
	values map[string]uint64
	// distinct is the minimum number of distinct values; more is set if there may be others.
	distinct int
	more     bool
	// lost is the maximum by which true counts exceed those in values.
	lost uint64
	// last is the number of the last record that has the field.
	last uint64
}

func newCollector(l limits) *collector {
	return &collector{limits: l, fields: map[string]*fieldCount{}}
}

// use sets the parser of the following records.
func (c *collector) use(parser *parse.Parser) { c.splitter = parser.Splitter() }

// add adds a record with attributes and a message as stored.
func (c *collector) add(attrs, raw []byte) {
	c.records++
	if len(attrs) > 0 {
		for name, v := range attributes.All(attrs) {
			if field.IsFixed(name) { // message.NAME is not an attribute
				name = attributes.Prefix + name
			}
			if f := c.addField(name, v); f != nil {
				f.attributes++
			}
		}
	}
	c.message.Decode(raw)
	c.splitter.Split(nil, c.message)
	for name, v := range c.splitter.All() {
		c.addField(name, v)
	}
}

// addField adds a field of the current record; only the first one of a name counts. It returns nil if it does not count.
func (c *collector) addField(name string, v message.Value) *fieldCount {
	f := c.field(name)
	if f == nil || f.last == c.records {
		return nil
	}
	f.last = c.records
	f.add(c, v)
	return f
}

// field returns the counts of a field, nil if there are too many fields.
func (c *collector) field(name string) *fieldCount {
	f := c.fields[name]
	if f == nil {
		if len(c.fields) >= 2*c.names || c.used > 2*c.bytes {
			c.leftOut = true
			return nil
		}
		f = &fieldCount{values: map[string]uint64{}}
		c.fields[strings.Clone(name)] = f
		c.used += len(name) + valueOverhead
	}
	return f
}

// add adds a value.
func (f *fieldCount) add(c *collector, v message.Value) {
	f.records++
	t := typeOf(v)
	f.types[t]++
	if t != Null && t != Object {
		f.count(c, valueKey(t, v.Text), 1)
	}
}

// valueKey returns the key of a value: type, text and, if the text is truncated to MaxText bytes, a hash.
func valueKey(t Type, text []byte) string {
	key := make([]byte, 1, 1+min(len(text), MaxText)+8)
	key[0] = byte(t)
	if len(text) <= MaxText {
		return string(append(key, text...))
	}
	h := fnv.New64a()
	_, _ = h.Write(text) // never fails
	key = append(key, text[:MaxText]...)
	return string(binary.BigEndian.AppendUint64(key, h.Sum64()))
}

// count adds n to the count of a value.
func (f *fieldCount) count(c *collector, key string, n uint64) {
	if _, known := f.values[key]; known {
		f.values[key] += n
		return
	}
	if c.used > 2*c.bytes {
		f.more, f.lost = true, f.lost+n
		return
	}
	f.values[key] = n
	c.used += len(key) + valueOverhead
	if len(f.values) > 2*c.values {
		f.prune(c)
	}
	for c.used > c.bytes && c.values > fewestValues {
		c.values /= 2
		for _, other := range c.fields {
			other.prune(c)
		}
	}
}

// prune keeps the most frequent values, as in a Misra-Gries summary: it subtracts from all counts an upper bound of the counts that it
// removes.
func (f *fieldCount) prune(c *collector) {
	f.distinct = max(f.distinct, min(len(f.values), c.values))
	if len(f.values) <= c.values {
		return
	}
	counts := slices.Sorted(maps.Values(f.values))
	subtract := counts[len(counts)-1-c.values]
	for key, n := range f.values {
		if n <= subtract {
			delete(f.values, key)
			c.used -= len(key) + valueOverhead
		} else {
			f.values[key] = n - subtract
		}
	}
	f.more, f.lost = true, f.lost+subtract
}

// merge adds the counts of another collector.
func (c *collector) merge(other *collector) {
	c.records += other.records
	c.leftOut = c.leftOut || other.leftOut
	for _, name := range slices.Sorted(maps.Keys(other.fields)) {
		from, to := other.fields[name], c.fields[name]
		if to == nil {
			to = &fieldCount{values: map[string]uint64{}}
			c.fields[name] = to
			c.used += len(name) + valueOverhead
		}
		to.records += from.records
		to.attributes += from.attributes
		for t, n := range from.types {
			to.types[t] += n
		}
		to.distinct, to.more, to.lost = max(to.distinct, from.distinct), to.more || from.more, to.lost+from.lost
		for _, key := range slices.Sorted(maps.Keys(from.values)) {
			to.count(c, key, from.values[key])
		}
	}
	c.dropRare()
}

// dropRare drops the fields of the fewest records if there are too many.
func (c *collector) dropRare() {
	if len(c.fields) <= c.names {
		return
	}
	c.leftOut = true
	for _, name := range c.sorted()[c.names:] {
		c.used -= len(name) + valueOverhead
		for key := range c.fields[name].values {
			c.used -= len(key) + valueOverhead
		}
		delete(c.fields, name)
	}
}

// sorted returns the names by the number of records that have them, the greatest first.
func (c *collector) sorted() []string {
	return slices.SortedFunc(maps.Keys(c.fields), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.fields[b].records, c.fields[a].records), strings.Compare(a, b))
	})
}

// result returns the fields, with up to top of the most frequent values of each.
func (c *collector) result(top int) []Field {
	fields := make([]Field, 0, len(c.fields))
	for _, name := range c.sorted() {
		f := c.fields[name]
		one := Field{
			Name:       name,
			Records:    f.records,
			Attributes: f.attributes,
			Types:      f.types,
			Distinct:   max(f.distinct, len(f.values)),
			More:       f.more,
		}
		if one.Distinct > c.values {
			one.Distinct, one.More = c.values, true
		}
		keys := slices.SortedFunc(maps.Keys(f.values), func(a, b string) int {
			return cmp.Or(cmp.Compare(f.values[b], f.values[a]), strings.Compare(a, b))
		})
		for _, key := range keys {
			if len(one.Top) == top || f.values[key] <= f.lost {
				break // may be less frequent than a removed value
			}
			v := Value{Type: Type(key[0]), Text: key[1:], Count: f.values[key]}
			if v.Cut = len(v.Text) > MaxText; v.Cut {
				v.Text = v.Text[:MaxText]
			}
			one.Top = append(one.Top, v)
		}
		fields = append(fields, one)
	}
	return fields
}
