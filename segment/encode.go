package segment

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/vmihailenco/msgpack/v5"

	"logstow/blobnaming"
)

// A Logstow frame is a zstd skippable frame: magic number and payload length,
// both of 4 bytes, little-endian, then the payload. The footer's payload is
// the msgpack footer and the trailer: CRC-32C of the msgpack bytes, their length
// (both of 4 bytes, little-endian), and trailerMagic.
const (
	frameMagic   = 0x184D2A57
	frameHeader  = 8
	trailerMagic = "LOGSTOW1"
	trailerSize  = 16
	// footerOverhead is what the footer's frame adds to the msgpack bytes.
	footerOverhead = frameHeader + trailerSize
)

// The footer's keys.
const (
	keyBlocks    = "Blocks"
	keyBucket    = "Bucket"
	keyClass     = "Class"
	keyColumns   = "Columns"
	keyEnd       = "End"
	keyFilter    = "Filter"
	keyInstance  = "Instance"
	keyInstances = "Instances"
	keyLabels    = "Labels"
	keyLevels    = "Levels"
	keyMinutes   = "Minutes"
	keyOrigins   = "Origins"
	keyParse     = "Parse"
	keyRaw       = "Raw"
	keyRecords   = "Records"
	keyRequires  = "Requires"
	keySalt      = "Salt"
	keySections  = "Sections"
	keySeq       = "Seq"
	keyService   = "Service"
	keySources   = "Sources"
	keyStart     = "Start"

	// Inside Columns, Labels, Origins, Blocks, Minutes and Sections, besides some of the above.
	keyAttributes = "Attributes"
	keyBytes      = "Bytes"
	keyHash       = "Hash"
	keyLength     = "Length"
	keyName       = "Name"
	keyMinute     = "Minute"
	keyOffset     = "Offset"
	keyOnMinute   = "OnMinute"
	keyStored     = "Stored"
	keyText       = "Text"
	keyUnlisted   = "Unlisted"
)

// appendFooter appends the footer's frame to dst, and sets the Batch.
func appendFooter(dst []byte, f *Footer) ([]byte, error) {
	body, err := encodeFooter(f)
	if err != nil {
		return nil, err
	}
	f.Batch = blobnaming.Batch(HashOf(body))
	dst = binary.LittleEndian.AppendUint32(dst, frameMagic)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(body)+trailerSize))
	dst = append(dst, body...)
	dst = binary.LittleEndian.AppendUint32(dst, checksum(body))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(body)))
	return append(dst, trailerMagic...), nil
}

// encodeFooter encodes the footer in msgpack: a map with its keys in byte order, without those
// whose value is empty, numbers in their shortest form.
func encodeFooter(f *Footer) ([]byte, error) {
	m := newFields()
	m.addFields(keyBlocks, blockFields(f))
	m.add(keyBucket, []int64{f.BucketStart, f.BucketWidth})
	if f.Class != "" {
		m.add(keyClass, f.Class)
	}
	if f.Columns != 0 {
		m.addFields(keyColumns, placeFields(f.Columns, f.ColumnsLength, f.ColumnsHash))
	}
	m.add(keyEnd, f.End)
	if f.Filter != (blobnaming.Filter{}) {
		m.add(keyFilter, []int64{f.Filter.Offset, f.Filter.Partitions, f.Filter.SliceLength})
	}
	m.add(keyInstance, f.Instance)
	if f.Instances != nil {
		m.add(keyInstances, f.Instances)
	}
	if len(f.Labels)+len(f.Unlisted) > 0 {
		m.addFields(keyLabels, labelFields(f))
	}
	m.add(keyLevels, f.Levels[:])
	m.addFields(keyMinutes, minuteFields(f))
	if f.IsOutput() {
		m.addFields(keyOrigins, placeFields(f.Origins, f.OriginsLength, f.OriginsHash))
	}
	if f.Parse != "" {
		m.add(keyParse, f.Parse)
	}
	m.add(keyRaw, f.RawBytes)
	m.add(keyRecords, f.Records)
	switch {
	case f.IsOutput():
		m.add(keyRequires, []string{keyOrigins}) // a reader that ignored origins would count records twice
	case f.Instances != nil:
		m.add(keyRequires, []string{keyInstances}) // a reader that ignored them would take records for those of the relay
	}
	if f.Salt != ([16]byte{}) {
		m.add(keySalt, f.Salt[:])
	}
	if len(f.Sections) > 0 {
		m.addFields(keySections, sectionFields(f))
	}
	m.add(keySeq, f.Seq)
	m.add(keyService, f.Service)
	m.add(keySources, f.Sources)
	m.add(keyStart, f.Start)
	return m.bytes()
}

// placeFields has the place of a part of the blob, and its hash.
func placeFields(offset, length int64, hash Hash) *fields {
	m := newFields()
	m.add(keyHash, hash[:])
	m.add(keyLength, length)
	m.add(keyOffset, offset)
	return m
}

