package batching

import (
	"math"
	"slices"
	"sync"
	"time"

	"logstow/record"
	"logstow/segment"
)

// partition holds the open batches of one service. A chunk belongs to one service, so
// services do not wait for each other, and the records of each bucket keep the order in
// which they were appended to the partition.
type partition struct {
	opts       *Options
	compressor *segment.Compressor
	set        *openSet
	service    string

	mu     sync.Mutex
	open   map[bucket]*openBatch
	closed bool
	// lateLogged is set once late records were logged.
	lateLogged bool
	// lastTicket is the ticket of the batch that was detached last.
	lastTicket *sealTicket
}

// run is a range of a chunk's records that go to one bucket.
type run struct {
	bucket   bucket
	from, to int
	// late is set if the records get the time they were read.
	late bool
}

// planRuns decides the time and the bucket of every record of a chunk. It changes nothing.
func (p *partition) planRuns(c *Chunk) []run {
	opts := p.opts
	var (
		runs   []run
		own    bucket // the bucket of the current run's records by their own times
		tooOld bool   // the current run is older than MaxLateness
		open   = openBuckets{limit: math.MaxInt, all: map[bucket]bool{}}
	)
	if !opts.Once { // Once has no limit, and there may be thousands
		open.limit = opts.MaxOpen
		for k := range p.open {
			open.all[k] = true
		}
	}
	for i := range c.Records {
		t := c.Records[i].Time
		old := opts.tooOld(t, c.Read)
		if n := len(runs); n > 0 && own.holds(t) && old == tooOld {
			runs[n-1].to = i + 1
			continue
		}
		own, tooOld = bucketOf(t, c, opts.Width), old
		r := run{bucket: own, from: i, to: i + 1}
		if tooOld || !open.tryAdd(own) {
			r.late = true
			r.bucket = bucketOf(c.Read, c, opts.Width)
			open.add(r.bucket)
		}
		runs = append(runs, r)
	}
	return runs
}

// openBuckets are the buckets that will be open when the records planned so far are appended.
type openBuckets struct {
	limit int
	all   map[bucket]bool
}

// tryAdd opens a bucket, unless the limit is reached and the bucket is older than all open ones.
func (o *openBuckets) tryAdd(k bucket) bool {
	if !o.all[k] && len(o.all) >= o.limit && k.start < o.oldest().start {
		return false
	}
	o.add(k)
	return true
}

// add opens a bucket; at the limit it replaces the oldest one.
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

// fits reports whether the planned runs keep the bucket and the times of the records as they are in the blocks.
func (c *encodedChunk) fits(runs []run) bool {
	return c != nil && len(runs) == 1 && !runs[0].late
}

// resolveTimes returns the records with the planned times: those of late runs get the time read.
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

// apply appends records with resolved times, numbered from first on, to their batches. It
// returns the batches that became full and were detached; the caller seals them, in that
// order, without the partition's lock.
func (p *partition) apply(records []record.Record, runs []run, first uint64) (full []*openBatch, err error) {
	for _, r := range runs {
		full, err = p.applyRun(full, records[r.from:r.to], r.bucket, first+uint64(r.from))
		if err != nil {
			return full, err
		}
	}
	return full, nil
}

// applyBlocks is apply for a chunk that was encoded as blocks.
func (p *partition) applyBlocks(c *encodedChunk, first uint64) (full []*openBatch, err error) {
	for _, block := range c.blocks {
		if o := p.open[c.bucket]; o != nil && o.writer.Bound()+block.Raw() > p.opts.limit() {
			p.detach(o)
			full = append(full, o)
		}
		o, evicted := p.batch(c.bucket, first, c.instance != "")
		if evicted != nil {
			full = append(full, evicted)
		}
		first += uint64(block.Records())
		if err := o.appendBlock(block, c.instance); err != nil {
			p.detach(o)
			return append(full, o), err
		}
		o.through = first - 1
		p.set.charge(o)
		if o.full(p.opts.FlushSize) {
			p.detach(o)
			full = append(full, o)
		}
	}
	return full, nil
}

func (p *partition) applyRun(full []*openBatch, records []record.Record, k bucket, number uint64) ([]*openBatch, error) {
	// sizeEvery is how many bytes of text are appended between checks of a batch's size.
	const sizeEvery = 64 << 10
	for len(records) > 0 {
		o, evicted := p.batch(k, number, false)
		if evicted != nil {
			full = append(full, evicted)
		}
		next := o.text + sizeEvery
		left := p.opts.limit() - o.writer.Bound()
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
		p.set.charge(o)
		if left < 0 || o.full(p.opts.FlushSize) {
			p.detach(o)
			full = append(full, o)
		}
	}
	return full, nil
}

// batch returns the open batch of a bucket, and opens one if there is none. At MaxOpen it first
// detaches the oldest one, which the caller seals: so a source with unordered times soon has
// only recent buckets open, and its old records count as late. Relayed blocks have no such limit.
func (p *partition) batch(k bucket, number uint64, relayed bool) (o, evicted *openBatch) {
	if o := p.open[k]; o != nil {
		return o, nil
	}
	if !p.opts.Once && !relayed && len(p.open) >= p.opts.MaxOpen {
		evicted = p.oldest()
		p.detach(evicted)
	}
	o = newOpenBatch(p.opts, p.compressor, p.service, k, number)
	p.open[k] = o
	p.set.add(o)
	return o, evicted
}

// oldest returns the open batch of the oldest bucket.
func (p *partition) oldest() (oldest *openBatch) {
	for _, o := range p.open {
		if oldest == nil || o.bucket.start < oldest.bucket.start {
			oldest = o
		}
	}
	return oldest
}

// detach removes a batch from the open ones: it accepts no more records, and its place in
// the order of sealing is fixed.
func (p *partition) detach(o *openBatch) {
	delete(p.open, o.bucket)
	o.ticket = &sealTicket{previous: p.lastTicket, done: make(chan struct{})}
	p.lastTicket = o.ticket
	p.set.beginSealing(o)
}

// detachAll detaches all open batches. With closePartition set the partition opens no others.
func (p *partition) detachAll(closePartition bool) []*openBatch {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = p.closed || closePartition
	all := make([]*openBatch, 0, len(p.open))
	for _, o := range p.open {
		p.detach(o)
		all = append(all, o)
	}
	return all
}

// detachOne detaches a batch and reports true, unless another goroutine has detached it.
func (p *partition) detachOne(o *openBatch) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[o.bucket] != o {
		return false
	}
	p.detach(o)
	return true
}

// countLate counts the records of the late runs. It logs the first late record of the service.
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
		p.opts.Log.Warn("records that are too old, or older than all open buckets, get the time they were read (logged once)",
			"service", p.service, "open_buckets", p.opts.MaxOpen, "max_lateness", p.opts.MaxLateness,
			"time", time.Unix(0, c.Records[first].Time).UTC(), "source", c.Records[first].Source)
	}
	return count
}
