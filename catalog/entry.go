package catalog

import (
	"errors"
	"strings"
	"unique"

	"logstow/blobnaming"
	"logstow/store"
)

// Kind tells what a listed blob is.
type Kind uint8

const (
	// KindPlain is a segment in the raw container.
	KindPlain Kind = iota
	// KindOutput is an output of compaction in the compacted container.
	KindOutput
	// KindRejection is a marker in the compacted container: the output of its Name is ignored.
	KindRejection
	// KindForeign is a blob that is named as a segment and was written by another program.
	KindForeign
	// KindUnreadable is a blob that is named as a segment or output and cannot be one: Err has the reason.
	KindUnreadable
	// KindMisplaced is a blob in the raw container that claims to be an output or a rejection, or is a page blob. Who may write there
	// may not compact, and no program writes page blobs: it is ignored.
	KindMisplaced
	// KindOther is any other blob.
	KindOther
)

// Entry is a listed blob.
type Entry struct {
	Kind Kind
	// Segment has the Name unless the blob is KindOther, and Meta if it is KindPlain or KindOutput.
	Segment
	// Blob is the blob as listed. [Catalog.Walk] does not set it for KindPlain and KindOutput.
	Blob *store.Blob
	// Err is the reason of KindUnreadable.
	Err error
}

// errNotOutput is the reason of a blob in the compacted container that has the name of an output.
var errNotOutput = errors.New("not an output of its class")

// RawEntry classifies a blob of the raw container.
func RawEntry(b *store.Blob) Entry {
	e := newEntry(b)
	name, err := blobnaming.Parse(b.Name)
	if err != nil {
		e.Kind = KindOther
		if e.Name, err = blobnaming.ParseOutput(b.Name); err != nil {
			e.Name, err = blobnaming.ParseRejection(b.Name)
		}
		if err == nil {
			e.Kind = KindMisplaced
		}
		return e
	}
	e.Name = name
	if b.Paged {
		e.Kind = KindMisplaced
		return e
	}
	e.describe()
	if e.Kind == KindPlain && e.Meta.IsOutput() {
		e.Kind = KindMisplaced
	}
	return e
}

// compactedEntry classifies a blob of the compacted container.
func compactedEntry(b *store.Blob) Entry {
	e := newEntry(b)
	if of, err := blobnaming.ParseRejection(b.Name); err == nil {
		e.Kind, e.Name = KindRejection, of
		return e
	}
	name, err := blobnaming.ParseOutput(b.Name)
	if err != nil {
		e.Kind = KindOther
		return e
	}
	e.Name = name
	switch e.describe(); {
	case e.Kind == KindForeign:
		e.Kind, e.Err = KindUnreadable, errNotOutput
	case e.Kind == KindPlain && (!e.Meta.IsOutput() || !name.HasClass(e.Meta.Class)):
		e.Kind, e.Err = KindUnreadable, errNotOutput
	case e.Kind == KindPlain:
		e.Kind = KindOutput
	}
	return e
}

func newEntry(b *store.Blob) Entry {
	return Entry{Blob: b, Segment: Segment{Size: b.Size, ETag: b.ETag, Created: b.Created, Tier: b.Tier, TierInferred: b.TierInferred}}
}

// describe sets Kind, Meta and Err by the metadata of a blob that is named as a segment.
func (e *Entry) describe() {
	if isForeign(e.Blob.Metadata) {
		e.Kind = KindForeign
		return
	}
	if e.Meta, e.Err = blobnaming.ParseMetadata(e.Blob.Metadata); e.Err != nil {
		e.Kind = KindUnreadable
	}
}

// isForeign reports whether a blob's metadata were not written by any version of Logstow.
func isForeign(metadata map[string]string) bool {
	for key, value := range metadata {
		if strings.EqualFold(key, "LogVersion") && strings.HasPrefix(value, "logstow/") {
			return false
		}
	}
	return true
}

// detach makes a segment independent of the page of its listing: many have the same strings.
func (e *Entry) detach(service string) {
	if e.Kind != KindPlain && e.Kind != KindOutput {
		return
	}
	e.Blob = nil
	e.Name.Service = service
	for _, text := range []*string{&e.Name.Chain, &e.Meta.Instance, &e.Meta.Class, &e.Meta.Parse} {
		*text = unique.Make(*text).Value()
	}
	e.Tier = store.Tier(unique.Make(string(e.Tier)).Value())
}
