package query

import (
	"context"
	"errors"
	"slices"

	"logstow/record"
)

// worker holds what searching one block at a time needs.
type worker struct {
	text    []byte
	scanner scanner
	// matches and spans gather what find finds.
	matches []byte
	spans   []matchSpan
}

// maxKept is the size of a buffer that is kept for the next block.
const maxKept = 4 << 20

// blockMatches are the matching records of one block.
type blockMatches struct {
	segment *Segment
	block   int // its index in the segment
	text    []byte
	records []matchSpan
}

// matchSpan is a record in the text of [blockMatches].
type matchSpan struct {
	time       int64
	start, end uint32
	// message is the offset of the message in the record.
	message uint32
	level   record.Level
}

// find searches a task's block for its matches.
func (f *fetcher) find(ctx context.Context, t *task) *blockMatches {
	found := &blockMatches{segment: t.segment, block: t.block.Index}
	f.search(ctx, t, func(w *worker, text []byte) (err error) {
		w.matches, w.spans = w.matches[:0], w.spans[:0]
		scanErr := w.scanner.scan(text, f.checks(t), func(start, end int, columns *record.Columns) {
			time, timeErr := record.ParseTime(text[start : start+record.TimeLen])
			if timeErr != nil {
				err = timeErr
				return
			}
			at := len(w.matches)
			w.matches = append(w.matches, text[start:end]...)
			w.spans = append(w.spans, matchSpan{time, uint32(at), uint32(len(w.matches)), uint32(end - start - len(columns.Raw)), columns.Level})
		})
		found.text, found.records = w.matches, slices.Clone(w.spans)
		if cap(w.matches) > maxKept {
			w.matches = nil
		} else {
			found.text = slices.Clone(found.text)
		}
		return errors.Join(scanErr, err)
	})
	return found
}

// each calls found for every match of a task's block, with its stored text and its columns,
// which are valid until found returns. An error of found is a problem of the segment; the other
// matches are still found.
func (f *fetcher) each(ctx context.Context, t *task, found func(line []byte, columns *record.Columns) error) {
	f.search(ctx, t, func(w *worker, text []byte) (err error) {
		scanErr := w.scanner.scan(text, f.checks(t), func(start, end int, columns *record.Columns) {
			if foundErr := found(text[start:end], columns); foundErr != nil {
				err = foundErr
			}
		})
		return errors.Join(scanErr, err)
	})
}

// count is the number of matches in a task's block, which is not read if its metadata suffice.
func (f *fetcher) count(ctx context.Context, t *task) (n uint64) {
	if f.matcher.levelsSuffice(t.block.Start, t.block.End) {
		f.rec.Processed(t.segment, t.block.Stored)
		return f.matcher.levels.Count(t.block.Levels)
	}
	f.search(ctx, t, func(w *worker, text []byte) error {
		return w.scanner.scan(text, f.checks(t), func(int, int, *record.Columns) { n++ })
	})
	return n
}

// checks are those that the records of a task's block need.
func (f *fetcher) checks(t *task) checks {
	return f.matcher.checksFor(&t.block, t.segment.Name.Service)
}

// search reads and decodes a task's block and calls use with its text, which is the
// worker's. What cannot be read becomes a problem.
func (f *fetcher) search(ctx context.Context, t *task, use func(w *worker, text []byte) error) {
	defer f.rec.Processed(t.segment, t.block.Stored)
	stored, err := f.stored(ctx, t)
	if ctx.Err() != nil {
		return
	}
	w := <-f.workers
	defer func() { f.workers <- w }()
	var text []byte
	if err == nil {
		text, err = f.decoder.DecodeBlock(w.text[:0], stored, t.block)
	}
	if err != nil && t.segment.cache != nil && ctx.Err() == nil { // what is cached may be damaged
		t.segment.dropCached() // a small one is cached as a whole
		if stored, err = f.readStored(ctx, t.segment, t.block.Offset, t.block.Stored); err == nil {
			text, err = f.decoder.DecodeBlock(w.text[:0], stored, t.block)
		}
	}
	if err != nil {
		text, err = f.fromCopies(ctx, t, w.text[:0], err)
	}
	if err == nil {
		if w.text = text; cap(text) > maxKept {
			w.text = nil
			w.scanner.shrink()
		}
		f.rec.BlocksRead.Add(1)
		f.rec.BytesScanned.Add(int64(len(text)))
		if !f.matcher.timeAndLevelOnly() {
			f.findings.addSample(text)
		}
		err = use(w, text)
		f.findings.addRejections(w.scanner.takeRejections())
	}
	if err != nil && ctx.Err() == nil {
		f.readFailed(ctx, t.segment, err)
	}
}

// fromCopies decodes a task's block from another copy of the segment, which has
// it at the same place, after the first failed with cause.
func (f *fetcher) fromCopies(ctx context.Context, t *task, dst []byte, cause error) ([]byte, error) {
	for _, c := range t.segment.copies {
		stored, err := f.read(ctx, c, t.block.Offset, t.block.Stored)
		if err != nil {
			continue
		}
		if text, err := f.decoder.DecodeBlock(dst, stored, t.block); err == nil {
			f.rec.Note("%s: %v; its copy %s is read instead", t.segment, cause, c)
			return text, nil
		}
	}
	return nil, cause
}
