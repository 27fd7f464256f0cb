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
type partition struct {
	buf     *Buffer
	service string

	mu     sync.Mutex
	open   map[bucket]*openBatch
	closed bool
	// saidLate is set once the log was told that records get the time they were read.
	lateLogged bool
	// last is the seal of the batch that was detached last.
	lastTicket *sealTicket
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
func (p *partition) planRuns(c *Chunk) []run {
	opts := &p.buf.opts
	var (
		runs   []run
		own    bucket // of the current run's records' own times
		tooOld bool   // and that these are too old
		open   = openBuckets{limit: opts.MaxOpen, all: make(map[bucket]bool, len(p.open)+1)}
	)
	if opts.Once {
		open.limit = math.MaxInt
	}
	for k := range p.open {
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
		if tooOld || !open.tryAdd(own) {
			r.late = true
			r.bucket = bucketOf(c.Read, c.Class, opts.Width)
			open.add(r.bucket)
		}
		runs = append(runs, r)
	}
	return runs
}

// openBuckets are the buckets that will be open when the records up to here are in.
type openBuckets struct {
	limit int
	all   map[bucket]bool
}

// take opens a bucket, unless it is older than all and there are as many as may be.
func (o *openBuckets) tryAdd(k bucket) bool {
	if !o.all[k] && len(o.all) >= o.limit && k.start < o.oldest().start {
		return false
	}
	o.add(k)
	return true
}

// put opens a bucket, in the place of the oldest where there are too many.
func (o *openBuckets) add(k bucket) {
	if o.all[k] {
		return
	}
	if len(o.all) >= o.limit {
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
func resolveTimes(records []record.Record, runs []run, read int64) []record.Record {
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
func (p *partition) apply(records []record.Record, runs []run, first uint64) (full []*openBatch, err error) {
	for _, r := range runs {
		full, err = p.applyRun(full, records[r.from:r.to], r.bucket, first+uint64(r.from))
		if err != nil {
			return full, err
		}
	}
	return full, nil
}

func (p *partition) applyRun(full []*openBatch, records []record.Record, k bucket, number uint64) ([]*openBatch, error) {
	// sizeEvery is how much text goes in between looks at a batch's size.
	const sizeEvery = 64 << 10
	for len(records) > 0 {
		o, evicted, err := p.batch(k, number)
		if evicted != nil {
			full = append(full, evicted)
		}
		if err != nil {
			return full, err
		}
		next := o.text + sizeEvery
		left := p.buf.batchLimit() - o.writer.Bound()
		for len(records) > 0 {
			rec := records[0]
			if left -= textSize(&rec); left < 0 && o.text > 0 {
				break
			}
			records = records[1:]
			if err := o.append(rec); err != nil {
				p.detach(o)
				return append(full, o), err
			}
			o.through = number
			number++
			if o.text >= next {
				break
			}
		}
		p.buf.charge(o)
		if left < 0 || o.full(p.buf.opts.FlushSize) {
			p.detach(o)
			full = append(full, o)
		}
	}
	return full, nil
}

// batch is the open batch of a bucket. Where it has to open one past the bound,
// it detaches the oldest, for the caller to finish: then a source of times without
// any order soon has none that are newer than the oldest open bucket.
func (p *partition) batch(k bucket, number uint64) (o, evicted *openBatch, err error) {
	if o := p.open[k]; o != nil {
		return o, nil, nil
	}
	if !p.buf.opts.Once && len(p.open) >= p.buf.opts.MaxOpen {
		evicted = p.oldest()
		p.detach(evicted)
	}
	o, err = newOpenBatch(p, k, number)
	if err != nil {
		return nil, evicted, err
	}
	p.open[k] = o
	p.buf.addOpen(o)
	return o, evicted, nil
}

// oldest is the open batch of the oldest bucket.
func (p *partition) oldest() (oldest *openBatch) {
	for _, o := range p.open {
		if oldest == nil || o.bucket.start < oldest.bucket.start {
			oldest = o
		}
	}
	return oldest
}

// detach ends a batch's time in the lane: it takes no more records, and its
// place in the order of sealing is fixed.
func (p *partition) detach(o *openBatch) {
	delete(p.open, o.bucket)
	o.ticket = &sealTicket{previous: p.lastTicket, done: make(chan struct{})}
	p.lastTicket = o.ticket
	p.buf.markDetached(o)
}

// detachAll detaches every batch; with closed set the lane opens no other.
func (p *partition) detachAll(closed bool) []*openBatch {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = p.closed || closed
	all := make([]*openBatch, 0, len(p.open))
	for _, o := range p.open {
		p.detach(o)
		all = append(all, o)
	}
	return all
}

// detachOne detaches a batch unless somebody else has.
func (p *partition) detachOne(o *openBatch) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[o.bucket] != o {
		return false
	}
	p.detach(o)
	return true
}

// late counts the records of the late runs, and says so once for the service.
func (p *partition) countLate(c *Chunk, runs []run) (count uint64) {
	first := -1
	for _, r := range runs {
		if r.late {
			count += uint64(r.to - r.from)
			if first < 0 {
				first = r.from
			}
		}
	}
	if count > 0 && !p.lateLogged {
		p.lateLogged = true
		p.buf.opts.Log.Warn("records that are too old, or older than all open buckets, get the time they were read (said once)",
			"service", p.service, "open_buckets", p.buf.opts.MaxOpen, "max_lateness", p.buf.opts.MaxLateness,
			"time", time.Unix(0, c.Records[first].Time).UTC(), "source", c.Records[first].Source)
	}
	return count
}
