package audit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/store"
	"logstow/tableindex"
)

// Kind is what a difference is.
type Kind string

// The kinds of difference.
const (
	// MissingEntity: a segment is not in the index.
	MissingEntity Kind = "missing-entity"
	// StrayEntity: the blob of an entity is gone, or it is the blob's second entity.
	StrayEntity Kind = "stray-entity"
	// WrongEntity: an entity says otherwise than its blob's metadata or footer.
	WrongEntity Kind = "wrong-entity"
	// BadMetadata: a blob with a segment's name has metadata that can not be read.
	BadMetadata Kind = "bad-metadata"
	// WrongMetadata: a blob's name or metadata says otherwise than its footer.
	WrongMetadata Kind = "wrong-metadata"
	// BadSegment: a segment's bytes are damaged.
	BadSegment Kind = "bad-segment"
)

// Difference is one thing that is not as it should be. It has a JSON form.
type Difference struct {
	Kind Kind `json:"kind"`
	// Object is the blob's name; of an entity that names none, its partition.
	Object string `json:"object"`
	// Text says what differs.
	Text string `json:"text"`

	// put is what the index should say of the blob, remove what it should not hold.
	put    *listedBlob
	remove []entityKey
}

// String is the difference in one line.
func (d Difference) String() string { return fmt.Sprintf("%s %s: %s", d.Kind, d.Object, d.Text) }

// entityKey is an entity's.
type entityKey struct {
	table string
	key   store.Key
}

func (p entityKey) String() string {
	return fmt.Sprintf("table %s, entity %q %q", p.table, p.key.Partition, p.key.Row)
}

// quoteKey is part of a key that anybody may have written, safe for a terminal.
func quoteKey(s string) string {
	if quoted := strconv.QuoteToASCII(s); len(quoted) != len(s)+len(`""`) || s == "" {
		return quoted
	}
	return s
}

// listedBlob is a listed blob with a segment's name.
type listedBlob struct {
	name string
	// hour is that in its name.
	hour, created time.Time
	// entity is what the index should say of it, without minutes, unless bad says why it can say nothing.
	entity tableindex.Entity
	bad    error
	// agrees says that its entity is there and says the same, and what identifies its minutes.
	agrees  bool
	minutes [16]byte
}

// indexPart is what the index says of a part, but for entities that agree with their blobs.
type indexPart struct {
	entities  map[entityKey]tableindex.Entity
	malformed map[entityKey]*tableindex.EntityError
	// count is the number of all.
	count int64
}

// minutesHash identifies what says the same of minutes; it is what is held of them.
func minutesHash(minutes []record.Minute) (id [16]byte) {
	h := fnv.New128a()
	_ = binary.Write(h, binary.LittleEndian, minutes) // a hash never fails
	h.Sum(id[:0])
	return id
}

// compare finds what differs at the cost of listing. It is pure.
func compare(container string, blobs []listedBlob, index indexPart) []Difference {
	byBlob := make(map[string][]entityKey, len(index.entities))
	for p, entity := range index.entities {
		name := entity.Name.String()
		byBlob[name] = append(byBlob[name], p)
	}
	malformed := maps.Clone(index.malformed)
	var all []Difference
	for i := range blobs {
		e := &blobs[i]
		places := byBlob[e.name]
		delete(byBlob, e.name)
		if e.bad != nil {
			all = append(all, Difference{Kind: BadMetadata, Object: e.name, Text: e.bad.Error()})
			continue
		}
		at := entityKey{e.entity.Table(container), e.entity.Key()}
		own, ok := index.entities[at]
		switch {
		case ok || e.agrees:
			if ok {
				text := differ(e.entity, own)
				all = append(all, Difference{Kind: WrongEntity, Object: e.name, Text: text, put: e})
			}
			for _, p := range places {
				if p != at {
					all = append(all, Difference{Kind: StrayEntity, Object: e.name, Text: "a second entity of the blob: " + p.String(), remove: []entityKey{p}})
				}
			}
		case malformed[at] != nil:
			d := Difference{Kind: WrongEntity, Object: e.name, Text: malformed[at].Error(), put: e, remove: places}
			if errors.Is(malformed[at], blobnaming.ErrVersion) {
				d.put, d.remove = nil, nil // a newer version's business
			}
			delete(malformed, at)
			all = append(all, d)
		case len(places) > 0:
			text := differ(e.entity, index.entities[places[0]])
			all = append(all, Difference{Kind: WrongEntity, Object: e.name, Text: text, put: e, remove: places})
		default:
			all = append(all, Difference{Kind: MissingEntity, Object: e.name, Text: "table " + at.table + " does not have it", put: e})
		}
	}
	for name, places := range byBlob {
		for _, p := range places {
			all = append(all, Difference{Kind: StrayEntity, Object: name, Text: "the blob is gone: " + p.String(), remove: []entityKey{p}})
		}
	}
	for p, err := range malformed {
		d := Difference{Kind: StrayEntity, Object: quoteKey(p.key.Partition), Text: err.Error(), remove: []entityKey{p}}
		if errors.Is(err, blobnaming.ErrVersion) {
			d.remove = nil
		}
		all = append(all, d)
	}
	return all
}

// differ says the first thing, in order of name, that an entity says otherwise than its blob; "" is none.
func differ(blob, entity tableindex.Entity) string {
	want, got := properties(blob), properties(entity)
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if want[key] != got[key] {
			return fmt.Sprintf("%s is %q, the blob has %q", key, got[key], want[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if want[key] != got[key] {
			return fmt.Sprintf("%s is %q, the blob has none", key, got[key])
		}
	}
	return ""
}

// properties are what both a listing and an entity say.
func properties(r tableindex.Entity) map[string]string {
	m := r.Meta.Encode()
	m["ETag"], m["Size"] = r.ETag, fmt.Sprint(r.Size)
	return m
}
