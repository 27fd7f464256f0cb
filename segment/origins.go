package segment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"logstow/blobnaming"
	"logstow/record"
)

// originsSection is the name of the section of an output's origins.
const originsSection = "origins"

// maxOriginsList is the maximum length of the list of inputs in bytes.
const maxOriginsList = 8 << 20

// Origins are the inputs of a compaction output, and the pages that map its records to them.
type Origins struct {
	// Inputs are in the order of [CompareOrigins].
	Inputs []Origin
	// Parts are the parts of the inputs: one of each, or one for each instance of an input that a relay wrote. They are in the order of
	// CompareOrigins with the instance of the part, as are records of equal time.
	Parts []Part
	// Pages has the place of a page for each block: see [Origins.DecodePage].
	Pages []OriginPage
}

// Part is the part of an input whose records are those of one instance.
type Part struct {
	// Input is an index into the inputs.
	Input    int
	Instance string
	// Levels is the number of records by level. A [Writer] counts them.
	Levels record.Counts
}

// comparePart is the order of parts.
func comparePart(inputs []Origin, a, b Part) int {
	x, y := inputs[a.Input], inputs[b.Input]
	x.Instance, y.Instance = a.Instance, b.Instance
	return CompareOrigins(x, y)
}

// PartsOf returns the parts of inputs in their order. instances has the instances of those inputs that a relay wrote; it may be nil.
func PartsOf(inputs []Origin, instances map[int][]string) []Part {
	parts := make([]Part, 0, len(inputs))
	for i, o := range inputs {
		if instances[i] == nil {
			parts = append(parts, Part{i, o.Instance, o.Levels})
			continue
		}
		for _, name := range instances[i] {
			parts = append(parts, Part{Input: i, Instance: name})
		}
	}
	if len(instances) > 0 {
		slices.SortFunc(parts, func(a, b Part) int { return comparePart(inputs, a, b) })
	}
	return parts
}

// OriginPage is the place of the page of a block in the blob, in bytes, and its hash.
type OriginPage struct {
	Offset, Length int64
	Hash           Hash
}

// ReadOrigins reads the list of inputs and the footer of an output of size bytes, with one call of read; origins is the
// offset of the list, [blobnaming.Metadata.Origins]. Damage is a [*CorruptError]; if only the list is damaged, the footer
// is returned with the error.
func ReadOrigins(ctx context.Context, read Range, size, origins int64) (*Footer, *Origins, error) {
	n := size - origins
	if origins <= 0 || n < footerOverhead || n > maxOriginsList+MaxFooter+footerOverhead {
		return nil, nil, corruptOrigins(origins, "offset in metadata is %d, size of the segment %d bytes", origins, size)
	}
	tail, err := readRange(ctx, read, origins, n)
	if err != nil {
		return nil, nil, fmt.Errorf("read list of inputs: %w", err)
	}
	length, err := footerLength(tail, size)
	if err != nil {
		return nil, nil, err
	}
	if length > n {
		return nil, nil, corruptTrailer(size, "length of the footer is %d bytes: it would begin before the list of inputs", length)
	}
	f, err := parseFooter(tail[n-length:], size-length)
	if err != nil {
		return nil, nil, err
	}
	if f.Origins != origins {
		return f, nil, corruptOrigins(origins, "offset in the footer is %d", f.Origins)
	}
	o, err := f.parseOrigins(tail[:f.OriginsLength])
	return f, o, err
}

// readOrigins reads the list of inputs of an output with footer f.
func readOrigins(ctx context.Context, read Range, f *Footer) (*Origins, error) {
	list, err := readRange(ctx, read, f.Origins, f.OriginsLength)
	if err != nil {
		return nil, fmt.Errorf("read list of inputs: %w", err)
	}
	return f.parseOrigins(list)
}

// parseOrigins checks and decodes the stored list.
func (f *Footer) parseOrigins(list []byte) (*Origins, error) {
	if got := HashOf(list); got != f.OriginsHash {
		return nil, corruptOrigins(f.Origins, "hash of the list is %s, %s expected", got, f.OriginsHash)
	}
	o, err := decodeOrigins(list, f)
	if err != nil {
		return nil, corruptOrigins(f.Origins, "%v", err)
	}
	return o, nil
}

