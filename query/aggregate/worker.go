package aggregate

import (
	"encoding/binary"
	"math"

	"logstow/exact"
	"logstow/message"
	"logstow/query/rowset"
	"logstow/spill"
)

// Worker adds records. Not safe for concurrent use.
type Worker struct {
	*Plan
	table *table
	runs  *spill.Runs
	limit int64
	added int // records since the last spill

	key  []byte
	text []byte
	// in is the record that is added, with its numbers.
	in input

	// stepFrom and stepTo are start and end of the last step.
	stepFrom, stepTo int64

	// total is the number of records, from and to are their first and last time. ignored has, by field, the number of
	// values that should be numbers and are not.
	total    uint64
	from, to int64
	ignored  []uint64
	// seen is set for fields that any record had.
	seen []bool

	batch *batcher // nil until the first batch
}

// batcher has the memory for adding batches.
type batcher struct {
	combiner rowset.Combiner
	operands []rowset.Operand
	record   Record
	text     []byte
	// entries has the entries of the pages of fields that are read as numbers, by field.
	entries []entryNumbers
	// in is the input of stats, counted the field of which it has the values, -1 for none.
	in      batchInput
	counted int
}

// minAdded is the minimum number of records between two spills. Without it, a group larger than the limit would cause a spill
// for every record. Beyond twice the limit, which is then at least minFull bytes, keys are so long that it spills nevertheless.
const (
	minAdded = 64
	minFull  = 1 << 20
)

func newWorker(p *Plan, limit int64, dir string) *Worker {
	return &Worker{
		Plan:    p,
		table:   newTable(p, limit),
		runs:    spill.NewRuns(dir),
		limit:   limit,
		in:      input{numbers: make([]exact.Number, len(p.Fields)), isNum: make([]bool, len(p.Fields))},
		ignored: make([]uint64, len(p.Fields)),
		seen:    make([]bool, len(p.Fields)),
		from:    math.MaxInt64,
		to:      math.MinInt64,
	}
}

// Add adds a record. It fails if a temporary file cannot be written; the aggregation must then be closed.
func (w *Worker) Add(rec *Record) error { return w.AddCount(rec, 1) }

// AddCount adds n records that differ in nothing that is needed. It requires [Plan.CountsOnly]: other functions would use
// the values of one record only.
func (w *Worker) AddCount(rec *Record, n uint64) error {
	w.readNumbers(rec)
	state, err := w.stateOf(rec, n)
	if err != nil {
		return err
	}
	w.in.Record, w.in.n = rec, n
	for i := range w.stats {
		s := &w.stats[i]
		s.add(&w.table.memory, state[s.offset:], &w.in, s.input)
	}
	return nil
}

// stateOf counts n records with the keys and the time of rec in their group, and returns its state. The numbers of the keys must be set.
func (w *Worker) stateOf(rec *Record, n uint64) ([]byte, error) {
	if err := w.spillIfFull(); err != nil {
		return nil, err
	}
	w.total += n
	w.from, w.to = min(w.from, rec.Time), max(w.to, rec.Time)
	for i := range rec.Values {
		w.seen[i] = w.seen[i] || rec.Values[i].Kind != message.Missing
	}
	flags := w.makeKey(rec)
	group := w.table.group(w.key)
	if flags != 0 {
		w.table.setFlags(group, flags)
	}
	state := w.table.state(group)
	addUint(state, n)
	return state, nil
}

// spillIfFull spills the groups if they exceed the memory limit. It is called before each record or batch of a group.
func (w *Worker) spillIfFull() error {
	w.added++
	if size := w.table.size(); size > w.limit && (w.added > minAdded || size > max(2*w.limit, minFull)) {
		return w.spill()
	}
	return nil
}

// readNumbers sets numbers and isNum, and counts values that should be numbers and are not.
func (w *Worker) readNumbers(rec *Record) {
	for _, i := range w.numeric {
		v := rec.Values[i]
		var ok bool
		w.in.numbers[i], ok = v.Amount()
		w.in.isNum[i] = ok
		if !ok && isPresent(v) {
			w.ignored[i]++
		}
	}
}

// makeKey encodes the record's key: the keys other than step and pivot, the step, the pivot key. A value is its length + 1
// (uvarint) and its text, or 0 if it is missing. A step is 8 bytes that sort by time. flags has a bit for each key of By whose
// value is a string, to distinguish it from a number or truth value with the same text.
func (w *Worker) makeKey(rec *Record) (flags uint32) {
	w.key = w.key[:0]
	for _, i := range w.keys {
		flags |= w.appendKey(rec, i)
	}
	if w.step >= 0 {
		w.key = binary.BigEndian.AppendUint64(w.key, uint64(w.stepOf(rec.Time))^1<<63)
	}
	if w.Pivot >= 0 {
		flags |= w.appendKey(rec, w.Pivot)
	}
	return flags
}

// stepOf returns the start of the time step of a time, 0 if there are no steps.
func (w *Worker) stepOf(at int64) int64 {
	if w.step < 0 {
		return 0
	}
	if at = w.StepTime(at); at < w.stepFrom || at >= w.stepTo {
		w.stepFrom = w.Step.Start(at, w.Zone)
		w.stepTo = w.Step.End(w.stepFrom, w.Zone)
	}
	return w.stepFrom
}

func (w *Worker) appendKey(rec *Record, key int) (flags uint32) {
	input := w.keyOf[key]
	if w.By[key].Bucket {
		bucket, ok := w.bucket(key, input)
		if !ok {
			w.key = append(w.key, 0)
			return 0
		}
		w.text = bucket.Append(w.text[:0])
		w.key = binary.AppendUvarint(w.key, uint64(len(w.text))+1)
		w.key = append(w.key, w.text...)
		return 0
	}
	v := rec.Values[input]
	if v.Kind == message.Missing || v.Kind == message.Null {
		w.key = append(w.key, 0)
		return 0
	}
	w.key = binary.AppendUvarint(w.key, uint64(len(v.Text))+1)
	w.key = append(w.key, v.Text...)
	if v.Kind == message.String {
		return 1 << key
	}
	return 0
}

// bucket returns the lower bound of the bucket of a field's number.
func (w *Worker) bucket(key, input int) (n exact.Number, ok bool) {
	if !w.in.isNum[input] {
		return n, false
	}
	if width := w.By[key].Width; width.Sign() > 0 {
		return w.in.numbers[input].Floor(width)
	}
	return w.in.numbers[input].Bucket()
}

// spill writes the groups as a sorted run.
func (w *Worker) spill() error {
	err := w.runs.Add(&tableCursor{table: w.table, refs: w.table.sorted()})
	w.table.reset()
	w.added = 0
	return err
}
