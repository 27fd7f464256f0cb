package fieldstats

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"logstow/field"
	"logstow/field/parse"
	"logstow/record"
)

// limits bound what a collector keeps.
type limits struct {
	// names is the number of fields, values that of values of each, bytes about the memory of all.
	names, values, bytes int
}

// globalLimits are those of all records, blockLimits those of a block's.
func globalLimits() limits { return limits{2000, 1000, 32 << 20} }
func blockLimits() limits  { return limits{4000, 1000, 4 << 20} }

const (
	// fewestValues is the number of values of a field that are kept however little memory there is.
	fewestValues = 16
	// valueOverhead is about what a value takes beside its text.
	valueOverhead = 64
)

// collector collects the fields of records.
type collector struct {
	limits
	fields  map[string]*fieldCount
	records uint64
	// used is about the memory of the values.
	used    int
	leftOut bool

	splitter *parse.Splitter
	message  []byte
}

// fieldCount is what was found of a field so far.
type fieldCount struct {
	records uint64
	types   [types]uint64
	// values are counts by type, text and, of a long text, a hash.
	values map[string]uint64
	// distinct is how many values there are at least, more whether there may be others.
	distinct int
	more     bool
	// lost is how much greater than in values a count may be.
	lost uint64
	// last is the number of the last record that has it.
	last uint64
}

func newCollector(l limits) *collector {
	return &collector{limits: l, fields: map[string]*fieldCount{}}
}

// use has a parser find the fields of the records that follow.
func (c *collector) use(parser *parse.Parser) { c.splitter = parser.Splitter() }

// add adds a record with a message as stored.
func (c *collector) add(raw []byte) {
	c.records++
	c.message = record.AppendMessage(c.message[:0], raw)
	c.splitter.Split(c.message)
	for name, v := range c.splitter.All() {
		if f := c.field(name); f != nil && f.last != c.records {
			f.last = c.records // of repeated names the first counts
			f.add(c, v)
		}
	}
}

// field is a field, nil if there are too many.
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
func (f *fieldCount) add(c *collector, v field.Value) {
	f.records++
	t := typeOf(v)
	f.types[t]++
	if t != Null && t != Object {
		f.count(c, valueKey(t, v.Text), 1)
	}
}

// valueKey is the key of a value.
func valueKey(t Type, text []byte) string {
	key := make([]byte, 1, 1+min(len(text), MaxText)+8)
	key[0] = byte(t)
	if len(text) <= MaxText {
		return string(append(key, text...))
	}
	h := fnv.New64a()
	_, _ = h.Write(text) // it cannot fail
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

// prune keeps the most frequent values, as the summaries of Misra and Gries do: what is subtracted from
// their counts bounds what the counts of the others were.
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

// merge adds what another collector found.
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

// sorted are the names in the order of the records that have them, the greatest number first.
func (c *collector) sorted() []string {
	return slices.SortedFunc(maps.Keys(c.fields), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.fields[b].records, c.fields[a].records), strings.Compare(a, b))
	})
}

// result are the fields, with the most frequent values of each.
func (c *collector) result(top int) []Field {
	fields := make([]Field, 0, len(c.fields))
	for _, name := range c.sorted() {
		f := c.fields[name]
		one := Field{Name: name, Records: f.records, Types: f.types, Distinct: max(f.distinct, len(f.values)), More: f.more}
		if one.Distinct > c.values {
			one.Distinct, one.More = c.values, true
		}
		keys := slices.SortedFunc(maps.Keys(f.values), func(a, b string) int {
			return cmp.Or(cmp.Compare(f.values[b], f.values[a]), strings.Compare(a, b))
		})
		for _, key := range keys {
			if len(one.Top) == top || f.values[key] <= f.lost {
				break // by chance among those that are left
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
