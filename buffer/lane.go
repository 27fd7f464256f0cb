package buffer

import (
	"math"
	"slices"
	"sync"
	"time"

	"logstow/record"
)

// lane holds the open batches of one service. A chunk belongs to one service, so
// services do not wait for each other, and what is appended to a lane one after
// the other stays so in each bucket.
//
// A lane's lock may be held when the Buffer's is taken, never the other way round.
type lane struct {
	buf     *Buffer
	service string

	mu     sync.Mutex
	open   map[bucket]*openBatch
	closed bool
	// saidLate is set once the log was told that records get the time they were read.
	saidLate bool
	// last is the seal of the batch that was detached last.
	last *seal
}

// run is a stretch of a chunk's records that go to one bucket.
type run struct {
	bucket   bucket
	from, to int
	// late records get the time they were read.
	late bool
}

// plan resolves the time and the bucket of every record; after it nothing about
// them is open to interpretation. It changes nothing but what was said.
func (l *lane) plan(c *Chunk) []run {
	opts := &l.buf.opts
	var (
		runs   []run
		own    bucket // of the current run's records' own times
		tooOld bool   // and that these are too old
		open   = openBuckets{most: opts.MaxOpen, all: make(map[bucket]bool, len(l.open)+1)}
	)
	if opts.Once {
		open.most = math.MaxInt
	}
	for k := range l.open {
		open.all[k] = true
	}
	for i := range c.Records {
		t := c.Records[i].Time
		old := opts.MaxLateness > 0 && !opts.Once && t < c.Read-int64(opts.MaxLateness)
		if n := len(runs); n > 0 && own.holds(t) && old == tooOld {
			runs[n-1].to = i + 1
			continue
		}
		own, tooOld = bucketOf(t, c.Class, opts.Width), old
		r := run{bucket: own, from: i, to: i + 1}
		if tooOld || !open.take(own) {
			r.late = true
			r.bucket = bucketOf(c.Read, c.Class, opts.Width)
			open.put(r.bucket)
		}
		runs = append(runs, r)
	}
	return runs
}

// openBuckets are the buckets that will be open when the records up to here are in.
type openBuckets struct {
	most int
	all  map[bucket]bool
}

// take opens a bucket, unless it is older than all and there are as many as may be.
func (o *openBuckets) take(k bucket) bool {
	if !o.all[k] && len(o.all) >= o.most && k.start < o.oldest().start {
		return false
	}
	o.put(k)
	return true
}

// put opens a bucket, in the place of the oldest where there are too many.
func (o *openBuckets) put(k bucket) {
	if o.all[k] {
		return
	}
	if len(o.all) >= o.most {
		delete(o.all, o.oldest())
	}
	o.all[k] = true
}

func (o *openBuckets) oldest() (oldest bucket) {
	oldest.start = math.MaxInt64
	for k := range o.all {
		if k.start < oldest.start {
			oldest = k
		}
	}
	return oldest
}

// final is the records with the times that the plan gives them.
func final(records []record.Record, runs []run, read int64) []record.Record {
	cloned := false
	for _, r := range runs {
		if !r.late {
			continue
		}
		if !cloned {
			records, cloned = slices.Clone(records), true
		}
		for i := r.from; i < r.to; i++ {
			records[i].Time = read
		}
	}
	return records
}

// apply appends final records, numbered from first on, to their batches. It
// returns the batches that stopped taking records on the way; the caller
// finishes them, in that order, without the lane's lock.
func (l *lane) apply(records []record.Record, runs []run, first uint64) (full []*openBatch, err error) {
	for _, r := range runs {
		full, err = l.applyRun(full, records[r.from:r.to], r.bucket, first+uint64(r.from))
		if err != nil {
			return full, err
		}
	}
	return full, nil
}

func (l *lane) applyRun(full []*openBatch, records []record.Record, k bucket, number uint64) ([]*openBatch, error) {
	// sizeEvery is how much text goes in between looks at a batch's size.
	const sizeEvery = 64 << 10
	for len(records) > 0 {
		o, evicted, err := l.batch(k, number)
		if evicted != nil {
			full = append(full, evicted)
		}
		if err != nil {
			return full, err
		}
		next := o.text + sizeEvery
		left := l.buf.batchLimit() - o.writer.Bound()
		for len(records) > 0 {
			rec := records[0]
			if left -= textSize(&rec); left < 0 && o.text > 0 {
				break
			}
			records = records[1:]
			if err := o.append(rec); err != nil {
				l.detach(o)
				return append(full, o), err
			}
			o.through = number
			number++
			if o.text >= next {
				break
			}
		}
		l.buf.charge(o)
		if left < 0 || o.full(l.buf.opts.FlushSize) {
			l.detach(o)
			full = append(full, o)
		}
	}
	return full, nil
}

// batch is the open batch of a bucket. Where it has to open one past the bound,
// it detaches the oldest, for the caller to finish: then a source of times without
// any order soon has none that are newer than the oldest open bucket.
func (l *lane) batch(k bucket, number uint64) (o, evicted *openBatch, err error) {
	if o := l.open[k]; o != nil {
		return o, nil, nil
	}
	if !l.buf.opts.Once && len(l.open) >= l.buf.opts.MaxOpen {
		evicted = l.oldest()
		l.detach(evicted)
	}
	o, err = newOpenBatch(l, k, number)
	if err != nil {
		return nil, evicted, err
	}
	l.open[k] = o
	l.buf.opened(o)
	return o, evicted, nil
}

// oldest is the open batch of the oldest bucket.
func (l *lane) oldest() (oldest *openBatch) {
	for _, o := range l.open {
		if oldest == nil || o.bucket.start < oldest.bucket.start {
			oldest = o
		}
	}
	return oldest
}

// detach ends a batch's time in the lane: it takes no more records, and its
// place in the order of sealing is fixed.
func (l *lane) detach(o *openBatch) {
	delete(l.open, o.bucket)
	o.seal = &seal{before: l.last, done: make(chan struct{})}
	l.last = o.seal
	l.buf.detached(o)
}

// detachAll detaches every batch; with closed set the lane opens no other.
func (l *lane) detachAll(closed bool) []*openBatch {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = l.closed || closed
	all := make([]*openBatch, 0, len(l.open))
	for _, o := range l.open {
		l.detach(o)
		all = append(all, o)
	}
	return all
}

// detachOne detaches a batch unless somebody else has.
func (l *lane) detachOne(o *openBatch) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[o.bucket] != o {
		return false
	}
	l.detach(o)
	return true
}

// late counts the records of the late runs, and says so once for the service.
func (l *lane) late(c *Chunk, runs []run) (count uint64) {
	first := -1
	for _, r := range runs {
		if r.late {
			count += uint64(r.to - r.from)
			if first < 0 {
				first = r.from
			}
		}
	}
	if count > 0 && !l.saidLate {
		l.saidLate = true
		l.buf.opts.Log.Warn("records that are too old, or older than all open buckets, get the time they were read (said once)",
			"service", l.service, "open_buckets", l.buf.opts.MaxOpen, "max_lateness", l.buf.opts.MaxLateness,
			"time", time.Unix(0, c.Records[first].Time).UTC(), "source", c.Records[first].Source)
	}
	return count
}
