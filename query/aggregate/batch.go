package aggregate

import (
	"math"
	"slices"

	"logstow/columns"
	"logstow/exact"
	"logstow/message"
)

// Batch has the records of a block by columns. If the Spec needs times, its range must be bounded and contain all records.
type Batch struct {
	// Records is the number of records. Those with Selected set are added; all if Selected is nil.
	Records  int
	Selected []bool
	// Fields are the pages of [Aggregation.Fields], in that order.
	Fields []*columns.Page
	// Runs are the times of the records from Base on, which is in Unix seconds; nil if times are not needed. Time steps must be
	// whole seconds.
	Runs []columns.Run
	Base int64
	// Holds report, for each of [Aggregation.Conditions], whether it is true for a record.
	Holds []func(record int) bool
}

// time returns a time that is in the time steps of the records of a run.
func (b *Batch) time(run int) int64 {
	first, _ := b.Runs[run].Times(b.Base)
	return first
}

// maxCodes is the maximum number of combinations of keys with which the records of a batch are added by group.
const maxCodes = 1 << 14

// Batcher adds batches to a worker. It has the buffers for that. Not safe for concurrent use.
type Batcher struct {
	*Worker
	record Record
	text   []byte
	// codes has the combination of keys of each record; nil if there is only one. total is the number of combinations.
	codes []uint16
	total int
	// rows are the indexes of all records, order the selected ones of a step, sorted the same in order of their code. ends
	// has the end of each code in sorted.
	ends        []uint32
	tally       tally
	order, rows []uint32
	sorted      []uint32
	// entries has the entries of the pages of fields that are read as numbers, by field.
	entries []entryNumbers

	// counted is the field whose values in the records of the current group are counted, -1 for none: counts is the number
	// of records with each entry, inPlane the records whose value is in Numbers, buffer memory for it. If summed is set, low,
	// high and sum are of these numbers; sum may have overflowed.
	counted         int
	counts          [columns.MaxEntries]uint32
	inPlane, buffer []uint32
	summed          bool
	low, high, sum  int64
}

// NewBatcher makes a batcher.
func NewBatcher(w *Worker) *Batcher {
	return &Batcher{Worker: w, entries: make([]entryNumbers, len(w.fields))}
}

// entryNumbers are the entries of a page as numbers; is has false for entries that are not numbers.
type entryNumbers struct {
	number [columns.MaxEntries]exact.Number
	is     [columns.MaxEntries]bool
}

