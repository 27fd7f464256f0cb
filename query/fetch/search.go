package fetch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"logstow/query/match"
	"logstow/query/rowset"
	"logstow/query/source"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
)

// Find searches a task's block for its matches.
func (f *Fetcher) Find(ctx context.Context, t *Task) *Matches {
	found := &Matches{Segment: t.Segment, Block: t.Block.Index}
	if t.mixed != nil {
		found.Parts = t.mixed.parts
	}
	f.search(ctx, t, true, func(w *worker, text []byte, origins *locator) (err error) {
		w.spans = w.spans[:0]
		scanErr := w.scanner.Scan(text, f.checksAt(t, origins), func(start, end int, columns *record.Columns) {
			part, ok := origins.part(start)
			if !ok {
				return
			}
			time, timeErr := record.ParseTime(text[start : start+record.TimeLen])
			if timeErr != nil {
				err = timeErr
				return
			}
			w.spans = append(w.spans,
				Span{time, uint32(start), uint32(end), uint32(end - start - len(columns.Raw)), columns.Level, uint32(part)})
		})
		found.Spans = slices.Clone(w.spans)
		found.Text = bytes.Clone(gather(text, found.Spans))
		if scanErr != nil { // readers of the matches rely on the order, without which they would drop records
			slices.SortStableFunc(found.Spans, func(a, b Span) int { return cmp.Compare(a.Time, b.Time) })
		}
		return errors.Join(scanErr, err)
	})
	return found
}

// gather moves the records of spans, which are in order, to the front of text, and returns the front. It updates spans. Each
// record keeps one byte after it, usually its newline, so that adjacent records need not be moved.
func gather(text []byte, spans []Span) []byte {
	end := 0
	for i := range spans {
		s := &spans[i]
		from := end
		if int(s.Start) != from {
			copy(text[from:], text[s.Start:s.End])
		}
		end += int(s.End-s.Start) + 1
		s.Start, s.End = uint32(from), uint32(end-1)
	}
	return text[:min(end, len(text))]
}

// Each calls found for every match in a task's block, with its stored text and its columns, which are valid until found returns.
// origin is the task's segment; if origins is set and the segment is mixed, it is the part of the match. An error of found is recorded
// as a problem of the segment, and does not end the search.
func (f *Fetcher) Each(ctx context.Context, t *Task, origins bool, found func(origin *source.Segment, line []byte, columns *record.Columns) error) {
	f.search(ctx, t, origins, func(w *worker, text []byte, at *locator) (err error) {
		scanErr := w.scanner.Scan(text, f.checksAt(t, at), func(start, end int, columns *record.Columns) {
			part, ok := at.part(start)
			if !ok {
				return
			}
			origin := t.Segment
			if at.reader != nil {
				origin = &at.reader.parts[part]
			}
			if foundErr := found(origin, text[start:end], columns); foundErr != nil {
				err = foundErr
			}
		})
		return errors.Join(scanErr, err)
	})
}

// Count counts the matches in a task's block. It does not read the block if its metadata suffice.
func (f *Fetcher) Count(ctx context.Context, t *Task) (n uint64) {
	if t.Segment.Excluded == nil && f.Matcher.LevelsSuffice(t.Block.Start, t.Block.End) {
		f.Recorder.Processed(t.Segment, t.Block.Stored)
		return f.Matcher.Levels.Count(t.Block.Levels)
	}
	if f.FromColumns(ctx, t, func(sel rowset.Selected, _ rowset.Columns) (bool, error) {
		n = uint64(sel.Count)
		return true, nil
	}) {
		return n
	}
	f.search(ctx, t, false, func(w *worker, text []byte, origins *locator) error {
		return w.scanner.Scan(text, f.checksAt(t, origins), func(start, _ int, _ *record.Columns) {
			if _, ok := origins.part(start); ok {
				n++
			}
		})
	})
	return n
}

// checksAt returns the checks that the records of a task's block need; origins finds their parts.
func (f *Fetcher) checksAt(t *Task, origins *locator) match.Checks {
	checks := f.checksOf(t.Segment, t.Block)
	if origins.ids != nil && f.Matcher.Instanced() {
		checks.InstanceAt = origins.instance
	}
	return checks
}

// FromColumns calls use with the matching records of a task's block and their columns, which are valid until use returns. It
// returns false if the text has to be read instead: the fetcher is not from [Fetcher.WithColumns], a column is missing or
// damaged, or use returned false. An error of use is recorded as a problem of the segment.
func (f *Fetcher) FromColumns(ctx context.Context, t *Task, use func(sel rowset.Selected, cols rowset.Columns) (bool, error)) bool {
	if !f.textless() || t.columns == nil || t.Segment.Excluded != nil {
		return false
	}
	w, release := f.worker(ctx)
	defer release()
	cols := f.blockColumns(ctx, w, t.columns, t.Block)
	sel, ok := w.columns.Select(&t.Block, f.checksOf(t.Segment, t.Block), cols)
	rejected := w.columns.TakeRejections()
	if !ok || sel.Count == 0 && f.isSample(t.columns, t.Block) {
		return false
	}
	ok, err := use(sel, cols)
	if err != nil && ctx.Err() == nil {
		f.readFailed(ctx, t.Segment, err)
		ok = true
	}
	if !ok || ctx.Err() != nil {
		return ok
	}
	f.findings.AddRejections(rejected)
	f.Recorder.BlocksColumns.Add(1)
	f.Recorder.Processed(t.Segment, t.Block.Stored)
	return true
}

