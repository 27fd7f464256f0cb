//go:build !race

package compaction

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
)

// The blobs of the model are real ones: segments with their bytes and metadata, and outputs that the builder makes of them.

const (
	batches     = 3 // A, B and C, one record each
	rawNames    = 5 // names of the raw container: 0 to 2 in the first hour, 3 and 4 in the second
	elsewhere   = 5 // the name in the raw container of another store
	generations = 3 // of the default class
	auditSlot   = 3 // generation 1 of class "audit"
	slots       = 4 // of the compacted container
)

// kind tells what of an item is forged.
type kind uint8

const (
	honest      kind = iota
	otherBlock       // metadata and footer of the batch, another block
	otherParser      // the bytes of the batch, and another parser in the metadata
	otherClass       // another class
	otherBytes       // another segment with the batch in its metadata
)

// item is a blob that may be in the raw container.
type item struct {
	name, batch uint8
	kind        kind
	second      int8 // of its creation
}

func (i item) String() string {
	what := [...]string{"", " with another block", " of another parser", " of another class", " with other bytes"}[i.kind]
	return fmt.Sprintf("%c%s at raw %d", 'A'+i.batch, what, i.name)
}

// code is an item of the model, 0 is none. Its blob has an ETag of its own.
type code uint8

// codes is a set of codes.
type codes uint32

func (s codes) has(c code) bool { return s&(1<<c) != 0 }

func (s codes) each(f func(code)) {
	for c := range code(32) {
		if s.has(c) {
			f(c)
		}
	}
}

// mask is a set of contents: bit 0 is A as its batch certifies it, bit 4 is a forged A.
type mask uint8

const certified mask = 1<<batches - 1

// identities are the batches of contents.
func (c mask) identities() mask { return (c | c>>4) & certified }

// The ways in which an output is damaged.
const (
	intact      = iota
	lowDamaged  // the records of its first input
	highDamaged // those of its last input
	listDamaged // its list of inputs
)

// output is a blob of the compacted container, zero if there is none.
type output struct {
	inputs mask
	damage uint8
}

// unreadable are the contents that cannot be read.
func (o output) unreadable() mask {
	switch o.damage {
	case lowDamaged:
		return o.inputs & -o.inputs
	case highDamaged:
		last := o.inputs
		for last&(last-1) != 0 {
			last &= last - 1
		}
		return last
	case listDamaged:
		return o.inputs
	}
	return 0
}

// blob is a stored blob with its bytes.
type blob struct {
	store.Blob
	body []byte
}

func modelDay() time.Time { return time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC) }

// hourOf is the hour of a name.
func hourOf(name uint8) time.Time {
	if name == 3 || name == 4 {
		return modelDay().Add(16 * time.Hour)
	}
	return modelDay().Add(15 * time.Hour)
}

// stored is when the items of second 0 were created.
func storedAt() time.Time { return modelDay().Add(17 * time.Hour) }

// blobOf makes the blob of an item.
func (m *model) blobOf(i item, c code) blob {
	body, meta := m.newSegment(i.batch, 'A'+i.batch)
	switch i.kind {
	case otherBlock:
		body[meta.Footer/2]++
	case otherParser:
		meta.Parse = "json/1"
	case otherClass:
		meta.Class = "audit"
	case otherBytes:
		batch := meta.Batch
		body, meta = m.newSegment(i.batch, 'x')
		meta.Batch = batch
	}
	number := [...]uint64{1, 2, 3, 1, 2, 1}[i.name]
	name := blobnaming.Name{Service: "web", Bucket: hourOf(i.name), Number: number}
	created := storedAt().Add(time.Duration(i.second) * time.Second)
	if m.off("oldest") {
		created = storedAt()
	}
	return blob{store.Blob{Name: name.String(), Size: int64(len(body)), ETag: fmt.Sprint("raw", c), Created: created, Metadata: meta.Encode()}, body}
}

// newSegment makes a segment of one record.
func (m *model) newSegment(batch, text uint8) ([]byte, blobnaming.Metadata) {
	var b bytes.Buffer
	hour := hourOf(m.scene.nameOf(batch))
	w := segment.NewWriter(&b, segment.Options{
		Service: "web", Instance: "pod", Class: m.scene.classes[batch], Parse: m.scene.parsers[batch], Salt: [16]byte{text, batch},
		BucketStart: hour.Unix(), BucketWidth: 3600,
	})
	at := hour.Add(time.Duration(batch+1) * time.Minute).UnixNano()
	m.must(w.Append(record.Record{Time: at, Level: record.Info, Source: "app", Message: []byte{text}}))
	meta, err := w.Close(int64(batch) + 1)
	m.must(err)
	return b.Bytes(), meta
}

// code returns the code of an item.
func (m *model) code(i item) code {
	if at := slices.Index(m.items[1:], i); at >= 0 {
		return code(at + 1)
	}
	c := code(len(m.items))
	b := m.blobOf(i, c)
	s, err := segmentOf(b)
	m.must(err)
	m.items, m.blobs, m.segments = append(m.items, i), append(m.blobs, b), append(m.segments, s)
	if c >= 32 {
		m.must(fmt.Errorf("%d items are too many", c))
	}
	return c
}

// content is what a reader shows of an item that it reads without checks.
func (m *model) content(c code) mask {
	if i := m.items[c]; i.kind == honest {
		return 1 << i.batch
	}
	return 16 << m.items[c].batch
}