// AddBatch adds the records of a batch. The aggregation must not be [Aggregation.Ordered]. Errors are those of [Worker.Add].
func (x *Batcher) AddBatch(b *Batch) error {
	if !x.encodeKeys(b) {
		return x.addRows(b)
	}
	x.readEntries(b)
	for len(x.rows) < b.Records {
		x.rows = append(x.rows, uint32(len(x.rows)))
	}
	if x.step < 0 {
		return x.addStep(b, 0, 0, b.Records)
	}
	step := x.By[x.step].Step
	for from, run := 0, 0; from < b.Records; {
		at := b.time(run)
		next := step.End(step.Start(x.StepTime(at), x.Zone), x.Zone)
		for run < len(b.Runs) && x.StepTime(b.time(run)) < next {
			run++
		}
		end := b.Runs[run-1].End
		if err := x.addStep(b, at, from, end); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// addRows adds the records one by one.
func (x *Batcher) addRows(b *Batch) error {
	rec, run := &x.record, 0
	for i := range b.Records {
		if b.Selected != nil && !b.Selected[i] {
			continue
		}
		rec.Values, rec.Holds, x.text = rec.Values[:0], rec.Holds[:0], x.text[:0]
		for _, page := range b.Fields {
			var v message.Value
			v, x.text = page.Value(i, x.text)
			rec.Values = append(rec.Values, v)
		}
		for _, holds := range b.Holds {
			rec.Holds = append(rec.Holds, holds(i))
		}
		if b.Runs != nil {
			for i >= b.Runs[run].End {
				run++
			}
			rec.Time = b.time(run)
		}
		if err := x.Add(rec); err != nil {
			return err
		}
	}
	return nil
}

// encodeKeys sets codes. It is not ok if there are too many combinations of keys, or if a page of a key has numbers.
func (x *Batcher) encodeKeys(b *Batch) bool {
	x.total, x.codes = 1, x.codes[:0]
	for k := range x.By {
		if x.keyOf[k] < 0 {
			continue
		}
		page := b.Fields[x.keyOf[k]]
		if x.total *= len(page.Entries); page.Plane >= 0 || x.total > maxCodes {
			return false
		}
		switch n := uint16(len(page.Entries)); {
		case page.IDs == nil:
		case len(x.codes) == 0:
			for _, id := range page.IDs {
				x.codes = append(x.codes, uint16(id))
			}
		default:
			codes := x.codes[:len(page.IDs)]
			for i, id := range page.IDs {
				codes[i] = codes[i]*n + uint16(id)
			}
		}
	}
	return true
}

// readEntries sets entries, and counts values that should be numbers and are not.
func (x *Batcher) readEntries(b *Batch) {
	for _, i := range x.numeric {
		page, e := b.Fields[i], &x.entries[i]
		ignored := false
		for id, v := range page.Entries {
			e.is[id] = false
			if id == page.Plane {
				continue
			}
			e.number[id], e.is[id] = v.Amount()
			ignored = ignored || !e.is[id] && isPresent(v)
		}
		if !ignored {
			continue
		}
		for row := range b.Records {
			if b.Selected != nil && !b.Selected[row] {
				continue
			}
			if id := page.ID(row); id != page.Plane && !e.is[id] && isPresent(page.Entries[id]) {
				x.ignored[i]++
			}
		}
	}
}

// isPresent reports whether a value is neither missing nor null.
func isPresent(v message.Value) bool { return v.Kind != message.Missing && v.Kind != message.Null }

// addStep adds the records from one index to another, which are in the time step of at, by code.
func (x *Batcher) addStep(b *Batch, at int64, from, end int) error {
	rows := x.rows[from:end]
	if len(x.stats) == 0 {
		return x.addCounts(b, at, from, end)
	}
	if b.Selected != nil {
		x.order = x.order[:0]
		for _, i := range rows {
			if b.Selected[i] {
				x.order = append(x.order, i)
			}
		}
		rows = x.order
	}
	if len(rows) == 0 {
		return nil
	}
	if len(x.codes) == 0 {
		return x.addGroup(b, at, 0, uint64(len(rows)), rows)
	}
	x.ends = slices.Grow(x.ends[:0], x.total)[:x.total]
	clear(x.ends)
	if len(rows) == end-from {
		addTally(&x.tally, x.ends, x.codes[from:end])
	} else {
		for _, i := range rows {
			x.ends[x.codes[i]]++
		}
	}
	sum := uint32(0)
	for code, n := range x.ends {
		x.ends[code], sum = sum, sum+n
	}
	x.sorted = slices.Grow(x.sorted[:0], len(rows))[:len(rows)]
	for _, i := range rows {
		next := &x.ends[x.codes[i]]
		x.sorted[*next] = i
		*next++
	}
	before := uint32(0)
	for code, end := range x.ends {
		if end > before {
			if err := x.addGroup(b, at, code, uint64(end-before), x.sorted[before:end]); err != nil {
				return err
			}
		}
		before = end
	}
	return nil
}

// addCounts is addStep for functions that only count records.
func (x *Batcher) addCounts(b *Batch, at int64, from, end int) error {
	x.ends = slices.Grow(x.ends[:0], x.total)[:x.total]
	clear(x.ends)
	switch {
	case len(x.codes) > 0 && b.Selected == nil:
		addTally(&x.tally, x.ends, x.codes[from:end])
	case len(x.codes) > 0:
		for i, code := range x.codes[from:end] {
			if b.Selected[from+i] {
				x.ends[code]++
			}
		}
	case b.Selected == nil:
		x.ends[0] = uint32(end - from)
	default:
		for _, selected := range b.Selected[from:end] {
			if selected {
				x.ends[0]++
			}
		}
	}
	for code, n := range x.ends {
		if n > 0 {
			if err := x.addGroup(b, at, code, uint64(n), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// addGroup adds the n records of one step and code. records are their indexes, nil if there are no stats.
func (x *Batcher) addGroup(b *Batch, at int64, code int, n uint64, records []uint32) error {
	if err := x.spillIfFull(); err != nil {
		return err
	}
	rec := &x.record
	rec.Time = at
	rec.Values = slices.Grow(rec.Values[:0], len(b.Fields))[:len(b.Fields)]
	clear(rec.Values)
	for k := len(x.By) - 1; k >= 0; k-- {
		input := x.keyOf[k]
		if input < 0 {
			continue
		}
		page := b.Fields[input]
		id := code % len(page.Entries)
		code /= len(page.Entries)
		rec.Values[input] = page.Entries[id]
		x.seen[input] = x.seen[input] || page.Entries[id].Kind != message.Missing
		x.numbers[input], x.isNum[input] = x.entries[input].number[id], x.entries[input].is[id]
	}
	x.Worker.total += n
	x.from, x.to = min(x.from, at), max(x.to, at)
	flags := x.makeKey(rec)
	group := x.table.group(x.key)
	if flags != 0 {
		x.table.setFlags(group, flags)
	}
	state := x.table.state(group)
	addUint(state, n)
	x.counted = -1
	for i := range x.stats {
		x.addStatOf(b, &x.stats[i], state[x.stats[i].offset:], records)
	}
	return nil
}

// addStatOf adds records to a stat of a group.
func (x *Batcher) addStatOf(b *Batch, s *stat, state []byte, records []uint32) {
	if s.kind == holds {
		n := uint64(0)
		for _, i := range records {
			if b.Holds[s.input](int(i)) {
				n++
			}
		}
		addUint(state, n)
		return
	}
	page := b.Fields[s.input]
	if x.counted != s.input {
		x.count(page, s.input, records)
	}
	counts := x.counts[:len(page.Entries)]
	if s.kind == distinct {
		x.addDistinct(page, state, counts)
		return
	}
	e := &x.entries[s.input]
	for id, n := range counts {
		if n > 0 && id != page.Plane && e.is[id] {
			x.addNumbers(s, state, e.number[id], n)
		}
	}
	if len(x.inPlane) > 0 {
		x.addPlane(s, state, &page.Numbers)
	}
}

// count counts the records of a group by the entries of a field, and finds those whose value is in Numbers.
func (x *Batcher) count(page *columns.Page, input int, records []uint32) {
	x.counted, x.summed, x.inPlane = input, false, nil
	counts := x.counts[:len(page.Entries)]
	clear(counts)
	switch {
	case page.IDs == nil:
		counts[0] = uint32(len(records))
	case len(records) == len(page.IDs):
		addTally(&x.tally, counts, page.IDs)
	default:
		for _, i := range records {
			x.counts[page.IDs[i]]++
		}
	}
	for id, n := range counts {
		x.seen[input] = x.seen[input] || n > 0 && (id == page.Plane || page.Entries[id].Kind != message.Missing)
	}
	switch {
	case page.Plane < 0 || counts[page.Plane] == 0:
	case int(counts[page.Plane]) == len(records):
		x.inPlane = records
	default:
		x.buffer = x.buffer[:0]
		for _, i := range records {
			if int(page.IDs[i]) == page.Plane {
				x.buffer = append(x.buffer, i)
			}
		}
		x.inPlane = x.buffer
	}
}

// addDistinct adds the distinct values of the records that were counted.
func (x *Batcher) addDistinct(page *columns.Page, state []byte, counts []uint32) {
	for id, n := range counts {
		if v := page.Entries[id]; n > 0 && id != page.Plane && isPresent(v) {
			x.table.addDistinct(state, v.Text)
		}
	}
	for _, i := range x.inPlane {
		x.text = page.Numbers.AppendText(x.text[:0], page.Numbers.Values[i])
		x.table.addDistinct(state, x.text)
	}
}

// addNumbers adds a number n times.
func (x *Batcher) addNumbers(s *stat, state []byte, v exact.Number, n uint32) {
	switch s.kind {
	case minimum, maximum:
		x.table.addExtreme(s.kind, state, v)
	default:
		for range n {
			x.addNumber(s, state, v)
		}
	}
}

// addPlane adds the numbers of the records in inPlane.
func (x *Batcher) addPlane(s *stat, state []byte, numbers *columns.Numbers) {
	if !x.summed {
		x.summed = true
		x.low, x.high, x.sum = math.MaxInt64, math.MinInt64, 0
		for _, i := range x.inPlane {
			v := numbers.Values[i]
			x.low, x.high = min(x.low, v), max(x.high, v)
			x.sum += v
		}
	}
	switch n := int64(len(x.inPlane)); {
	case s.kind == minimum:
		x.table.addExtreme(s.kind, state, exact.FromScaled(x.low, numbers.Scale))
	case s.kind == maximum:
		x.table.addExtreme(s.kind, state, exact.FromScaled(x.high, numbers.Scale))
	case s.kind == moments && !s.squares && max(x.high, -x.low) < math.MaxInt64/n:
		addUint(state, uint64(n))
		x.table.addSum(state[8:], exact.FromScaled(x.sum, numbers.Scale), false)
	default:
		x.addEach(s, state, numbers)
	}
}

// addEach adds the numbers of the records in inPlane one by one.
func (x *Batcher) addEach(s *stat, state []byte, numbers *columns.Numbers) {
	const exactDigits = 1 << 53 // a float64 has these integers exactly
	unit := math.Pow10(numbers.Scale)
	floats := s.kind == values && x.low >= -exactDigits && x.high <= exactDigits
	for _, i := range x.inPlane {
		v := numbers.Values[i]
		if floats && x.table.addToSketch(state, float64(v)/unit) {
			continue
		}
		x.addNumber(s, state, exact.FromScaled(v, numbers.Scale))
	}
}