// DecodePage checks and decodes the stored page of block b. Damage is a [*CorruptError].
func (o *Origins) DecodePage(stored []byte, b Block) (*BlockOrigins, error) {
	p := o.Pages[b.Index]
	if int64(len(stored)) != p.Length {
		return nil, corruptOrigins(p.Offset, "page of block %d: %d bytes, %d expected", b.Index, len(stored), p.Length)
	}
	if got := HashOf(stored); got != p.Hash {
		return nil, corruptOrigins(p.Offset, "page of block %d: hash is %s, %s expected", b.Index, got, p.Hash)
	}
	ids, err := decodePage(stored, b.Records, len(o.Parts))
	if err != nil {
		return nil, corruptOrigins(p.Offset, "page of block %d: %v", b.Index, err)
	}
	for i, part := range ids.Parts {
		if input := o.Parts[part].Input; ids.Before[i] >= o.Inputs[input].Records {
			return nil, corruptOrigins(p.Offset, "page of block %d: %d records of part %d before it, whose input has %d",
				b.Index, ids.Before[i], part, o.Inputs[input].Records)
		}
	}
	return ids, nil
}

func corruptOrigins(at int64, format string, args ...any) error {
	return &CorruptError{Part: "section " + originsSection, Offset: at, Reason: fmt.Sprintf(format, args...)}
}

// The keys of the list of inputs, besides some of the footer's.
const (
	keyBatch  = "Batch"
	keyNumber = "Number"
	keyInput  = "Input"
	keyPages  = "Pages"
	keyParts  = "Parts"
	keySize   = "Size"
	keySum    = "Sum"
)

// encodeList encodes the list of inputs in msgpack: a map with its keys in byte order.
func encodeList(inputs []Origin, parts []Part, pages []OriginPage, f *Footer) ([]byte, error) {
	var batches, sums []byte
	var buckets, ends, instances, levels, numbers, records, seqs, sizes, starts []uint64
	var names []string
	for _, o := range inputs {
		if len(names) == 0 || names[len(names)-1] != o.Instance {
			names = append(names, o.Instance)
		}
		batches = append(batches, o.Batch[:]...)
		buckets = append(buckets, uint64(o.Bucket-f.BucketStart)/60)
		ends = append(ends, uint64(o.End-o.Start))
		instances = append(instances, uint64(len(names)-1))
		levels = append(levels, o.Levels[:]...)
		numbers = append(numbers, o.Number)
		records = append(records, o.Records)
		seqs = append(seqs, uint64(o.Seq))
		sizes = append(sizes, uint64(o.Size))
		starts = append(starts, uint64(o.Start-f.Start))
		sums = o.Sum.append(sums)
	}
	p := newFields()
	var hashes []byte
	var lengths []uint64
	for _, page := range pages {
		hashes = append(hashes, page.Hash[:]...)
		lengths = append(lengths, uint64(page.Length))
	}
	p.add(keyHash, hashes)
	p.add(keyLength, lengths)
	m := newFields()
	m.add(keyBatch, batches)
	m.add(keyBucket, buckets)
	m.add(keyEnd, ends)
	m.add(keyInstance, instances)
	m.add(keyInstances, names)
	m.add(keyLevels, levels)
	m.add(keyNumber, numbers)
	m.addFields(keyPages, p)
	if !slices.EqualFunc(parts, PartsOf(inputs, nil), func(a, b Part) bool { return a.Input == b.Input && a.Instance == b.Instance }) {
		m.addFields(keyParts, partFields(parts))
	}
	m.add(keyRecords, records)
	m.add(keySeq, seqs)
	m.add(keySize, sizes)
	m.add(keyStart, starts)
	m.add(keySum, sums)
	return m.bytes()
}

// partFields has a column of inputs, one of instances, as indexes into their names, and one of levels.
func partFields(parts []Part) *fields {
	var of, instances, levels []uint64
	var names []string
	for _, p := range parts {
		if len(names) == 0 || names[len(names)-1] != p.Instance {
			names = append(names, p.Instance)
		}
		of, instances = append(of, uint64(p.Input)), append(instances, uint64(len(names)-1))
		levels = append(levels, p.Levels[:]...)
	}
	m := newFields()
	m.add(keyInput, of)
	m.add(keyInstance, instances)
	m.add(keyInstances, names)
	m.add(keyLevels, levels)
	return m
}

