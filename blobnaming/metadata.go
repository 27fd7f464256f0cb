package blobnaming

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"logstow/record"
)

// The values of the LogVersion metadata key: a segment that a shipper wrote, and an
// output of compaction, whose records are those of other segments.
const (
	Version       = "logstow/1"
	VersionOutput = "logstow/1-output"
)

// ErrVersion is returned for metadata with another LogVersion than [Version] and [VersionOutput]:
// the blob was written by a newer Logstow, by a build before 0.1.0 or by another program.
var ErrVersion = errors.New("unknown log version")

// Metadata describes a segment: it is written as the blob's metadata, and repeated in the segment's
// footer and in its index entity. [Metadata.Validate] checks the documented constraints.
type Metadata struct {
	// Start and End are the times of the first and last record, Unix nanoseconds UTC.
	Start, End int64
	// Records is the number of records, at least 1; RawBytes the size of their text form, at most
	// [MaxRawBytes], and at least [record.MinText] for each record.
	Records, RawBytes uint64
	// Levels is the number of records of each level; it sums to Records.
	Levels record.Counts
	// Batch is the segment's identity, which certifies its content.
	Batch Batch
	// Instance is the shipper that wrote it; see [ValidInstance].
	Instance string
	// Seq increases in the order in which one buffer sealed. It is not negative.
	Seq int64
	// Class is the retention class, "" for the default; see [ValidClass].
	Class string
	// Parse is the parser of the messages, in the form of package message/parse; "" for auto/1. See
	// [ValidParse].
	Parse string
	// Footer is the offset of the footer's frame in the blob. It is not negative.
	Footer int64
	// Filter locates the slices of the token filter; the zero value means that there is none.
	Filter Filter
	// Origins is, for an output of compaction, the offset in the blob of the list of its
	// inputs; 0 in a plain segment. An output has [OutputInstance] as Instance, and the greatest
	// Seq of its inputs as Seq.
	Origins int64
	// Labels is the number of combinations of label attributes that the footer lists, at most [MaxLabels]; 0 if no record has any.
	Labels uint32
	// Instances is the number of instances whose records a relay put into the segment, at most [MaxInstances]; 0 if all records are
	// those of Instance.
	Instances uint32
}

// MaxInstances is the maximum number of instances whose records a plain segment has.
const MaxInstances = 1000

// MaxLabels is the maximum number of combinations of label attributes that a footer lists.
const MaxLabels = 1000

// OutputInstance is the Instance of an output of compaction.
const OutputInstance = "-"

// IsOutput reports whether the segment is an output of compaction.
func (m Metadata) IsOutput() bool { return m.Origins != 0 }

// Mixed reports whether the segment may have records of other instances than Instance: as an output of compaction, or as one that a
// relay wrote.
func (m Metadata) Mixed() bool { return m.IsOutput() || m.Instances > 0 }

// Filter locates a segment's token filter: Partitions slices of SliceLength
// bytes each, one after the other from Offset on. All three are positive; all are 0
// if there is no filter.
type Filter struct {
	Offset, Partitions, SliceLength int64
}

// The metadata keys. Storage may change their case: compare them without case.
const (
	keyStart     = "StartTime"
	keyEnd       = "EndTime"
	keyVersion   = "LogVersion"
	keyRecords   = "Records"
	keyRawBytes  = "RawBytes"
	keyLevels    = "Levels"
	keyBatch     = "Batch"
	keyInstance  = "Instance"
	keySeq       = "Seq"
	keyClass     = "Class"
	keyParse     = "Parse"
	keyFooter    = "Footer"
	keyFilter    = "Filter"
	keyOrigins   = "Origins"
	keyLabels    = "Labels"
	keyInstances = "Instances"
)

