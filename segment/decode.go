package segment

import (
	"fmt"
	"slices"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/record/attributes"
)

// isSupported reports whether this version reads a footer key.
func isSupported(key string) bool {
	switch key {
	case keyBlocks, keyBucket, keyClass, keyColumns, keyEnd, keyFilter, keyInstance, keyInstances, keyLabels, keyLevels, keyMinutes, keyOrigins,
		keyParse, keyRaw, keyRecords, keyRequires, keySalt, keySections, keySeq, keyService, keySources, keyStart:
		return true
	}
	return false
}

// decodeFooter reads the msgpack bytes of a footer whose frame is at offset at,
// and validates it. Unknown keys are ignored, unless Requires names them.
func decodeFooter(body []byte, at int64) (*Footer, error) {
	r := readFields(body)
	for _, key := range r.texts(keyRequires, maxRequires, maxRequired) {
		if !isSupported(key) {
			return nil, fmt.Errorf("%w: it requires %q", ErrUnsupported, key)
		}
	}
	bucket := r.exactly(keyBucket, 2)
	f := &Footer{
		Metadata:    decodeMetadata(r, at),
		Service:     r.text(keyService, blobnaming.MaxService),
		BucketStart: int64(bucket[0]),
		BucketWidth: int64(bucket[1]),
		Sources:     r.texts(keySources, MaxSources, record.MaxSource),
	}
	f.Batch = blobnaming.Batch(HashOf(body))
	if r.has(keySalt) {
		f.Salt = [16]byte(r.bytes(keySalt, len(f.Salt)))
	}
	f.Origins, f.OriginsLength, f.OriginsHash = decodePlace(r, keyOrigins)
	f.Columns, f.ColumnsLength, f.ColumnsHash = decodePlace(r, keyColumns)
	if r.has(keyInstances) {
		f.Instances = r.texts(keyInstances, blobnaming.MaxInstances, blobnaming.MaxInstance)
		f.Metadata.Instances = uint32(len(f.Instances))
	}
	decodeBlocks(r, f)
	decodeMinutes(r, f)
	decodeLabels(r, f)
	decodeSections(r, f)
	if r.err != nil {
		return nil, r.err
	}
	return f, f.validate()
}

// decodePlace reads the offset, length and hash of a part of the blob; zeros if the key is missing.
func decodePlace(r *fieldReader, key string) (offset, length int64, hash Hash) {
	if !r.has(key) {
		return 0, 0, Hash{}
	}
	c := r.fields(key)
	hash = c.hashes(keyHash, 1)[0]
	length, offset = c.int(keyLength), c.int(keyOffset)
	if offset <= 0 {
		c.fail("%s: number out of range", keyOffset)
	}
	r.done(key, c)
	return offset, length, hash
}

func decodeMetadata(r *fieldReader, at int64) blobnaming.Metadata {
	m := blobnaming.Metadata{
		Start:    r.int(keyStart),
		End:      r.int(keyEnd),
		Records:  r.uint(keyRecords),
		RawBytes: r.uint(keyRaw),
		Levels:   record.Counts(r.exactly(keyLevels, record.Levels)),
		Instance: r.text(keyInstance, blobnaming.MaxInstance),
		Seq:      r.int(keySeq),
		Footer:   at,
	}
	if r.has(keyClass) {
		m.Class = r.text(keyClass, blobnaming.MaxClass)
	}
	if r.has(keyParse) {
		m.Parse = r.text(keyParse, blobnaming.MaxParse)
	}
	if r.has(keyFilter) {
		p := r.exactly(keyFilter, 3)
		m.Filter = blobnaming.Filter{Offset: int64(p[0]), Partitions: int64(p[1]), SliceLength: int64(p[2])}
	}
	return m
}

