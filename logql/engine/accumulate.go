package engine

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
	"unsafe"

	"logstow/logql/labels"
	"logstow/logql/pipeline"
)

// pageCells is the number of successive cells that are allocated at once.
const pageCells = 16

// cellSeries are the cells of a series, by interval.
type cellSeries[T any] struct {
	labels labels.Labels
	pages  []*[pageCells]T
}

// at is the cell of an interval, nil if it has no memory.
func (s *cellSeries[T]) at(interval int) *T {
	page := interval / pageCells
	if page >= len(s.pages) || s.pages[page] == nil {
		return nil
	}
	return &s.pages[page][interval%pageCells]
}

// grow is the cell of an interval, and the size of the memory allocated for it.
func (s *cellSeries[T]) grow(interval int) (*T, int) {
	page, size := interval/pageCells, 0
	if n := page + 1 - len(s.pages); n > 0 {
		s.pages = append(s.pages, make([]*[pageCells]T, n)...)
		size += 8 * n
	}
	if s.pages[page] == nil {
		s.pages[page] = new([pageCells]T)
		size += int(unsafe.Sizeof(*s.pages[page]))
	}
	return &s.pages[page][interval%pageCells], size
}

// cells yields the cells that have memory.
func (s *cellSeries[T]) cells() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, page := range s.pages {
			if page == nil {
				continue
			}
			for i := range page {
				if !yield(&page[i]) {
					return
				}
			}
		}
	}
}

// accumulator makes cells from records. Not safe for concurrent use.
type accumulator[T any, C cell[T]] struct {
	ev        *evaluation
	plan      *rangePlan
	processor *pipeline.Processor
	ticker    ticker
	series    map[string]*cellSeries[T]
	key       []byte
	// perStream is set if all records of a stream are of one series; stream and last are the last ones then.
	perStream bool
	stream    *pipeline.Stream
	last      *cellSeries[T]
	taken     int64 // memory
	// estimateAt is the memory from which on cells are made estimates if that of the query runs out.
	estimateAt int64
	scratch    fieldScratch[T]
}

func newAccumulator[T any, C cell[T]](ctx context.Context, ev *evaluation, p *rangePlan) *accumulator[T, C] {
	a := &accumulator[T, C]{
		ev: ev, plan: p, processor: p.pipe.Processor(), ticker: newTicker(ctx, p.stages), series: map[string]*cellSeries[T]{},
		perStream: p.agg.Range.Unwrap == nil && !changesLabels(p.stages) && len(ev.fields) == 0,
	}
	if len(ev.fields) > 0 {
		a.processor.ReadFields(ev.fields...)
	}
	return a
}

// Add adds a record.
func (a *accumulator[T, C]) Add(r *Record) error {
	if err := a.ticker.tick(); err != nil {
		return err
	}
	interval, ok := a.plan.windows.interval(r.Time)
	if !ok {
		return nil
	}
	s := sample{at: r.Time, n: 1}
	known := a.perStream && r.Stream == a.stream && a.last != nil
	if known && len(a.plan.stages) == 0 {
		if a.plan.bytes {
			s.value = float64(len(r.Line))
		}
		return a.add(a.last, interval, s)
	}
	if !a.processor.Process(r.Time, r.Attributes, r.Line, r.Stream) {
		return nil
	}
	switch {
	case a.plan.agg.Range.Unwrap != nil:
		var keep bool
		if s.value, keep = a.processor.Sample(); !keep {
			return nil
		}
	case a.plan.bytes:
		s.value = float64(len(a.processor.Line()))
	}
	if known {
		return a.add(a.last, interval, s)
	}
	if !a.plan.errors {
		if text := a.processor.Get(labels.Error); text != "" {
			return a.sampleError(text)
		}
	}
	found, err := a.seriesOf()
	if err != nil {
		return err
	}
	a.stream, a.last = r.Stream, found
	return a.add(found, interval, s)
}

// seriesOf is the series of the processor's record.
func (a *accumulator[T, C]) seriesOf() (*cellSeries[T], error) {
	a.key = a.plan.group.appendKey(a.key[:0], a.processor)
	if found := a.series[string(a.key)]; found != nil {
		return found, nil
	}
	return a.create(a.key, a.plan.group.labels(a.processor))
}