// Encode returns the blob metadata for m. The Class of the default class, the Parse of the default
// parser, the Filter of a segment without one, and Labels and Instances that are 0 are omitted.
func (m Metadata) Encode() map[string]string {
	e := map[string]string{
		keyStart:    FormatTime(m.Start),
		keyEnd:      FormatTime(m.End),
		keyVersion:  Version,
		keyRecords:  formatUint(m.Records),
		keyRawBytes: formatUint(m.RawBytes),
		keyLevels:   FormatLevels(m.Levels),
		keyBatch:    m.Batch.String(),
		keyInstance: m.Instance,
		keySeq:      formatInt(m.Seq),
		keyFooter:   formatInt(m.Footer),
	}
	if m.Class != "" {
		e[keyClass] = m.Class
	}
	if m.Parse != "" {
		e[keyParse] = escapeParse(m.Parse)
	}
	if m.Filter != (Filter{}) {
		e[keyFilter] = m.Filter.String()
	}
	if m.Labels > 0 {
		e[keyLabels] = formatUint(uint64(m.Labels))
	}
	if m.Instances > 0 {
		e[keyInstances] = formatUint(uint64(m.Instances))
	}
	if m.IsOutput() {
		e[keyVersion], e[keyOrigins] = VersionOutput, formatInt(m.Origins)
	}
	return e
}

// ParseMetadata parses the output of [Metadata.Encode]. Keys are matched without case and unknown
// keys are ignored; values are parsed strictly, so that encoding the result reproduces them. Errors
// name the key. For metadata of another version the error is [ErrVersion], independent of other keys.
func ParseMetadata(blob map[string]string) (Metadata, error) {
	v, err := collect(blob)
	if err != nil {
		return Metadata{}, err
	}
	version := v.text(keyVersion)
	if v.err == nil && version != Version && version != VersionOutput {
		return Metadata{}, fmt.Errorf("metadata %s: %w %q: this program reads %s and %s; a newer one, or a build before 0.1.0, wrote the blob",
			keyVersion, ErrVersion, version, Version, VersionOutput)
	}
	m := Metadata{
		Start:     required(&v, keyStart, record.ParseTime[string]),
		End:       required(&v, keyEnd, record.ParseTime[string]),
		Records:   required(&v, keyRecords, parseUint),
		RawBytes:  required(&v, keyRawBytes, parseUint),
		Levels:    required(&v, keyLevels, ParseLevels),
		Batch:     required(&v, keyBatch, ParseBatch),
		Instance:  v.text(keyInstance),
		Seq:       required(&v, keySeq, parseInt),
		Class:     optional(&v, keyClass, parseClass),
		Parse:     optional(&v, keyParse, parseParse),
		Footer:    required(&v, keyFooter, parseInt),
		Filter:    optional(&v, keyFilter, ParseFilter),
		Labels:    optional(&v, keyLabels, parseCount),
		Instances: optional(&v, keyInstances, parseCount),
	}
	if version == VersionOutput {
		m.Origins = required(&v, keyOrigins, parseOrigins)
	}
	if v.err == nil {
		v.err = m.Validate()
	}
	if v.err != nil {
		return Metadata{}, v.err
	}
	return m, nil
}

