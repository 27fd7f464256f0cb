package audit_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"logstow/audit"
	"logstow/blobnaming"
	"logstow/store"
	"logstow/tableindex"
)

const (
	missing, stray, entityOff    = audit.MissingEntity, audit.StrayEntity, audit.WrongEntity
	badMeta, wrongMeta, badBytes = audit.BadMetadata, audit.WrongMetadata, audit.BadSegment
)

// damages are the ways in which a segment, which is not stored yet, and its entity can be wrong.
func damages() map[string]func(t *testing.T, g *garden, m made) {
	return map[string]func(t *testing.T, g *garden, m made){
		"missing entity": func(t *testing.T, g *garden, m made) {
			create(t, g.s, &m, m.entity.Meta.Encode())
			g.expect(m.entity.Name.String(), repaired(missing, missing, missing))
		},
		"missing blob": func(t *testing.T, g *garden, m made) {
			index(t, g.s, m.entity)
			g.expect(m.entity.Name.String(), repaired(stray, stray, stray))
		},
		"second entity": func(t *testing.T, g *garden, m made) {
			m.whole(t, g.s)
			m.entity.Meta.End++
			index(t, g.s, m.entity)
			g.expect(m.entity.Name.String(), repaired(stray, stray, stray))
		},
		"second entity and minutes": func(t *testing.T, g *garden, m made) {
			create(t, g.s, &m, m.entity.Meta.Encode())
			m.entity.Minutes = nil
			index(t, g.s, m.entity)
			m.entity.Meta.End++
			index(t, g.s, m.entity)
			g.expect(m.entity.Name.String(), repaired(stray, stray, stray))
			g.expect(m.entity.Name.String(), repaired("", entityOff, entityOff))
		},
		"value": func(t *testing.T, g *garden, m made) {
			m.whole(t, g.s)
			tamper(t, g.s, m.entity, func(e *store.Entity) { changeValue(g.rng, e) })
			g.expect(m.entity.Name.String(), repaired(entityOff, entityOff, entityOff))
		},
		"type": func(t *testing.T, g *garden, m made) {
			m.whole(t, g.s)
			tamper(t, g.s, m.entity, func(e *store.Entity) { changeType(g.rng, e) })
			g.expect(m.entity.Name.String(), repaired(entityOff, entityOff, entityOff))
		},
		"no value": func(t *testing.T, g *garden, m made) {
			m.whole(t, g.s)
			tamper(t, g.s, m.entity, func(e *store.Entity) {
				must := []string{"V", "Blob", "ETag", "Size", "StartTime", "EndTime", "LogVersion", "Records", "RawBytes", "Levels", "Batch", "Instance", "Seq", "Footer"}
				delete(e.Properties, must[g.rng.IntN(len(must))])
			})
			g.expect(m.entity.Name.String(), repaired(entityOff, entityOff, entityOff))
		},
		"another type of entity": func(t *testing.T, g *garden, m made) {
			m.whole(t, g.s)
			tamper(t, g.s, m.entity, func(e *store.Entity) { e.Properties["Type"] = "other" })
			g.expect(m.entity.Name.String(), repaired(missing, missing, missing))
		},
		"newer entity": func(t *testing.T, g *garden, m made) {
			m.whole(t, g.s)
			tamper(t, g.s, m.entity, func(e *store.Entity) { e.Properties["V"] = int64(2) })
			if g.rng.IntN(2) == 0 {
				tamper(t, g.s, m.entity, func(e *store.Entity) { e.Properties["LogVersion"] = "logstow/1" })
			}
			g.expect(m.entity.Name.String(), lasting(entityOff, entityOff, entityOff))
		},
		"newer stray entity": func(t *testing.T, g *garden, m made) {
			index(t, g.s, m.entity)
			tamper(t, g.s, m.entity, func(e *store.Entity) { e.Properties["V"] = int64(2) })
			g.expect(m.entity.Key().Partition, lasting(stray, stray, stray))
		},
		"partition": func(t *testing.T, g *garden, m made) {
			partition := m.entity.Key().Partition
			for partition == m.entity.Key().Partition {
				partition = partitionOf(m.entity.Name.Service, g.rng.IntN(16))
			}
			g.misplace(t, m, func(k *store.Key) { k.Partition = partition })
		},
		"no partition": func(t *testing.T, g *garden, m made) {
			for _, partition := range []string{"no-service", m.entity.Name.Service + "|10", m.entity.Name.Service + "|zz", "NO|00", m.entity.Name.Service + "|0"}[g.rng.IntN(5):][:1] {
				g.misplace(t, m, func(k *store.Key) { k.Partition = partition })
			}
		},
		"another service's partition": func(t *testing.T, g *garden, m made) {
			partition := partitionOf("other", g.rng.IntN(16))
			g.misplace(t, m, func(k *store.Key) { k.Partition = partition })
		},
		"row key": func(t *testing.T, g *garden, m made) {
			g.misplace(t, m, func(k *store.Key) { k.Row = changedDigit(k.Row, g.rng) })
		},
		"no row key": func(t *testing.T, g *garden, m made) {
			row := []string{"0" + strconv.Itoa(g.rng.Int()), "~" + strconv.Itoa(g.rng.Int())}[g.rng.IntN(2)]
			g.misplace(t, m, func(k *store.Key) { k.Row = row })
		},
		"table": func(t *testing.T, g *garden, m made) {
			m.whole(t, g.s)
			another := tableindex.TableName(g.s.Container(), "other", m.entity.Name.Bucket.AddDate(0, 0, g.rng.IntN(5)-2))
			g.move(t, m, another)
			g.expect(m.entity.Name.String(), repaired(missing, missing, missing))
			g.expect(m.entity.Key().Partition, repaired(stray, stray, stray))
		},
		"class": func(t *testing.T, g *garden, m made) {
			create(t, g.s, &m, m.entity.Meta.Encode())
			m.entity.Meta.Class = "other"
			index(t, g.s, m.entity)
			g.expect(m.entity.Name.String(), repaired(entityOff, entityOff, entityOff))
		},
		"minutes": func(t *testing.T, g *garden, m made) {
			m.whole(t, g.s)
			if g.rng.IntN(2) == 0 {
				m.entity.Minutes = nil
			} else {
				m.entity.Minutes = slices.Clone(m.entity.Minutes)
				for i := range m.entity.Minutes {
					m.entity.Minutes[i].Start += 60
				}
			}
			index(t, g.s, m.entity)
			g.expect(m.entity.Name.String(), repaired("", entityOff, entityOff))
		},
		"unneeded table": func(t *testing.T, g *garden, m made) {
			name := tableindex.TableName(g.s.Container(), "unneeded", m.entity.Name.Bucket)
			if err := g.s.Tables().CreateTable(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		},
		"metadata": func(t *testing.T, g *garden, m made) {
			metadata := m.entity.Meta.Encode()
			changeMetadata(t, g.rng, m.entity.Name, metadata)
			create(t, g.s, &m, metadata)
			index(t, g.s, m.entity)
			g.expect(m.entity.Name.String(), lasting(entityOff, wrongMeta, wrongMeta))
		},
		"unreadable metadata": func(t *testing.T, g *garden, m made) {
			metadata := m.entity.Meta.Encode()
			keys := []string{"StartTime", "EndTime", "LogVersion", "Records", "RawBytes", "Levels", "Batch", "Seq", "Footer", "Filter"}
			if key := keys[g.rng.IntN(len(keys))]; g.rng.IntN(2) == 0 {
				metadata[key] = "odd"
			} else if key != "Filter" {
				delete(metadata, key)
			} else {
				metadata["Class"] = "A B"
			}
			create(t, g.s, &m, metadata)
			index(t, g.s, m.entity)
			g.expect(m.entity.Name.String(), lasting(badMeta, badMeta, badMeta))
		},
		"flipped block":  func(t *testing.T, g *garden, m made) { g.flip(t, m, 0, m.entity.Meta.Filter.Offset) },
		"flipped filter": func(t *testing.T, g *garden, m made) { g.flip(t, m, m.entity.Meta.Filter.Offset, m.entity.Meta.Footer) },
		"flipped footer": func(t *testing.T, g *garden, m made) { g.flip(t, m, m.entity.Meta.Footer, m.entity.Size) },
		"flipped footer without entity": func(t *testing.T, g *garden, m made) {
			g.flip(t, m, m.entity.Meta.Footer, m.entity.Size)
			unindex(t, g.s, m.entity)
			g.expect(m.entity.Name.String(), lasting(missing, missing, missing))
		},
		"cut off": func(t *testing.T, g *garden, m made) {
			m.body = m.body[:g.rng.IntN(len(m.body)-1)+1]
			size := m.entity.Size
			m.whole(t, g.s)
			if g.rng.IntN(2) == 0 {
				m.entity.Size = size
				index(t, g.s, m.entity)
				g.expect(m.entity.Name.String(), lasting(entityOff, badBytes, badBytes))
				return
			}
			g.expect(m.entity.Name.String(), lasting("", badBytes, badBytes))
		},
		"another's bytes": func(t *testing.T, g *garden, m made) {
			m.entity.Name = blobnaming.Name{Service: "other-" + m.entity.Name.Service, Bucket: m.entity.Name.Bucket, Number: m.entity.Name.Number}
			m.whole(t, g.s)
			g.expect(m.entity.Name.String(), lasting("", wrongMeta, wrongMeta))
		},
		"another's hour": func(t *testing.T, g *garden, m made) {
			other := newSegment(t, m.entity.Name.Service, "", m.entity.Name.Bucket.Add(time.Hour), 1, 3)
			create(t, g.s, &m, other.entity.Meta.Encode())
			g.expect(m.entity.Name.String(), lasting(badMeta, badMeta, badMeta))
		},
		"foreign blob": func(t *testing.T, g *garden, m made) {
			name := m.entity.Name.String()
			names := []string{name + ".gz", "FOREIGN/" + name, strings.Replace(name, "/20", "/x20", 1), "foreign-" + strconv.Itoa(g.rng.Int()) + ".txt"}
			if _, err := g.s.Blobs().Create(t.Context(), names[g.rng.IntN(len(names))], []byte("x"), store.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		},
		"foreign blob with a segment's name": func(t *testing.T, g *garden, m made) {
			m.body = []byte("some text")
			create(t, g.s, &m, nil)
			g.expect(m.entity.Name.String(), lasting(badMeta, badMeta, badMeta))
		},
	}
}

// changeValue makes a value wrong, in a way that the entity can be read with or not.
func changeValue(rng *rand.Rand, e *store.Entity) {
	names := []string{"Blob", "ETag", "Size", "StartTime", "EndTime", "Records", "RawBytes", "Levels", "Batch", "Instance", "Seq", "Class", "Footer", "Filter", "Minutes"}
	switch name := names[rng.IntN(len(names))]; v := e.Properties[name].(type) {
	case int64:
		e.Properties[name] = v + 1 + int64(rng.IntN(1000))
	case []byte:
		v[rng.IntN(len(v))] ^= 0x80
	case string:
		e.Properties[name] = []string{v + "x", "\x1b[31m\n" + v, "", strings.Repeat("y", 300)}[rng.IntN(4)]
		if v == e.Properties[name] {
			e.Properties[name] = "q"
		}
	default:
		e.Properties["Class"] = "another"
	}
}

// changeType gives a value another type, which makes the answer that it is in unreadable.
func changeType(rng *rand.Rand, e *store.Entity) {
	switch name := []string{"Size", "Records", "Seq", "V", "Blob", "Batch", "Minutes"}[rng.IntN(7)]; e.Properties[name].(type) {
	case int64:
		e.Properties[name] = "many"
	default:
		e.Properties[name] = int64(7)
	}
}
