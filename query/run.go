package query

import (
	"context"
	"errors"

	"logstow/record"
)

// Match is a record found.
type Match struct {
	// Segment is where it was found.
	Segment *Segment
	// Time is its time, Unix nanoseconds.
	Time int64
	// Line is its stored text without the last newline, valid until the function
	// that got it returns.
	Line []byte
	// Context says that it is around a match, but none itself; Gap that it does not
	// follow, in its source, on the one handed out before it. See [Query.RunContext].
	Context, Gap bool
}

// Level is the record's level.
func (m *Match) Level() record.Level { f, _ := split(m.Line); return f.level }

// Source is where inside the instance the record came from.
func (m *Match) Source() []byte { f, _ := split(m.Line); return f.source }

// Message is the message as stored: a TAB follows each newline; see [record.AppendMessage].
func (m *Match) Message() []byte { f, _ := split(m.Line); return f.message }

// errLimitReached ends a run that has put out as many records as were wanted.
var errLimitReached = errors.New("limit reached")

// blockWindow bounds the blocks under way: in number, for the requests, and in
// bytes of text.
func (q *Query) blockWindow() window {
	w := window{first: 4 * parallel, max: 4 * parallel, bytes: 16 << 20}
	if q.sel.Limit > 0 {
		w.first = 1
	}
	return w
}

// Run hands the records of a plan to emit in output order, until the limit. It
// returns emit's error, or that of ctx, or one of the temporary file; what can
// not be read is in the report instead.
func (q *Query) Run(ctx context.Context, p *Plan, emit func(Match) error) (err error) {
	ctx, done := q.meter.stepContext(ctx)
	defer done()
	defer func() { err = errors.Join(err, q.scratch.release()) }()
	spill := &spillFile{dir: q.opts.TempDir, segments: p.Segments}
	defer func() { err = errors.Join(err, spill.close()) }()
	left := q.sel.Limit
	m := &merger{
		before: q.before, newest: q.sel.Newest, budget: q.opts.Memory, spill: spill.write,
		emit: func(m Match) error {
			if err := emit(m); err != nil {
				return err
			}
			if left--; left == 0 {
				return errLimitReached
			}
			return nil
		},
	}
	m.cursors.before = func(a, b cursor) bool { return q.before(a.key(), b.key()) }
	for f := range orderedParallel(ctx, q.blockWindow(), q.scheduleBlocks(ctx, p.Segments), (*task).weight, q.find) {
		if err = m.add(f); err != nil || ctx.Err() != nil {
			break
		}
	}
	q.tally.spilled.Add(spill.size)
	if err == nil && ctx.Err() == nil {
		err = m.finish()
	}
	switch {
	case errors.Is(err, errLimitReached):
		return nil
	case err == nil && ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

// Count is the number of records of a plan that match; the limit is not looked
// at. What metadata and footers answer is not read.
func (q *Query) Count(ctx context.Context, p *Plan) (n uint64, err error) {
	ctx, done := q.meter.stepContext(ctx)
	defer done()
	defer func() { err = errors.Join(err, q.scratch.release()) }()
	unread := make([]*Segment, 0, len(p.Segments))
	for _, s := range p.Segments {
		if q.metadataSuffices(s) {
			n += q.matcher.levels.Count(s.Meta.Levels)
			q.tally.processed.Add(s.Size)
		} else {
			unread = append(unread, s)
		}
	}
	for count := range orderedParallel(ctx, q.blockWindow(), q.scheduleBlocks(ctx, unread), (*task).weight, q.count) {
		n += count
	}
	return n, context.Cause(ctx)
}

// metadataSuffices reports whether a segment's metadata answer how many of its
// records match. What the index says may be of a segment that is gone.
func (q *Query) metadataSuffices(s *Segment) bool {
	return !s.Foreign && q.opts.Plan == PlanList && q.matcher.levelsSuffice(s.Meta.Start, s.Meta.End)
}

// count searches a task's block for the number of matches.
func (q *Query) count(ctx context.Context, t *task) (n uint64) {
	if q.matcher.levelsSuffice(t.block.Start, t.block.End) {
		q.addProcessed(t.segment, t.block.Stored)
		return q.matcher.levels.Count(t.block.Levels)
	}
	q.search(ctx, t, func(w *worker, text []byte) error {
		return w.scanner.scan(text, q.matcher.checksFor(t), func(int, int) { n++ })
	})
	return n
}