// Inspect calls use with the records of a task's block that may match, and their columns, which are valid until use returns.
// It does not call use if the fetcher is not from [Fetcher.WithColumns], or if a column that the conditions need is missing or
// damaged. It returns false if no record can match; the block then counts as skipped.
func (f *Fetcher) Inspect(ctx context.Context, t *Task, use func(sel rowset.Selected, cols rowset.Columns)) bool {
	if !f.fromColumns || t.columns == nil {
		return true
	}
	w, release := f.worker(ctx)
	defer release()
	cols := f.blockColumns(ctx, w, t.columns, t.Block)
	sel, ok := w.columns.Select(&t.Block, f.checksOf(t.Segment, t.Block), cols)
	rejected := w.columns.TakeRejections()
	switch {
	case !ok:
	case sel.Count > 0:
		use(sel, cols)
	case !f.isSample(t.columns, t.Block):
		f.addRejected(rejected)
		f.Skip(t)
		return false
	}
	return true
}

// Skip counts a task's block as one that columns exclude.
func (f *Fetcher) Skip(t *Task) {
	f.Recorder.BlocksExcluded.Add(1)
	f.Recorder.Processed(t.Segment, t.Block.Stored)
}

// search reads and decodes a task's block and calls use with its text, which is valid until use returns, and a locator of the
// parts of its records, which finds them if origins is set. A failure is recorded as a problem.
func (f *Fetcher) search(ctx context.Context, t *Task, origins bool, use func(w *worker, text []byte, at *locator) error) {
	defer f.Recorder.Processed(t.Segment, t.Block.Stored)
	stored, err := f.stored(ctx, t)
	if ctx.Err() != nil {
		return
	}
	w, release := f.worker(ctx)
	defer release()
	var text []byte
	if err == nil {
		text, err = f.decoder.DecodeBlock(w.text[:0], stored, t.Block)
	}
	if segment.IsDamage(err) && ctx.Err() == nil { // the cached bytes, or those of one response, may be damaged
		t.Segment.DropCached() // a small segment is cached as a whole
		if stored, err = f.readStored(ctx, t.Segment, t.Block.Offset, t.Block.Stored); err == nil {
			text, err = f.decoder.DecodeBlock(w.text[:0], stored, t.Block)
		}
	}
	if err != nil {
		text, err = f.fromCopies(ctx, t, w.text[:0], err)
	}
	var at *locator
	if err == nil {
		at, err = f.locator(ctx, t, text, origins)
	}
	if err == nil {
		if w.text = text; cap(text) > maxKept {
			w.text = nil
			w.scanner.Shrink()
		}
		f.Recorder.BlocksRead.Add(1)
		f.Recorder.BytesScanned.Add(int64(len(text)))
		f.findings.AddSample(text, t.Segment.Meta.Parse)
		if err = use(w, text, at); at.beyond {
			err = errors.Join(err, t.Block.Corrupt("it has more records than in the footer"))
		}
		f.findings.AddRejections(w.scanner.TakeRejections())
	}
	if err != nil && ctx.Err() == nil {
		f.readFailed(ctx, t.Segment, err)
	}
}

// locator returns a locator for a task's block. It finds parts if they are wanted, if some are excluded, or if a condition
// is on instances.
func (f *Fetcher) locator(ctx context.Context, t *Task, text []byte, wanted bool) (*locator, error) {
	l := &locator{text: text}
	if t.mixed == nil || !wanted && t.Segment.Excluded == nil && !f.Matcher.Instanced() {
		return l, nil
	}
	ids, err := t.mixed.page(ctx, f, t.Block)
	l.ids, l.reader = ids, t.mixed
	return l, err
}

// fromCopies decodes a task's block from another copy of the segment, at the same offset, after the first copy failed with
// cause.
func (f *Fetcher) fromCopies(ctx context.Context, t *Task, dst []byte, cause error) ([]byte, error) {
	for _, c := range t.Segment.Copies {
		stored, err := f.read(ctx, c, t.Block.Offset, t.Block.Stored)
		if errors.Is(err, store.ErrNotFound) { // it may have moved to an output, which the damaged one is not a copy of
			cause = errors.Join(cause, err)
		}
		if err != nil {
			continue
		}
		if text, err := f.decoder.DecodeBlock(dst, stored, t.Block); err == nil {
			f.Recorder.Note("%s: %v; its copy %s is read instead", t.Segment, cause, c)
			return text, nil
		}
	}
	return nil, cause
}