// Validate reports the first field of m that violates its documentation or contradicts another.
// Errors name the metadata key.
func (m Metadata) Validate() error {
	var sum uint64
	for _, n := range m.Levels {
		if sum += n; sum < n {
			return keyError(keyLevels, errors.New("the counts overflow"))
		}
	}
	switch {
	case m.RawBytes > MaxRawBytes:
		return keyError(keyRawBytes, fmt.Errorf("%d is more than %d, the text of the largest segment", m.RawBytes, int64(MaxRawBytes)))
	case m.Records == 0 || m.Records > m.RawBytes/record.MinText:
		return keyError(keyRecords,
			fmt.Errorf("%d is not a number of records from 1 to %d, for which %s suffices", m.Records,
				m.RawBytes/record.MinText, keyRawBytes))
	case sum != m.Records:
		return keyError(keyLevels, fmt.Errorf("the counts sum to %d, not to the %d of %s", sum, m.Records, keyRecords))
	case m.End < m.Start:
		return keyError(keyEnd, fmt.Errorf("%s is before the %s %s", FormatTime(m.End), keyStart, FormatTime(m.Start)))
	case !ValidInstance(m.Instance):
		return keyError(keyInstance, fmt.Errorf("%q is not 1 to %d of A-Z, a-z, 0-9, '.', '_' and '-'", m.Instance, MaxInstance))
	case m.Seq < 0:
		return keyError(keySeq, fmt.Errorf("%d is negative", m.Seq))
	case !ValidClass(m.Class):
		return keyError(keyClass, fmt.Errorf("%q is not at most %d of a-z and 0-9", m.Class, MaxClass))
	case !ValidParse(m.Parse):
		return keyError(keyParse, fmt.Errorf("%q is not one line of at most %d bytes", m.Parse, MaxParse))
	case m.Footer < 0:
		return keyError(keyFooter, fmt.Errorf("%d is negative", m.Footer))
	case m.Origins < 0 || m.Origins != 0 && m.Origins >= m.Footer:
		return keyError(keyOrigins, fmt.Errorf("%d is not before the footer", m.Origins))
	case uint64(m.Labels) > min(m.Records, MaxLabels):
		return keyError(keyLabels, fmt.Errorf("%d is more than %d", m.Labels, min(m.Records, MaxLabels)))
	case uint64(m.Instances) > min(m.Records, MaxInstances) || m.Instances > 0 && m.IsOutput():
		return keyError(keyInstances, fmt.Errorf("%d is more than %d, or those of an output", m.Instances, min(m.Records, MaxInstances)))
	case m.Filter != (Filter{}) && min(m.Filter.Offset, m.Filter.Partitions, m.Filter.SliceLength) <= 0:
		return keyError(keyFilter, fmt.Errorf("%s are not three positive numbers", m.Filter))
	}
	return nil
}

// keys are all metadata keys.
func keys() [16]string {
	return [...]string{
		keyStart, keyEnd, keyVersion, keyRecords, keyRawBytes, keyLevels, keyBatch,
		keyInstance, keySeq, keyClass, keyParse, keyFooter, keyFilter, keyOrigins, keyLabels, keyInstances,
	}
}

// values are the metadata of one blob, in the order of keys, those that it has. err is the first error; once it is set, further reads
// give zero values. Millions are parsed for a plan: this needs no memory of its own.
type values struct {
	keys  [16]string
	given [16]string
	has   [16]bool
	err   error
}

// collect finds the known keys in a blob's metadata.
func collect(blob map[string]string) (values, error) {
	v := values{keys: keys()}
	for given, value := range blob {
		for i, key := range v.keys {
			if len(key) != len(given) || !strings.EqualFold(key, given) {
				continue
			}
			if v.has[i] {
				return values{}, keyError(key, errors.New("given twice, in different case"))
			}
			v.given[i], v.has[i] = value, true
			break
		}
	}
	return v, nil
}

// find returns the value of a key.
func (v *values) find(key string) (value string, ok bool) {
	i := slices.Index(v.keys[:], key)
	return v.given[i], v.has[i]
}

// text is the value of a required key.
func (v *values) text(key string) string {
	value, ok := v.find(key)
	if !ok && v.err == nil {
		v.err = keyError(key, errors.New("missing"))
	}
	return value
}

// required parses the value of a required key.
func required[T any](v *values, key string, parse func(string) (T, error)) T {
	text := v.text(key)
	if v.err != nil {
		var zero T
		return zero
	}
	t, err := parse(text)
	if err != nil {
		v.err = keyError(key, fmt.Errorf("%q: %w", text, err))
	}
	return t
}

// optional parses the value of an optional key.
func optional[T any](v *values, key string, parse func(string) (T, error)) T {
	if _, ok := v.find(key); !ok {
		var zero T
		return zero
	}
	return required(v, key, parse)
}

func keyError(key string, err error) error {
	return fmt.Errorf("metadata %s: %w", key, err)
}