// blockFields has a column for each property of the blocks. A block's start is relative to the segment's start, its end
// to its start. Offsets are not stored: a block starts where the previous one ends.
func blockFields(f *Footer) *fields {
	var attributes, ends, instances, levels, raws, records, starts, stored []uint64
	var hashes []byte
	some := false
	for _, b := range f.Blocks {
		attributes, some = append(attributes, b.Attributes), some || b.Attributes > 0
		hashes = append(hashes, b.Hash[:]...)
		ends = append(ends, uint64(b.End-b.Start))
		instances = append(instances, uint64(b.Instance))
		levels = append(levels, b.Levels[:]...)
		raws = append(raws, uint64(b.Raw))
		records = append(records, b.Records)
		starts = append(starts, uint64(b.Start-f.Start))
		stored = append(stored, uint64(b.Stored))
	}
	m := newFields()
	if some {
		m.add(keyAttributes, attributes)
	}
	m.add(keyEnd, ends)
	m.add(keyHash, hashes)
	if f.Instances != nil {
		m.add(keyInstance, instances)
	}
	m.add(keyLevels, levels)
	m.add(keyRaw, raws)
	m.add(keyRecords, records)
	m.add(keyStart, starts)
	m.add(keyStored, stored)
	return m
}

// labelFields has a column for each property of the combinations of label attributes: in an output, the instance as an index into the
// instances, which are in order. A combination's start is relative to the segment's start, its end to its start.
func labelFields(f *Footer) *fields {
	bytes, ends, indexes, levels, starts := []uint64{}, []uint64{}, []uint64{}, []uint64{}, []uint64{} // nil is no array
	instances, texts := []string{}, []string{}
	for i := range f.Labels {
		instances = append(instances, f.Labels[i].Instance)
	}
	slices.Sort(instances)
	instances = slices.Compact(instances)
	for i := range f.Labels {
		l := &f.Labels[i]
		index, _ := slices.BinarySearch(instances, l.Instance)
		bytes = append(bytes, l.Bytes)
		ends = append(ends, uint64(l.End-l.Start))
		indexes = append(indexes, uint64(index))
		levels = append(levels, l.Levels[:]...)
		starts = append(starts, uint64(l.Start-f.Start))
		texts = append(texts, l.Text)
	}
	m := newFields()
	m.add(keyBytes, bytes)
	m.add(keyEnd, ends)
	if f.Mixed() {
		m.add(keyInstance, indexes)
		m.add(keyInstances, instances)
	}
	m.add(keyLevels, levels)
	m.add(keyStart, starts)
	m.add(keyText, texts)
	if len(f.Unlisted) > 0 {
		m.add(keyUnlisted, f.Unlisted)
	}
	return m
}

// minuteFields has a column of minutes since the bucket's start, one of levels, and one of levels of the records on minutes.
func minuteFields(f *Footer) *fields {
	var levels, minutes, onMinute []uint64
	for _, c := range f.Minutes {
		levels = append(levels, c.Levels[:]...)
		minutes = append(minutes, uint64(c.Start-f.BucketStart)/60)
	}
	for _, c := range f.OnMinute {
		onMinute = append(onMinute, c[:]...)
	}
	m := newFields()
	m.add(keyLevels, levels)
	m.add(keyMinute, minutes)
	if onMinute != nil {
		m.add(keyOnMinute, onMinute)
	}
	return m
}

func sectionFields(f *Footer) *fields {
	var lengths []uint64
	var hashes []byte
	var names []string
	for _, s := range f.Sections {
		hashes = append(hashes, s.Hash[:]...)
		lengths = append(lengths, uint64(s.Length))
		names = append(names, s.Name)
	}
	m := newFields()
	m.add(keyHash, hashes)
	m.add(keyLength, lengths)
	m.add(keyName, names)
	return m
}

// fields encodes a msgpack map with its keys in the order in which they are added. The first error is sticky.
type fields struct {
	n    int
	body bytes.Buffer
	enc  *msgpack.Encoder
	err  error
}

func newFields() *fields {
	m := new(fields)
	m.enc = msgpack.NewEncoder(&m.body)
	m.enc.UseCompactInts(true)
	return m
}

func (m *fields) add(key string, value any) {
	if m.err == nil {
		m.n++
		m.err = m.enc.EncodeMulti(key, value)
	}
}

func (m *fields) addFields(key string, value *fields) {
	b, err := value.bytes()
	if err != nil {
		m.err = err
		return
	}
	m.add(key, msgpack.RawMessage(b))
}

func (m *fields) bytes() ([]byte, error) {
	if m.err != nil {
		return nil, m.err
	}
	var head bytes.Buffer
	if err := msgpack.NewEncoder(&head).EncodeMapLen(m.n); err != nil {
		return nil, err
	}
	return append(head.Bytes(), m.body.Bytes()...), nil
}
