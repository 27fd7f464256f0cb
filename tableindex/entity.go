package tableindex

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"logstow/blobnaming"
	"logstow/store"
)

// The properties that are not metadata, and StartTime.
const (
	propType    = "Type"
	propVersion = "V"
	propBlob    = "Blob"
	propETag    = "ETag"
	propSize    = "Size"
	propMinutes = "Minutes"
	// propStart is a property of the metadata that filters a range.
	propStart = "StartTime"
)

const (
	// typeSegment is the Type of a segment's entity.
	typeSegment = "segment"
	// version is the V of entities in this format.
	version = 1
)

// metaColumns returns the properties from the metadata, which have the metadata's keys as names. Numbers are
// of kind Int64.
func metaColumns() []store.Column {
	return []store.Column{
		{Name: propStart, Kind: store.String},
		{Name: "EndTime", Kind: store.String},
		{Name: "LogVersion", Kind: store.String},
		{Name: "Records", Kind: store.Int64},
		{Name: "RawBytes", Kind: store.Int64},
		{Name: "Levels", Kind: store.String},
		{Name: "Batch", Kind: store.String},
		{Name: "Instance", Kind: store.String},
		{Name: "Seq", Kind: store.Int64},
		{Name: "Class", Kind: store.String},
		{Name: "Parse", Kind: store.String},
		{Name: "Footer", Kind: store.Int64},
		{Name: "Filter", Kind: store.String},
		{Name: "Origins", Kind: store.Int64},
		{Name: "Labels", Kind: store.Int64},
		{Name: "Instances", Kind: store.Int64},
	}
}

// columns returns the properties from which an entity is decoded.
func columns() []store.Column {
	return append(metaColumns(),
		store.Column{Name: propVersion, Kind: store.Int64},
		store.Column{Name: propBlob, Kind: store.String},
		store.Column{Name: propETag, Kind: store.String},
		store.Column{Name: propSize, Kind: store.Int64},
		store.Column{Name: propMinutes, Kind: store.Binary},
	)
}

// check reports why r is not a valid entity.
func (r Entity) check() error {
	if err := r.Meta.Validate(); err != nil {
		return err
	}
	switch start := time.Unix(0, r.Meta.Start); {
	case r.Meta.IsOutput() != (r.Name.Output() > 0) || r.Meta.IsOutput() && !r.Name.HasClass(r.Meta.Class):
		return fmt.Errorf("%s is not the name of such a segment", r.Name)
	case !r.Name.Contains(r.Meta.Start, r.Meta.End):
		return fmt.Errorf("records from %s to %s are not in the bucket", blobnaming.FormatTime(r.Meta.Start),
			blobnaming.FormatTime(r.Meta.End))
	case start.Before(minTime()):
		return errors.New("the index cannot hold records before 1970")
	case r.Size < 0:
		return fmt.Errorf("size %d is negative", r.Size)
	case len(r.Minutes) > 0:
		return checkSums(r.Minutes, r.Meta.Levels)
	}
	return nil
}

// encode makes the table entity of r.
func encode(r Entity) (store.Entity, error) {
	if _, err := parseName(r.Name.String()); err != nil {
		return store.Entity{}, err
	}
	if err := r.check(); err != nil {
		return store.Entity{}, err
	}
	minutes, err := encodeMinutes(r.Name, r.Minutes)
	if err != nil {
		return store.Entity{}, err
	}
	p := map[string]any{
		propType:    typeSegment,
		propVersion: int64(version),
		propBlob:    r.Name.String(),
		propETag:    r.ETag,
		propSize:    r.Size,
	}
	if minutes != nil {
		p[propMinutes] = minutes
	}
	meta := r.Meta.Encode()
	for _, c := range metaColumns() {
		text, ok := meta[c.Name]
		if !ok {
			continue
		}
		p[c.Name] = text
		if c.Kind == store.Int64 {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return store.Entity{}, fmt.Errorf("property %s: %w", c.Name, err)
			}
			p[c.Name] = n
		}
	}
	return store.Entity{Key: keyOf(r), Properties: p}, nil
}

// parseName parses the name of a segment or an output. Names of outputs of a class of four digits look like those of segments: the
// other parts of the entity tell.
func parseName(blob string) (blobnaming.Name, error) {
	name, err := blobnaming.Parse(blob)
	if err != nil {
		return blobnaming.ParseOutput(blob)
	}
	return name, nil
}

// EntityError is a malformed entity. Others of the table may be valid.
type EntityError struct {
	Table string
	Key   store.Key
	// Err is the cause; for an entity of another version errors.Is finds [blobnaming.ErrVersion].
	Err error
}

// Error names the table and the entity's keys.
func (e *EntityError) Error() string {
	return fmt.Sprintf("index table %s, entity %q %q: %v", e.Table, e.Key.Partition, e.Key.Row, e.Err)
}

// Unwrap returns the cause.
func (e *EntityError) Unwrap() error { return e.Err }

// decode decodes the output of encode, which was found in a table of a container. The error is an
// [*EntityError].
func decode(container, table string, e store.Entity) (Entity, error) {
	r, err := decodeSegment(e.Properties)
	if err == nil {
		err = r.check()
	}
	if err == nil && (keyOf(r) != e.Key || tableOf(container, r) != table) {
		err = fmt.Errorf("its keys are not those of blob %s", r.Name)
	}
	if err != nil {
		return Entity{}, &EntityError{Table: table, Key: e.Key, Err: err}
	}
	return r, nil
}

func decodeSegment(p map[string]any) (r Entity, err error) {
	v, ok := p[propVersion].(int64)
	if !ok {
		return Entity{}, errors.New("property " + propVersion + " is missing")
	}
	if v != version {
		return Entity{}, fmt.Errorf("property %s: %w %d: a newer version may have written it", propVersion, blobnaming.ErrVersion, v)
	}
	meta := make(map[string]string)
	for _, c := range metaColumns() {
		switch c.Kind {
		case store.Int64:
			if n, ok := p[c.Name].(int64); ok {
				meta[c.Name] = strconv.FormatInt(n, 10)
			}
		default:
			if text, ok := p[c.Name].(string); ok {
				meta[c.Name] = text
			}
		}
	}
	if r.Meta, err = blobnaming.ParseMetadata(meta); err != nil {
		return Entity{}, err
	}
	blob, _ := p[propBlob].(string)
	if r.Name, err = parseName(blob); err != nil {
		return Entity{}, err
	}
	if r.ETag, ok = p[propETag].(string); !ok {
		return Entity{}, errors.New("property " + propETag + " is missing")
	}
	if r.Size, ok = p[propSize].(int64); !ok {
		return Entity{}, errors.New("property " + propSize + " is missing")
	}
	minutes, known := p[propMinutes].([]byte)
	if !known {
		return r, nil
	}
	if r.Minutes, err = decodeMinutes(r.Name, minutes); err != nil {
		return Entity{}, fmt.Errorf("property %s: %w", propMinutes, err)
	}
	return r, nil
}
