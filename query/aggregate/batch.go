package aggregate

import (
	"math"
	"slices"

	"github.com/dgryski/go-metro"

	"logstow/columns"
	"logstow/field"
	"logstow/query/aggregate/exact"
)

// Batch has records by columns.
type Batch struct {
	// Records is their number; those are added for which Selected is set, all if it is nil.
	Records  int
	Selected []bool
	// Fields are the values of [Aggregation.Fields], in that order.
	Fields []*columns.Page
	// Runs are the times of the records, from the second Base on, in Unix seconds; nil if times do not matter.
	// They suffice for steps of whole seconds.
	Runs []columns.Run
	Base int64
	// Holds are the truth of [Aggregation.Conditions], in that order.
	Holds []func(record int) bool
}

// maxCodes is the number of combinations of keys up to which the records of a batch are added by group.
const maxCodes = 1 << 14

// Batcher adds batches to a worker, and has the buffers to do it. It is for one goroutine.
type Batcher struct {
	*Worker
	record Record
	text   []byte
	// codes are the combinations of keys of the selected records, ends where the records of each code end in
	// order, which lists records by code.
	codes []uint32
	rows  []uint32
	ends  []uint32
	order []uint32
	steps []int64 // start of each step, in the order of the records
	// entries are the entries, of the fields that are read as numbers.
	entries []entryNumbers
	counts  [columns.MaxEntries]uint64
}

// NewBatcher makes a batcher.
func NewBatcher(w *Worker) *Batcher {
	return &Batcher{Worker: w, entries: make([]entryNumbers, len(w.fields))}
}

// entryNumbers are the entries of a page as numbers.
type entryNumbers struct {
	number [columns.MaxEntries]exact.Number
	is     [columns.MaxEntries]bool
	// ignored is set for entries that should be numbers and are not.
	ignored [columns.MaxEntries]bool
}

// AddBatch adds records; first and last are not computed of batches. An error is as that of
// [Worker.Add].
func (x *Batcher) AddBatch(b *Batch) error {
	for i, page := range b.Fields {
		for id, n := range x.countEntries(b, page) {
			x.seen[i] = x.seen[i] || n > 0 && (id == page.Plane || page.Entries[id].Kind != field.Missing)
		}
	}
	if !x.encodeKeys(b) {
		return x.addRows(b)
	}
	return x.addGroups(b)
}

// countEntries counts the selected records by entry of a page.
func (x *Batcher) countEntries(b *Batch, page *columns.Page) []uint64 {
	counts := x.counts[:len(page.Entries)]
	clear(counts)
	for i := range b.Records {
		if b.Selected == nil || b.Selected[i] {
			counts[page.ID(i)]++
		}
	}
	return counts
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
			var v field.Value
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
			rec.Time = (b.Base + int64(b.Runs[run].Second)) * 1e9
		}
		if err := x.Add(rec); err != nil {
			return err
		}
	}
	return nil
}

// encodeKeys numbers the combinations of keys, and orders the selected records by them; it is not ok if they
// are too many, or a key is a number of the planes.
func (x *Batcher) encodeKeys(b *Batch) bool {
	total := 1
	for k := range x.By {
		if x.keyOf[k] < 0 {
			continue
		}
		page := b.Fields[x.keyOf[k]]
		if total *= len(page.Entries); page.Plane >= 0 || total > maxCodes {
			return false
		}
	}
	x.codes = slices.Grow(x.codes[:0], b.Records)
	x.rows = slices.Grow(x.rows[:0], b.Records)
	for i := range b.Records {
		if b.Selected == nil || b.Selected[i] {
			x.rows = append(x.rows, uint32(i))
		}
	}
	x.codes = x.codes[:len(x.rows)]
	clear(x.codes)
	x.steps = x.steps[:0]
	if x.step >= 0 {
		x.encodeSteps(b)
		if total *= max(1, len(x.steps)); total > maxCodes {
			return false
		}
	}
	for k := range x.By {
		if x.keyOf[k] < 0 {
			continue
		}
		if page := b.Fields[x.keyOf[k]]; page.IDs != nil {
			n := uint32(len(page.Entries))
			for j, i := range x.rows {
				x.codes[j] = x.codes[j]*n + uint32(page.IDs[i])
			}
		}
	}
	x.ends = slices.Grow(x.ends[:0], total+1)[:total+1]
	clear(x.ends)
	for _, code := range x.codes {
		x.ends[code+1]++
	}
	return true
}

// encodeSteps makes the number of its step the code of each selected record.
func (x *Batcher) encodeSteps(b *Batch) {
	step := x.By[x.step].Step
	from, to := int64(math.MaxInt64), int64(math.MinInt64)
	j := 0
	for _, run := range b.Runs {
		if j == len(x.rows) {
			break
		}
		if int(x.rows[j]) >= run.End {
			continue
		}
		at := (b.Base + int64(run.Second)) * 1e9
		if at < from || at >= to {
			from = step.Start(at, x.Zone)
			to = step.End(from, x.Zone)
			x.steps = append(x.steps, from)
		}
		x.from, x.to = min(x.from, at), max(x.to, at)
		for ; j < len(x.rows) && int(x.rows[j]) < run.End; j++ {
			x.codes[j] = uint32(len(x.steps) - 1)
		}
	}
}