// segmentOf is a blob as listed.
func segmentOf(b blob) (catalog.Segment, error) {
	name, err := blobnaming.Parse(b.Name)
	if err != nil {
		return catalog.Segment{}, err
	}
	meta, err := blobnaming.ParseMetadata(b.Metadata)
	return catalog.Segment{Name: name, Meta: meta, Size: b.Size, ETag: b.ETag, Created: b.Created}, err
}

// nameOfSlot is the name of an output.
func nameOfSlot(slot int) blobnaming.Name {
	if slot == auditSlot {
		return blobnaming.OutputName("web", modelDay(), "audit", 1)
	}
	return blobnaming.OutputName("web", modelDay(), "", slot+1)
}

// slotOf is the inverse of nameOfSlot, slots if the model has no such name.
func slotOf(n blobnaming.Name) int {
	for slot := range slots {
		if nameOfSlot(slot) == n {
			return slot
		}
	}
	return slots
}

// outputBlob is the blob of an output, as the builder makes it of the items that the scene names. young is set if it was stored too
// late for the removal of its inputs.
func (m *model) outputBlob(slot int, o output, young bool) blob {
	key := output{o.inputs.identities(), o.damage}
	made, ok := m.outputs[key]
	if !ok {
		var inputs []catalog.Segment
		for batch := range uint8(batches) {
			if key.inputs&(1<<batch) != 0 {
				inputs = append(inputs, m.segments[m.code(item{name: m.scene.nameOf(batch), batch: batch})])
			}
		}
		b, err := m.run.builder.build(m.ctx, Generation{Name: nameOfSlot(slot), Inputs: inputs})
		m.must(err)
		body, err := b.read(m.ctx, 0, b.size)
		m.must(err)
		m.must(b.close())
		switch o.damage {
		case lowDamaged, highDamaged:
			body[5]++
		case listDamaged:
			body[b.meta.Origins+20]++
		}
		made = blob{store.Blob{Size: b.size, Metadata: b.meta.Encode()}, body}
		m.outputs[key] = made
	}
	made.Name = nameOfSlot(slot).String()
	made.ETag = fmt.Sprint("output", slot, o.inputs)
	made.Created = storedAt()
	if young {
		made.Created = storedAt().Add(2 * time.Hour)
	}
	return made
}

// shelf is what a store has, or what someone has listed of it.
type shelf struct {
	raw    [rawNames + 1]code
	comp   [slots]output
	marks  uint8 // slots of outputs that are rejected
	forged bool  // the raw container has forged outputs and markers
}

// container is a container that lists blobs and reads others: those that are stored now. If it moves, it lists these too, but for the
// first time.
type container struct {
	store.Blobs
	listed, stored []blob
	moves          bool
}

func (c *container) Read(_ context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	for _, b := range c.stored {
		if b.Name != ref.Name || ref.ETag != "" && b.ETag != ref.ETag {
			continue
		}
		if off < 0 || n <= 0 || off+n > b.Size {
			return nil, &store.Error{Op: "read", Object: ref.Name, Class: store.ErrRange}
		}
		return slices.Clone(b.body[off : off+n]), nil
	}
	return nil, &store.Error{Op: "read", Object: ref.Name, Class: store.ErrNotFound}
}

func (c *container) List(_ context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	var page []store.Blob
	for _, b := range c.listed {
		if strings.HasPrefix(b.Name, prefix) {
			page = append(page, b.Blob)
		}
	}
	if c.moves {
		c.listed = c.stored
	}
	slices.SortFunc(page, func(a, b store.Blob) int { return strings.Compare(a.Name, b.Name) })
	return func(yield func([]store.Blob, error) bool) {
		if len(page) > 0 {
			yield(page, nil)
		}
	}
}

// model stores are read by the functions that Run and readers call.
type modelStore struct {
	store.Store
	raw, compacted container
	// other is the raw container of another store.
	other container
}

func (s *modelStore) Blobs() store.Blobs     { return &s.raw }
func (s *modelStore) Compacted() store.Blobs { return &s.compacted }
func (s *modelStore) Container() string      { return "logs" }
func (s *modelStore) String() string         { return "model" }

// storeOf makes a store that lists what was listed and reads what is stored now. young are the outputs that were stored late.
func (m *model) storeOf(listed, now shelf, young uint8) *modelStore {
	s := &modelStore{}
	s.raw.listed, s.compacted.listed, s.other.listed = m.blobsOf(listed, young)
	s.raw.stored, s.compacted.stored, s.other.stored = m.blobsOf(now, young)
	return s
}

func (m *model) blobsOf(s shelf, young uint8) (raw, compacted, other []blob) {
	for i, c := range s.raw {
		switch {
		case c == 0:
		case i == elsewhere:
			other = append(other, m.blobs[c])
		default:
			raw = append(raw, m.blobs[c])
		}
	}
	for slot, o := range s.comp {
		if o.inputs != 0 {
			compacted = append(compacted, m.outputBlob(slot, o, young&(1<<slot) != 0))
		}
		if s.marks&(1<<slot) != 0 {
			compacted = append(compacted, blob{Blob: store.Blob{Name: blobnaming.RejectionOf(nameOfSlot(slot)), ETag: "mark"}})
		}
	}
	if s.forged { // names of the compacted container, and a plain name with the metadata of an output
		b := m.outputBlob(1, output{inputs: 2}, false)
		raw = append(raw, b, blob{Blob: store.Blob{Name: blobnaming.RejectionOf(nameOfSlot(0)), ETag: "mark"}})
		b.Name = blobnaming.Name{Service: "web", Bucket: hourOf(0), Number: 7}.String()
		raw = append(raw, b)
	}
	return raw, compacted, other
}