func (a *accumulator[T, C]) create(key []byte, ls labels.Labels) (*cellSeries[T], error) {
	if err := checkSeries(len(a.series)+1, a.ev.maxSeries); err != nil {
		return nil, err
	}
	s := &cellSeries[T]{labels: ls}
	a.series[string(key)] = s
	return s, a.take(len(key) + int(unsafe.Sizeof(*s)))
}

func (a *accumulator[T, C]) add(series *cellSeries[T], interval int, s sample) error {
	c, size := series.grow(interval)
	before := C(c).size()
	C(c).add(s)
	return a.grown(size + C(c).size() - before)
}

// grown takes memory for cells.
func (a *accumulator[T, C]) grown(size int) error {
	if size == 0 {
		return nil
	}
	if err := a.take(size); err != nil {
		return err
	}
	return a.estimate()
}

func (a *accumulator[T, C]) take(n int) error {
	a.taken += int64(n)
	return a.ev.memory.take(int64(n))
}

// sampleError is the error of a sample with __error__.
func (a *accumulator[T, C]) sampleError(text string) error {
	stream, metadata, parsed := a.processor.Labels()
	all := labels.New(slices.Concat(stream, metadata, parsed)...)
	return fmt.Errorf(`%w: pipeline error %s in series %s; skip such lines with | __error__="", or keep them with | drop __error__`,
		ErrQuery, text, all.Without(labels.Error))
}

// merge is the series of accumulators, which are not used afterwards; a takes over their memory.
func (a *accumulator[T, C]) merge(others []*accumulator[T, C]) ([]*cellSeries[T], error) {
	var index labels.Index[*cellSeries[T]]
	for _, other := range others {
		a.taken += other.taken
		for _, s := range other.series {
			if err := a.ticker.tick(); err != nil {
				return nil, err
			}
			if into := index.Of(s.labels, func() *cellSeries[T] { return s }); into != s {
				mergeSeries[T, C](into, s)
			}
		}
	}
	slices.SortFunc(index.All, func(x, y *cellSeries[T]) int { return labels.Compare(x.labels, y.labels) })
	return index.All, checkSeries(len(index.All), a.ev.maxSeries)
}

func mergeSeries[T any, C cell[T]](into, from *cellSeries[T]) {
	if n := len(from.pages) - len(into.pages); n > 0 {
		into.pages = append(into.pages, make([]*[pageCells]T, n)...)
	}
	for i, page := range from.pages {
		switch {
		case page == nil:
		case into.pages[i] == nil:
			into.pages[i] = page
		default:
			for j := range page {
				C(&into.pages[i][j]).merge(&page[j])
			}
		}
	}
}

// accumulate reads the records of a range aggregation once.
func accumulate[T any, C cell[T]](ctx context.Context, ev *evaluation, p *rangePlan) ([]*cellSeries[T], int64, error) {
	var all []*accumulator[T, C]
	for _, span := range p.windows.spans() {
		workers, err := readSpan[T, C](ctx, ev, p, span)
		if err != nil {
			return nil, 0, err
		}
		all = append(all, workers...)
	}
	first := newAccumulator[T, C](ctx, ev, p)
	series, err := first.merge(all)
	return series, first.taken, err
}

// readSpan reads the records of a range of time. What was read before records moved in storage is discarded.
func readSpan[T any, C cell[T]](ctx context.Context, ev *evaluation, p *rangePlan, s span) ([]*accumulator[T, C], error) {
	var workers []*accumulator[T, C]
	restart := func() {
		for _, w := range workers {
			ev.memory.release(w.taken)
		}
		workers = nil
	}
	sel := s.selection(p.log)
	sel.Fields, sel.Filter = p.fields, fieldFilter(p.log.Stages)
	err := ev.engine.Source.Each(ctx, sel, restart, func() Worker {
		workers = append(workers, newAccumulator[T, C](ctx, ev, p))
		return workers[len(workers)-1]
	})
	return workers, err
}

// evalCells computes a function of the cells of windows.
func evalCells[T any, C cell[T]](ctx context.Context, ev *evaluation, p *rangePlan, result func(C) float64) (*vector, error) {
	all, taken, err := accumulate[T, C](ctx, ev, p)
	if err != nil {
		return nil, err
	}
	defer ev.memory.release(taken)
	return slideCells(ctx, ev, p, all, result)
}

