package datafile

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"logstow/export/delta"
	"logstow/message"
	"logstow/record"
)

const (
	// groupRows and groupBytes limit a row group, the latter by the texts in it. Smaller groups are read less often, larger ones take
	// more memory.
	groupRows  = 1 << 16
	groupBytes = 32 << 20
	// leastGroup is the least number of rows that limits a row group, smallGroup that from which the next service begins one.
	leastGroup = 1 << 10
	smallGroup = 1 << 12
	// groupsPerDay is the number of row groups in which a service of many rows has a day at least, so that an hour is in few of them.
	groupsPerDay = 48
)

// Row is a record. [Writer.Write] copies its slices.
type Row struct {
	Service  []byte
	Instance []byte // nil if unknown
	Line     record.Line
	// Named has a value for each named column.
	Named []message.Value
}

// Counts tells what a file does not have exactly as the records.
type Counts struct {
	// Changed is the number of texts with bytes that are not UTF-8, which are U+FFFD in the file.
	Changed int64 `json:"changed_texts"`
	// Conflicts is the number of values that do not have the type of their column, and are null in the file.
	Conflicts int64 `json:"type_conflicts"`
}

// column is a column of a file.
type column interface {
	// endGroup writes the rows since the last call.
	endGroup(f *file) error
	addStats(s *delta.Stats)
}

// Writer writes one file. Rows come in any order; those of one service and neighbouring times should follow each other. Not safe for
// concurrent use.
type Writer struct {
	out *file

	time, nanos                               numbers[int64]
	service, level, instance, source, message texts
	attributes                                pairs
	conflicts                                 int64
	named                                     []namedColumn
	all                                       []column

	levels [record.Levels][]byte
	begin  int64 // where the row group begins
	group  int   // its rows
	bytes  int64 // of the texts in it
	limit  int   // of its rows
}

// NewWriter makes a Writer to w.
func NewWriter(w io.Writer, named []Named, c Compression) (*Writer, error) {
	compressor, err := newCompressor(c)
	if err != nil {
		return nil, err
	}
	out, err := newFile(w, schema(named))
	if err != nil {
		return nil, fmt.Errorf("cannot write a data file: %w", err)
	}
	f := &Writer{out: out, limit: groupRows}
	leaf := func(definition, repetition uint8, path ...string) texts {
		return texts{chunk: chunk{
			path:       path,
			kind:       format.ByteArray,
			definition: definition,
			repetition: repetition,
			compressor: compressor,
		}}
	}
	for name, column := range map[string]*numbers[int64]{timeColumn: &f.time, nanosColumn: &f.nanos} {
		*column = numbers[int64]{chunk: chunk{path: []string{name}, kind: format.Int64, compressor: compressor}, bits: integerBits}
	}
	f.service, f.level, f.instance, f.source = leaf(0, 0, serviceColumn), leaf(1, 0, levelColumn), leaf(1, 0, instanceColumn), leaf(1, 0, sourceColumn)
	f.attributes.keys = leaf(nullValue, 1, attributesColumn, pairName, keyName)
	f.attributes.values = leaf(mapValue, 1, attributesColumn, pairName, valueName)
	f.message = leaf(0, 0, messageColumn)
	f.message.out = out.out
	for _, column := range []*texts{&f.service, &f.level, &f.instance, &f.source, &f.attributes.keys} {
		column.withDictionary()
	}
	for _, column := range []*texts{&f.attributes.keys, &f.attributes.values, &f.message} {
		column.noBounds = true
	}
	f.all = []column{&f.message, &f.time, &f.nanos, &f.service, &f.level, &f.instance, &f.source, &f.attributes}
	for _, n := range named {
		c := newNamed(n, compressor)
		f.named = append(f.named, c)
		f.all = append(f.all, c)
	}
	for l := range f.levels {
		f.levels[l] = []byte(record.Level(l).String())
	}
	return f, nil
}

func integerBits(v int64) uint64 { return uint64(v) }

// Size is the size of the file if it ended now, approximately: rows of the row group count in full.
func (w *Writer) Size() int64 { return w.begin + w.bytes }

// Begin begins the rows of a service on a day, of which there are about so many.
func (w *Writer) Begin(rows int64) error {
	w.limit = int(min(max(rows/groupsPerDay, leastGroup), groupRows))
	if w.group < smallGroup {
		return nil
	}
	return w.endGroup()
}

// Write adds a row.
func (w *Writer) Write(r *Row) error {
	if err := w.addRow(r); err != nil {
		return fmt.Errorf("cannot write a data file: %w", err)
	}
	w.group++
	w.bytes += int64(len(r.Line.Text))
	if w.group >= w.limit || w.bytes >= groupBytes {
		return w.endGroup()
	}
	return nil
}

// addRow adds the values of a row.
func (w *Writer) addRow(r *Row) error {
	if err := w.time.add(floorMicros(r.Line.Time)); err != nil {
		return err
	}
	if err := w.nanos.add(r.Line.Time); err != nil {
		return err
	}
	if err := w.service.add(r.Service); err != nil {
		return err
	}
	if err := w.level.addOptional(w.levels[r.Line.Level], r.Line.Level == record.None); err != nil {
		return err
	}
	if err := w.instance.addOptional(r.Instance, r.Instance == nil); err != nil {
		return err
	}
	if err := w.source.addOptional(r.Line.Source, len(r.Line.Source) == 1 && r.Line.Source[0] == '-'); err != nil {
		return err
	}
	if err := w.attributes.add(r.Line.Attributes); err != nil {
		return err
	}
	if err := w.message.addMessage(r.Line.Raw); err != nil {
		return err
	}
	for i := range w.named {
		if err := w.named[i].add(r.Named[i], &w.conflicts); err != nil {
			return err
		}
	}
	return nil
}

// floorMicros converts nanoseconds to microseconds, rounding down.
func floorMicros(nanos int64) int64 {
	micros := nanos / 1000
	if nanos%1000 < 0 {
		micros--
	}
	return micros
}

// endGroup ends a row group.
func (w *Writer) endGroup() error {
	if w.group == 0 {
		return nil
	}
	for _, c := range w.all {
		if err := c.endGroup(w.out); err != nil {
			return fmt.Errorf("cannot write a data file: %w", err)
		}
	}
	w.out.endGroup(w.group)
	w.begin, w.group, w.bytes = w.out.out.n, 0, 0
	return nil
}

// Close ends the file and returns its statistics.
func (w *Writer) Close() (delta.Stats, Counts, error) {
	err := w.endGroup()
	if err == nil {
		err = w.out.end()
	}
	if err != nil {
		return delta.Stats{}, Counts{}, fmt.Errorf("cannot write a data file: %w", err)
	}
	s := delta.Stats{Records: w.out.rows, Min: make(map[string]any), Max: make(map[string]any), Nulls: make(map[string]int64)}
	for _, c := range w.all {
		c.addStats(&s)
	}
	if w.nanos.file.any {
		s.Min[timeColumn], s.Max[timeColumn] = delta.MinTime(w.nanos.file.least), delta.MaxTime(w.nanos.file.greatest)
	}
	counts := Counts{Conflicts: w.conflicts}
	for _, c := range []*texts{&w.service, &w.level, &w.instance, &w.source, &w.message, &w.attributes.keys, &w.attributes.values} {
		counts.Changed += c.changed
	}
	for _, c := range w.named {
		counts.Changed += c.changedTexts()
	}
	return s, counts, nil
}