// decodeBlocks reads the columns of blocks; f.Start is set.
func decodeBlocks(r *fieldReader, f *Footer) {
	c := r.fields(keyBlocks)
	raws := c.column(keyRaw, MaxBlocks)
	n := len(raws)
	attributes := make([]uint64, n)
	if c.has(keyAttributes) {
		attributes = c.exactly(keyAttributes, n)
	}
	ends := c.exactly(keyEnd, n)
	hashes := c.hashes(keyHash, n)
	instances := make([]uint64, n)
	if f.Instances != nil {
		instances = c.exactly(keyInstance, n)
	}
	levels := c.exactly(keyLevels, n*record.Levels)
	records := c.exactly(keyRecords, n)
	starts := c.exactly(keyStart, n)
	stored := c.exactly(keyStored, n)
	f.Blocks = make([]Block, n)
	var offset int64
	for i := range f.Blocks {
		// Other numbers need no check: if too large for int64, they become numbers that validate rejects.
		if stored[i] > maxFrame || instances[i] > blobnaming.MaxInstances || starts[i] > maxSpan || ends[i] > maxSpan {
			c.fail("number out of range in block %d", i)
			break
		}
		start := f.Start + int64(starts[i])
		f.Blocks[i] = Block{
			Index:      i,
			Offset:     offset,
			Stored:     int64(stored[i]),
			Raw:        int64(raws[i]),
			Records:    records[i],
			Attributes: attributes[i],
			Levels:     record.Counts(levels[i*record.Levels:]),
			Start:      start,
			End:        start + int64(ends[i]),
			Instance:   int(instances[i]),
			Hash:       hashes[i],
		}
		offset += f.Blocks[i].Stored
	}
	r.done(keyBlocks, c)
}

// decodeMinutes reads the columns of minutes; f.BucketStart is set.
func decodeMinutes(r *fieldReader, f *Footer) {
	c := r.fields(keyMinutes)
	minutes := c.column(keyMinute, maxMinutes)
	levels := c.exactly(keyLevels, len(minutes)*record.Levels)
	f.Minutes = make([]record.Minute, len(minutes))
	for i, minute := range minutes {
		if minute >= maxMinutes {
			c.fail("minute %d of a bucket", minute)
			break
		}
		f.Minutes[i] = record.Minute{
			Start:  f.BucketStart + int64(minute)*60,
			Levels: record.Counts(levels[i*record.Levels:]),
		}
	}
	if c.has(keyOnMinute) {
		onMinute := c.exactly(keyOnMinute, len(minutes)*record.Levels)
		for counts := range slices.Chunk(onMinute, record.Levels) {
			f.OnMinute = append(f.OnMinute, record.Counts(counts))
		}
	}
	r.done(keyMinutes, c)
}

// decodeLabels reads the columns of combinations of label attributes; f.Start, f.Instance, f.Instances and f.Origins are set.
func decodeLabels(r *fieldReader, f *Footer) {
	if !r.has(keyLabels) {
		return
	}
	c := r.fields(keyLabels)
	starts := c.column(keyStart, MaxLabels)
	n := len(starts)
	bytes := c.exactly(keyBytes, n)
	ends := c.exactly(keyEnd, n)
	levels := c.exactly(keyLevels, n*record.Levels)
	texts := c.texts(keyText, MaxLabels, maxLabelsText)
	instances, indexes := []string{f.Instance}, make([]uint64, n)
	if f.Mixed() {
		instances = c.texts(keyInstances, MaxLabels, blobnaming.MaxInstance)
		indexes = c.exactly(keyInstance, n)
	}
	f.Unlisted = c.texts(keyUnlisted, maxUnlisted, attributes.MaxName)
	if len(texts) != n {
		c.fail("%s: %d elements, %d expected", keyText, len(texts), n)
	}
	f.Labels, f.Metadata.Labels = make([]Labels, n), uint32(n)
	for i := range f.Labels {
		if c.err != nil {
			break
		}
		if starts[i] > maxSpan || ends[i] > maxSpan || indexes[i] >= uint64(len(instances)) {
			c.fail("number out of range in combination %d", i)
			break
		}
		start := f.Start + int64(starts[i])
		f.Labels[i] = Labels{
			Text:     texts[i],
			Instance: instances[indexes[i]],
			Start:    start,
			End:      start + int64(ends[i]),
			Levels:   record.Counts(levels[i*record.Levels:]),
			Bytes:    bytes[i],
		}
	}
	if n == 0 {
		f.Labels = nil
	}
	r.done(keyLabels, c)
}

// decodeSections reads the columns of sections; f.Blocks are set.
func decodeSections(r *fieldReader, f *Footer) {
	if !r.has(keySections) {
		return
	}
	c := r.fields(keySections)
	names := c.texts(keyName, MaxSections, maxSectionName)
	n := len(names)
	hashes := c.hashes(keyHash, n)
	lengths := c.exactly(keyLength, n)
	f.Sections = make([]Section, n)
	offset := f.blocksEnd()
	for i := range f.Sections {
		if lengths[i] > maxSection {
			c.fail("number out of range in section %d", i)
			break
		}
		f.Sections[i] = Section{Name: names[i], Offset: offset, Length: int64(lengths[i]), Hash: hashes[i]}
		offset += f.Sections[i].Length
	}
	r.done(keySections, c)
}
