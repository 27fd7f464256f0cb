package filestore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"logstow/blobnaming"
	"logstow/buffer"
	"logstow/input"
	"logstow/internal/tempfile"
	"logstow/record"
	"logstow/spill"
)

const (
	// defaultRunSize is the number of bytes of a run.
	defaultRunSize = 16 << 20
	// recordOverhead is the approximate memory of a record in addition to its attributes and message.
	recordOverhead = 96
	// maxRunHours is the maximum number of hours of a run whose segments are written at once. A run of more hours is merged
	// with later ones, because each would have small segments of the same hours.
	maxRunHours = 16
)

// runs writes records as segments to a file: gathered to runs, each in the order of time.
type runs struct {
	input.Transient
	segments segments
	limit    int
	// records are the records of the current run, texts their attributes and messages, size the approximate memory of both.
	records []entry
	texts   []byte
	size    int
	// spilled are the runs that wait to be merged.
	spilled *spill.Merger[entry]
}

// entry is a record of a service.
type entry struct {
	service string
	record.Record
}

// compareEntries orders records by service, then by time: segments have one service each.
func compareEntries(a, b entry) int {
	return cmp.Or(strings.Compare(a.service, b.service), cmp.Compare(a.Time, b.Time))
}

func newRuns(file *os.File, tempDir string, limit int) *runs {
	return &runs{segments: newSegments(file, tempDir), limit: cmp.Or(limit, defaultRunSize), spilled: spill.NewMerger(&keys{}, tempDir)}
}

// close removes the temporary files.
func (r *runs) close() error {
	return errors.Join(tempfile.Remove(r.segments.file), r.spilled.Close())
}

// Append implements [input.Sink].
func (r *runs) Append(_ context.Context, c buffer.Chunk) (buffer.LSN, error) {
	if c.Parse != r.segments.parser { // segments have one parser each
		if err := r.write(); err != nil {
			return 0, err
		}
		r.segments.parser = c.Parse
	}
	for i := range c.Records {
		if err := r.add(c.Service, &c.Records[i]); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// add adds a record to the run, copying it.
func (r *runs) add(service string, one *record.Record) error {
	n := len(one.Attributes) + len(one.Message) + recordOverhead
	if len(r.records) > 0 && r.size+n > r.limit {
		if err := r.flush(); err != nil {
			return err
		}
	}
	r.size += n
	r.records = append(r.records, entry{service, record.Record{
		Time: one.Time, Level: one.Level, Source: one.Source, Attributes: r.copy(one.Attributes), Message: r.copy(one.Message),
	}})
	return nil
}

// copy copies a part of a record to the memory of the run.
func (r *runs) copy(part []byte) []byte {
	start := len(r.texts)
	r.texts = append(r.texts, part...)
	return r.texts[start:len(r.texts):len(r.texts)]
}

// flush writes the run as segments, or to the spill file to be merged with other runs. Records of equal time are read in
// the order of their segments, so a run after one that waits must wait, too.
func (r *runs) flush() error {
	slices.SortStableFunc(r.records, compareEntries)
	var err error
	if r.spilled.Runs() > 0 || countHours(r.records, maxRunHours+1) > maxRunHours {
		err = r.spilled.AddRun(&cursor{records: r.records})
	} else {
		err = r.writeSegments()
	}
	if err == nil && r.spilled.Runs() == spill.MaxRuns {
		err = r.merge()
	}
	r.records, r.texts, r.size = r.records[:0], r.texts[:0], 0
	return err
}

// writeSegments writes the segments of the run.
func (r *runs) writeSegments() error {
	for i := range r.records {
		if err := r.segments.append(r.records[i]); err != nil {
			return err
		}
	}
	return r.segments.end()
}

// merge writes the segments of the runs that wait.
func (r *runs) merge() error {
	if err := r.spilled.Each(nil, func(one entry, c spill.Cursor[entry]) (err error) {
		payload, err := r.spilled.Payload(c)
		if err != nil {
			return err
		}
		one.Attributes, one.Message, _ = bytes.Cut(payload, []byte{'\t'})
		return r.segments.append(one)
	}); err != nil {
		return err
	}
	return r.segments.end()
}

// write writes all remaining records.
func (r *runs) write() error {
	if err := r.flush(); err != nil {
		return err
	}
	return r.merge()
}

// end writes all remaining records, and sorts the segments by their names.
func (r *runs) end() error {
	if err := r.write(); err != nil {
		return err
	}
	slices.SortFunc(r.segments.blobs, func(a, b blob) int { return strings.Compare(a.name, b.name) })
	return nil
}

// countHours counts the hours of sorted records, those of each service, up to limit.
func countHours(records []entry, limit int) (n int) {
	var end int64
	for i := range records {
		if t := records[i].Time; n == 0 || t >= end || records[i].service != records[i-1].service {
			end = blobnaming.BucketStart(t, time.Hour).Add(time.Hour).UnixNano()
			if n++; n == limit {
				break
			}
		}
	}
	return n
}