// decodeParts decodes the parts of inputs: one of each, unless the list has others.
func decodeParts(r *fieldReader, inputs []Origin) ([]Part, error) {
	if !r.has(keyParts) {
		return PartsOf(inputs, nil), nil
	}
	c := r.fields(keyParts)
	of := c.column(keyInput, MaxParts)
	instances := c.exactly(keyInstance, len(of))
	names := c.texts(keyInstances, len(of), blobnaming.MaxInstance)
	levels := c.exactly(keyLevels, len(of)*record.Levels)
	parts := make([]Part, len(of))
	for i := range parts {
		if of[i] >= uint64(len(inputs)) || instances[i] >= uint64(len(names)) {
			c.fail("number out of range in part %d", i)
			break
		}
		parts[i] = Part{int(of[i]), names[instances[i]], record.Counts(levels[i*record.Levels:])}
	}
	r.done(keyParts, c)
	if r.err != nil {
		return nil, r.err
	}
	return parts, validateParts(inputs, parts)
}

// validateParts checks that each input has parts, in their order, with all of its records.
func validateParts(inputs []Origin, parts []Part) error {
	if len(parts) > MaxParts {
		return fmt.Errorf("%d parts of inputs, at most %d allowed", len(parts), MaxParts)
	}
	sums := make([]record.Counts, len(inputs))
	for i, p := range parts {
		if p.Input < 0 || p.Input >= len(inputs) || !blobnaming.ValidInstance(p.Instance) ||
			i > 0 && comparePart(inputs, parts[i-1], p) >= 0 {
			return fmt.Errorf("part %d is of no input, or out of order", i)
		}
		if slices.ContainsFunc(p.Levels[:], func(n uint64) bool { return n > inputs[p.Input].Records }) {
			return fmt.Errorf("part %d has more records than its input", i)
		}
		sums[p.Input].Add(p.Levels)
	}
	for i, sum := range sums {
		if sum != inputs[i].Levels {
			return fmt.Errorf("the sums of the parts of input %d are not its totals", i)
		}
	}
	return nil
}

// decodeOrigins decodes the list that encodeList wrote into an output with footer f.
func decodeOrigins(list []byte, f *Footer) (*Origins, error) {
	r := readFields(list)
	records := r.column(keyRecords, MaxOrigins)
	n := len(records)
	batches := r.bytes(keyBatch, n*len(blobnaming.Batch{}))
	buckets := r.exactly(keyBucket, n)
	ends := r.exactly(keyEnd, n)
	instances := r.exactly(keyInstance, n)
	names := r.texts(keyInstances, n, blobnaming.MaxInstance)
	levels := r.exactly(keyLevels, n*record.Levels)
	numbers := r.exactly(keyNumber, n)
	seqs := r.exactly(keySeq, n)
	sizes := r.exactly(keySize, n)
	starts := r.exactly(keyStart, n)
	sums := r.bytes(keySum, n*sumSize)
	o := &Origins{Inputs: make([]Origin, n)}
	o.Pages = decodePages(r, f)
	if r.err != nil {
		return nil, r.err
	}
	for i := range o.Inputs {
		// Other numbers need no check: if too large for int64, they become numbers that validateOrigins rejects.
		if buckets[i] >= maxMinutes || starts[i] > maxSpan || ends[i] > maxSpan || instances[i] >= uint64(len(names)) {
			return nil, fmt.Errorf("input %d: number out of range", i)
		}
		start := f.Start + int64(starts[i])
		o.Inputs[i] = Origin{
			Bucket:   f.BucketStart + int64(buckets[i])*60,
			Number:   numbers[i],
			Batch:    blobnaming.Batch(batches[i*len(blobnaming.Batch{}):]),
			Start:    start,
			End:      start + int64(ends[i]),
			Records:  records[i],
			Size:     int64(sizes[i]),
			Instance: names[instances[i]],
			Seq:      int64(seqs[i]),
			Levels:   record.Counts(levels[i*record.Levels:]),
			Sum:      parseSum(sums[i*sumSize:]),
		}
	}
	if n == 0 || instances[0] != 0 || instances[n-1] != uint64(len(names)-1) {
		return nil, errors.New("its instances are not those of its inputs")
	}
	if err := validateOrigins(o.Inputs, f); err != nil {
		return o, err
	}
	var err error
	o.Parts, err = decodeParts(r, o.Inputs)
	return o, err
}

// decodePages reads the places of the pages, which fill the section before the list.
func decodePages(r *fieldReader, f *Footer) []OriginPage {
	c := r.fields(keyPages)
	hashes := c.hashes(keyHash, len(f.Blocks))
	lengths := c.exactly(keyLength, len(f.Blocks))
	pages := make([]OriginPage, len(f.Blocks))
	offset := f.originsStart()
	for i := range pages {
		if lengths[i] == 0 || lengths[i] > maxSection {
			c.fail("number out of range in page %d", i)
			break
		}
		pages[i] = OriginPage{Offset: offset, Length: int64(lengths[i]), Hash: hashes[i]}
		offset += pages[i].Length
	}
	if offset != f.Origins {
		c.fail("they end at %d, the list is at %d", offset, f.Origins)
	}
	r.done(keyPages, c)
	return pages
}

