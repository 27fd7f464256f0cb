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

// Kind is the kind of a difference.
type Kind string

// The kinds of difference.
const (
	// MissingEntity means that a segment is not indexed.
	MissingEntity Kind = "missing-entity"
	// StrayEntity means that the blob of an entity does not exist, or that the blob has a second entity.
	StrayEntity Kind = "stray-entity"
	// WrongEntity means that an entity differs from its blob's metadata or footer.
	WrongEntity Kind = "wrong-entity"
	// BadMetadata means that a blob with a segment's name has unreadable metadata.
	BadMetadata Kind = "bad-metadata"
	// WrongMetadata means that a blob's name or metadata differs from its footer.
	WrongMetadata Kind = "wrong-metadata"
	// BadSegment means that a segment's bytes are damaged.
	BadSegment Kind = "bad-segment"
)

// Difference is one inconsistency. It has a JSON form.
type Difference struct {
	Kind Kind `json:"kind"`
	// Object is the blob's name; for an entity that names none, its partition.
	Object string `json:"object"`
	// Text describes the difference.
	Text string `json:"text"`

	// A repair writes the entity of put and removes those of remove.
	put    *listedBlob
	remove []entityKey
}

// String is the difference in one line.
func (d Difference) String() string { return fmt.Sprintf("%s %s: %s", d.Kind, d.Object, d.Text) }

// entityKey identifies an entity of any table.
type entityKey struct {
	table string
	key   store.Key
}

func (p entityKey) String() string {
	return fmt.Sprintf("table %s, entity %q %q", p.table, p.key.Partition, p.key.Row)
}

// quoteKey escapes a part of a key, which may have any bytes, for a terminal.
func quoteKey(s string) string {
	if quoted := strconv.QuoteToASCII(s); len(quoted) != len(s)+len(`""`) || s == "" {
		return quoted
	}
	return s
}

// listedBlob is a listed blob with a segment's name.
type listedBlob struct {
	name string
	// hour is the hour in its name.
	hour, created time.Time
	// entity is the entity that the blob must have, without minutes. If it cannot have one, bad is the
	// reason.
	entity tableindex.Entity
	bad    error
	// outputs is set for a blob of the compacted container.
	outputs bool
	// rejected is set for an output of compaction that a marker rejects: it must not have an entity.
	rejected bool
	// agrees is set if the blob's entity exists and matches; minutes is the hash of the entity's minutes.
	agrees  bool
	minutes [16]byte
}

// indexPart holds the index entities of a part, except those that match their blobs.
type indexPart struct {
	entities  map[entityKey]tableindex.Entity
	malformed map[entityKey]*tableindex.EntityError
	// count is the number of all entities, including those that match.
	count int64
}

// minutesHash returns a hash of minutes, which takes less memory.
func minutesHash(minutes []record.Minute) (id [16]byte) {
	h := fnv.New128a()
	_ = binary.Write(h, binary.LittleEndian, minutes) // a hash never fails
	h.Sum(id[:0])
	return id
}

// compare finds the differences that a listing shows. It is pure.
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
		if e.rejected {
			for _, p := range places {
				all = append(all, Difference{
					Kind:   StrayEntity,
					Object: e.name,
					Text:   "the output is rejected: " + p.String(),
					remove: []entityKey{p},
				})
			}
			continue
		}
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
					all = append(all, Difference{
						Kind:   StrayEntity,
						Object: e.name,
						Text:   "a second entity of the blob: " + p.String(),
						remove: []entityKey{p},
					})
				}
			}
		case malformed[at] != nil:
			d := Difference{Kind: WrongEntity, Object: e.name, Text: malformed[at].Error(), put: e, remove: places}
			if errors.Is(malformed[at], blobnaming.ErrVersion) {
				d.put, d.remove = nil, nil // for a newer version to handle
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

// differ describes the first property, in order of name, in which an entity differs from its blob;
// "" if none does.
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

// properties returns the properties that both a listing and an entity have.
func properties(r tableindex.Entity) map[string]string {
	m := r.Meta.Encode()
	m["ETag"], m["Size"] = r.ETag, fmt.Sprint(r.Size)
	return m
}