// addGroups adds the records by code.
func (x *Batcher) addGroups(b *Batch) error {
	for i := 1; i < len(x.ends); i++ {
		x.ends[i] += x.ends[i-1]
	}
	if len(x.stats) > 0 { // otherwise only the number of records matters
		x.order = slices.Grow(x.order[:0], len(x.rows))[:len(x.rows)]
		at := slices.Clone(x.ends)
		for j, code := range x.codes {
			x.order[at[code]] = x.rows[j]
			at[code]++
		}
	}
	x.entryNumbers(b)
	for code := range len(x.ends) - 1 {
		from, end := x.ends[code], x.ends[code+1]
		if from == end {
			continue
		}
		var records []uint32
		if len(x.stats) > 0 {
			records = x.order[from:end]
		}
		if err := x.addGroup(b, code, uint64(end-from), records); err != nil {
			return err
		}
	}
	return nil
}

// entryNumbers reads the entries of the fields that are to be numbers.
func (x *Batcher) entryNumbers(b *Batch) {
	for _, i := range x.numeric {
		page, e := b.Fields[i], &x.entries[i]
		for id, v := range page.Entries {
			e.is[id], e.ignored[id] = false, false
			if id == page.Plane {
				continue
			}
			if v.Kind == field.Number || v.Kind == field.Bare {
				e.number[id], e.is[id] = exact.Parse(v.Text)
			}
			e.ignored[id] = !e.is[id] && v.Kind != field.Missing && v.Kind != field.Null
		}
		for id, n := range x.countEntries(b, page) {
			if e.ignored[id] {
				x.ignored[i] += n
			}
		}
	}
}

// addGroup adds the n records of one code; records are their numbers unless only n matters.
func (x *Batcher) addGroup(b *Batch, code int, n uint64, records []uint32) error {
	if err := x.makeRoom(); err != nil {
		return err
	}
	rec := &x.record
	rec.Values = slices.Grow(rec.Values[:0], len(b.Fields))[:len(b.Fields)]
	clear(rec.Values)
	rest := code
	for k := len(x.By) - 1; k >= 0; k-- {
		input := x.keyOf[k]
		if input < 0 {
			continue
		}
		page := b.Fields[input]
		id := rest % len(page.Entries)
		rest /= len(page.Entries)
		rec.Values[input] = page.Entries[id]
		x.numbers[input], x.isNum[input] = x.entries[input].number[id], x.entries[input].is[id]
	}
	rec.Time = 0
	if x.step >= 0 {
		rec.Time = x.steps[rest]
	} else {
		x.from, x.to = min(x.from, 0), max(x.to, 0)
	}
	x.total += n
	flags := x.makeKey(rec)
	group := x.table.group(x.key)
	if flags != 0 {
		x.table.setFlags(group, flags)
	}
	state := x.table.state(group)
	addUint(state, n)
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
	counts := x.counts[:len(page.Entries)]
	clear(counts)
	for _, i := range records {
		counts[page.ID(int(i))]++
	}
	if s.kind == distinct {
		x.addDistinct(page, state, records, counts)
		return
	}
	e := &x.entries[s.input]
	for id, n := range counts {
		if n > 0 && id != page.Plane && e.is[id] {
			x.addNumbers(s, state, e.number[id], n)
		}
	}
	if page.Plane >= 0 && counts[page.Plane] > 0 {
		x.addPlane(s, state, page, records)
	}
}

// addDistinct adds the different values of records.
func (x *Batcher) addDistinct(page *columns.Page, state []byte, records []uint32, counts []uint64) {
	add := func(text []byte) {
		hi, lo := metro.Hash128(text, hashSeed)
		if hi|lo == 0 {
			lo = 1 // zero is a free slot
		}
		x.table.addHash(state, hi, lo)
	}
	for id, n := range counts {
		if v := page.Entries[id]; n > 0 && id != page.Plane && v.Kind != field.Missing && v.Kind != field.Null {
			add(v.Text)
		}
	}
	if page.Plane < 0 {
		return
	}
	for _, i := range records {
		if page.ID(int(i)) == page.Plane {
			x.text = page.Numbers.AppendText(x.text[:0], page.Numbers.Values[i])
			add(x.text)
		}
	}
}

// addNumbers adds a number n times.
func (x *Batcher) addNumbers(s *stat, state []byte, v exact.Number, n uint64) {
	switch s.kind {
	case minimum, maximum:
		x.table.addExtreme(s.kind, state, v)
	default:
		for range n {
			x.addNumber(s, state, v)
		}
	}
}

// addPlane adds those of records whose value is a number of the planes.
func (x *Batcher) addPlane(s *stat, state []byte, page *columns.Page, records []uint32) {
	values := page.Numbers.Values
	places := page.Numbers.Scale
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	sum, n := int64(0), int64(0)
	for _, i := range records {
		if page.ID(int(i)) == page.Plane {
			v := values[i]
			low, high = min(low, v), max(high, v)
			sum += v // may overflow: then it is not used
			n++
		}
	}
	switch {
	case s.kind == minimum:
		x.table.addExtreme(s.kind, state, exact.FromScaled(low, places))
		return
	case s.kind == maximum:
		x.table.addExtreme(s.kind, state, exact.FromScaled(high, places))
		return
	case s.kind == moments && !s.squares && max(high, -low) < math.MaxInt64/n:
		addUint(state, uint64(n))
		x.table.addSum(state[8:], exact.FromScaled(sum, places), false)
		return
	}
	for _, i := range records {
		if page.ID(int(i)) == page.Plane {
			x.addNumber(s, state, exact.FromScaled(values[i], places))
		}
	}
}