// originsStart is the offset of the first page.
func (f *Footer) originsStart() int64 {
	return f.Sections[len(f.Sections)-1].Offset + frameHeader
}

// validateOrigins checks that inputs are consistent, alone and with the output's footer. Writers call it before writing,
// readers before use.
func validateOrigins(inputs []Origin, f *Footer) error {
	if n := len(inputs); n == 0 || n > MaxOrigins {
		return fmt.Errorf("%d inputs, 1 to %d allowed", n, MaxOrigins)
	}
	var levels record.Counts
	var records uint64
	start, end, seq := int64(math.MaxInt64), int64(math.MinInt64), int64(0)
	for i, o := range inputs {
		var sum uint64
		for l, n := range o.Levels {
			if n > f.Levels[l]-levels[l] {
				return errors.New("the inputs' sums are not the totals")
			}
			levels[l] += n
			sum += n
		}
		switch {
		case o.Records == 0 || o.Records != sum:
			return fmt.Errorf("input %d: %d records, but %d by level", i, o.Records, sum)
		case o.Start > o.End || o.Size <= 0 || o.Seq < 0 || o.Number == 0 || !blobnaming.ValidInstance(o.Instance):
			return fmt.Errorf("input %d: it can be no segment", i)
		case o.Bucket < f.BucketStart || o.Bucket >= f.BucketStart+f.BucketWidth || o.Bucket%60 != 0:
			return fmt.Errorf("input %d: it is of another day", i)
		case i > 0 && CompareOrigins(inputs[i-1], o) >= 0:
			return fmt.Errorf("input %d: it is out of order", i)
		}
		records += o.Records
		start, end, seq = min(start, o.Start), max(end, o.End), max(seq, o.Seq)
	}
	switch {
	case records != f.Records || levels != f.Levels:
		return errors.New("the inputs' sums are not the totals")
	case start != f.Start || end != f.End:
		return errors.New("the inputs' times are not the segment's")
	case seq != f.Seq:
		return fmt.Errorf("the greatest Seq of its inputs is %d, the segment's is %d", seq, f.Seq)
	}
	return nil
}

// validateOutput checks a footer's description of its origins.
func (f *Footer) validateOutput() error {
	if !f.IsOutput() {
		if f.OriginsLength != 0 || f.OriginsHash != (Hash{}) ||
			slices.ContainsFunc(f.Sections, func(s Section) bool { return s.Name == originsSection }) {
			return errors.New("origins without their place")
		}
		if f.BucketWidth == maxMinutes*60 {
			return errors.New("a segment of a whole day that is no output")
		}
		return nil
	}
	n := len(f.Sections)
	switch {
	case n == 0 || f.Sections[n-1].Name != originsSection:
		return errors.New("the last section is not that of origins")
	case f.OriginsLength <= 0 || f.OriginsLength > maxOriginsList:
		return fmt.Errorf("list of inputs of %d bytes, at most %d allowed", f.OriginsLength, maxOriginsList)
	case f.Origins <= f.originsStart() || f.Origins != f.Footer-f.OriginsLength:
		return fmt.Errorf("list of inputs at %d is not the end of its section", f.Origins)
	case f.BucketWidth != maxMinutes*60:
		return fmt.Errorf("output of a bucket of %d s", f.BucketWidth)
	case f.Salt != [16]byte{}:
		return errors.New("output with a salt")
	case f.Instance != blobnaming.OutputInstance:
		return fmt.Errorf("output of instance %q", f.Instance)
	}
	return nil
}

// encodeOrigins encodes the section of origins as a frame and adds it to f.
func encodeOrigins(inputs []Origin, parts []Part, pages []byte, places []OriginPage, f *Footer) ([]byte, error) {
	frame := append(newFrame(), pages...)
	list, err := encodeList(inputs, parts, places, f)
	if err != nil {
		return nil, err
	}
	f.Origins, f.OriginsLength, f.OriginsHash = f.Footer+int64(len(frame)), int64(len(list)), HashOf(list)
	frame = append(frame, list...)
	f.addSection(originsSection, frame)
	if err := validateOrigins(inputs, f); err != nil {
		return nil, err
	}
	return frame, validateParts(inputs, parts)
}