// slideCells computes a function of the merged cells of the windows of series.
func slideCells[T any, C cell[T]](ctx context.Context, ev *evaluation, p *rangePlan, all []*cellSeries[T], result func(C) float64) (*vector, error) {
	return slideAll(ctx, ev, all, func(s *cellSeries[T], out []float64) error {
		slide[T, C](&p.windows, s.at, func(k int, c *T) { out[k] = result(C(c)) })
		return nil
	})
}

// slideAll computes the windows of series.
func slideAll[T any](ctx context.Context, ev *evaluation, all []*cellSeries[T], compute func(s *cellSeries[T], out []float64) error) (*vector, error) {
	v := &vector{}
	for _, s := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := ev.memory.take(int64(8 * ev.steps)); err != nil {
			return nil, err
		}
		out := newSeries(s.labels, ev.steps)
		if err := compute(s, out.values); err != nil {
			return nil, err
		}
		if !out.empty() {
			v.series = append(v.series, out)
		}
	}
	return v, nil
}

// evalCounters computes rates of counters.
func evalCounters(ctx context.Context, ev *evaluation, p *rangePlan) (*vector, error) {
	all, taken, err := accumulate[samplesCell](ctx, ev, p)
	if err != nil {
		return nil, err
	}
	defer ev.memory.release(taken)
	return slideAll(ctx, ev, all, func(s *cellSeries[samplesCell], out []float64) error {
		counters := counterSeries(s)
		slide(&p.windows, counters.at, func(k int, c *counterCell) {
			out[k] = c.rate(p.windows.bounds(k))
		})
		return nil
	})
}

// counterSeries are the counters of samples, which it puts in order.
func counterSeries(s *cellSeries[samplesCell]) *cellSeries[counterCell] {
	counters := &cellSeries[counterCell]{}
	for i := range len(s.pages) * pageCells {
		if c := s.at(i); c != nil && !c.empty() {
			c.sort()
			into, _ := counters.grow(i)
			*into = c.counter()
		}
	}
	return counters
}

// evalCounts computes a function of numbers of records, which the source may have without reading records.
func evalCounts(ctx context.Context, ev *evaluation, p *rangePlan, result func(*countCell) float64) (*vector, error) {
	all, ok, err := sourceCounts(ctx, ev, p)
	if err != nil {
		return nil, err
	}
	if !ok {
		return evalCells(ctx, ev, p, result)
	}
	return slideCells(ctx, ev, p, all, result)
}

// sourceCounts are the numbers of records by interval from [Source.Counts].
func sourceCounts(ctx context.Context, ev *evaluation, p *rangePlan) ([]*cellSeries[countCell], bool, error) {
	w := &p.windows
	var width int64 // 0 for one window
	if w.n > 1 {
		width = w.commonWidth()
	}
	if len(p.stages) > 0 || p.agg.Range.Unwrap != nil || len(ev.fields) > 0 {
		return nil, false, nil
	}
	counts := newAccumulator[countCell](ctx, ev, p)
	by := slices.DeleteFunc(sourceLabels(), func(name string) bool { return !p.group.uses(name) })
	var key []byte
	sel := span{w.start, w.end()}.selection(p.log)
	ok, err := ev.engine.Source.Counts(ctx, sel, by, p.group.without, time.Duration(width), func(ls labels.Labels, end int64, n uint64) error {
		if err := counts.ticker.tick(); err != nil {
			return err
		}
		interval, ok := w.interval(end)
		if !ok || n == 0 {
			return nil
		}
		ls = p.group.of(ls)
		key = ls.AppendKey(key[:0])
		found := counts.series[string(key)]
		if found == nil {
			var err error
			if found, err = counts.create(key, ls); err != nil {
				return err
			}
		}
		return counts.add(found, interval, sample{at: end, n: n})
	})
	defer func() { ev.memory.release(counts.taken) }()
	if err != nil || !ok {
		return nil, false, err
	}
	all, err := counts.merge([]*accumulator[countCell, *countCell]{counts})
	return all, true, err
}
