package batching

import (
	"container/heap"
	"math"
	"sync"
	"time"

	"logstow/buffer/internal/wait"
	"logstow/buffer/queue"
)

// openSet is the set of the open batches of all partitions, and of those being sealed: it counts
// their memory, numbers them, and determines which part of the log they need. It is safe for concurrent use.
type openSet struct {
	now    func() time.Time
	queue  *queue.Queue
	memory *wait.Memory
	// wake is notified when a batch is due before wakeAt.
	wake chan struct{}

	// once is Options.Once: batches are not sealed by age or bucket end.
	once bool

	mu sync.Mutex
	// flushInterval and maxFlushInterval are those of Options.
	flushInterval, maxFlushInterval time.Duration
	// followed are the services that are followed.
	followed map[string]bool

	open logHeap
	seq  int64
	// tick counts uses of open batches; largest compares batches by it.
	tick uint64
	// sealing are the batches that accept no more records and are not queued yet.
	sealing logHeap
	// appending are the services whose records are being appended, each with a lower bound of the
	// numbers of the records that it writes to the log.
	appending map[string]uint64
	// frozen is set when a batch could not be sealed: no log file may be removed, because the next
	// process replays them.
	frozen bool
	// replayFloor is a lower bound of the numbers of records that are not yet replayed.
	replayFloor uint64
	// wakeAt is when the first batch is due, as sealLoop last computed it; zero means never.
	wakeAt time.Time
}

func newOpenSet(opts *Options) *openSet {
	return &openSet{
		now: opts.Now, queue: opts.Queue, memory: opts.Memory, seq: opts.Seq,
		once: opts.Once, flushInterval: opts.FlushInterval, maxFlushInterval: opts.MaxFlushInterval, followed: map[string]bool{},
		wake: make(chan struct{}, 1), appending: map[string]uint64{},
	}
}

// add adds a new open batch, charges its memory and notifies wake if it is due first. The
// partition's lock is held.
func (s *openSet) add(o *openBatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	heap.Push(&s.open, o)
	o.used = s.tick
	o.charged = batchOverhead
	s.memory.Add(o.charged, 0)
	s.schedule(o)
}

// schedule sets when a batch is due, and notifies wake if it is due first. The lock is held.
func (s *openSet) schedule(o *openBatch) {
	if s.once {
		return
	}
	o.due = dueTime(o.bucket, o.first, s.intervalOf(o))
	if !o.due.IsZero() && (s.wakeAt.IsZero() || o.due.Before(s.wakeAt)) {
		s.wakeAt = o.due
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// intervalOf returns the age at which a batch is sealed. The lock is held.
func (s *openSet) intervalOf(o *openBatch) time.Duration {
	if s.flushInterval <= 0 || s.followed[o.service] || o.large {
		return s.flushInterval
	}
	return max(s.flushInterval, s.maxFlushInterval)
}

// setFlushIntervals changes the ages at which batches are sealed, also of the open ones.
func (s *openSet) setFlushIntervals(interval, maximum time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushInterval, s.maxFlushInterval = interval, maximum
	for _, o := range s.open {
		s.schedule(o)
	}
}

// setFollowed sets whether a service is followed.
func (s *openSet) setFollowed(service string, followed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if followed {
		s.followed[service] = true
	} else {
		delete(s.followed, service)
	}
	for _, o := range s.open {
		if o.service == service {
			s.schedule(o)
		}
	}
}

// charge updates the memory that a batch is charged for, and its last use.
func (s *openSet) charge(o *openBatch) {
	cost := o.cost()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory.Add(cost-o.charged, 0)
	o.charged = cost
	s.tick++
	o.used = s.tick
	if !o.large && o.text >= LargeText {
		o.large = true
		s.schedule(o)
	}
}

// beginSealing gives a batch that accepts no more records its Seq. The partition's lock is
// held, so the bucket's next batch gets a higher one.
func (s *openSet) beginSealing(o *openBatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	heap.Remove(&s.open, o.index)
	heap.Push(&s.sealing, o)
	s.seq = max(s.seq+1, s.now().UnixNano())
	o.seq = s.seq
	s.memory.Add(0, o.charged)
	s.queue.Expect()
}

// endSealing removes a batch that is queued or given up.
func (s *openSet) endSealing(o *openBatch) {
	s.mu.Lock()
	heap.Remove(&s.sealing, o.index)
	s.mu.Unlock()
	s.memory.Release(o.charged, o.charged)
}

// beginAppend notes that a service writes records with numbers from floor on to the log; endAppend
// must follow once they are in its batches.
func (s *openSet) beginAppend(service string, floor uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.appending[service] = floor
}

func (s *openSet) endAppend(service string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.appending, service)
}

// freeze keeps all of the log for the next process.
func (s *openSet) freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = true
}

// setReplayed sets a lower bound of the numbers of records that are not yet replayed.
func (s *openSet) setReplayed(floor uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replayFloor = floor
}

// needed returns the lowest number of a record that is not in a sealed batch; next if there is none. idle
// reports that no batch is open or being sealed, ok that the log before the number may be removed.
func (s *openSet) needed(next uint64) (number uint64, idle, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	number = min(next, s.replayFloor)
	for _, batches := range []logHeap{s.open, s.sealing} {
		if len(batches) > 0 {
			number = min(number, batches[0].from)
		}
	}
	for _, floor := range s.appending {
		number = min(number, floor)
	}
	return number, len(s.open)+len(s.sealing)+len(s.appending) == 0, !s.frozen
}

// empty reports whether all records of the log are in sealed batches.
func (s *openSet) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.frozen && s.replayFloor == math.MaxUint64 && len(s.open) == 0
}

// oldest returns the open batch with the oldest record in the log; nil if none is open. frozen
// reports that sealing frees no space in the log.
func (s *openSet) oldest() (oldest *openBatch, frozen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) > 0 {
		oldest = s.open[0]
	}
	return oldest, s.frozen
}

// largest returns the open batch with the largest product of size and time since its last use; nil
// if none is open. With many services, that is a large batch; while an old file is read in order, it is
// a batch that gets no more records.
func (s *openSet) largest() (largest *openBatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var most float64
	for _, o := range s.open {
		if score := float64(o.charged) * float64(s.tick-o.used+1); score > most {
			largest, most = o, score
		}
	}
	return largest
}

// due returns the open batches that are due.
func (s *openSet) due() (due []*openBatch) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.open {
		if !o.due.IsZero() && !o.due.After(now) {
			due = append(due, o)
		}
	}
	return due
}

// nextDue returns when the first open batch is due; zero means never. From now on wake is notified when an
// earlier one is added.
func (s *openSet) nextDue() (at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.open {
		if !o.due.IsZero() && (at.IsZero() || o.due.Before(at)) {
			at = o.due
		}
	}
	s.wakeAt = at
	return at
}

// oldestOf returns when the oldest record in a service's batches, open or being sealed, was appended; zero if there is none.
func (s *openSet) oldestOf(service string) (oldest time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, batches := range []logHeap{s.open, s.sealing} {
		for _, o := range batches {
			if o.service == service && (oldest.IsZero() || o.first.Before(oldest)) {
				oldest = o.first
			}
		}
	}
	return oldest
}

// oldestSeq returns a lower bound of the Seqs of batches that are being sealed, or will be.
func (s *openSet) oldestSeq() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := s.seq + 1
	for _, o := range s.sealing {
		oldest = min(oldest, o.seq)
	}
	return oldest
}

// count returns the number of open batches, and when the oldest of their records was appended; zero if
// there is none.
func (s *openSet) count() (n int, oldest time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.open {
		if oldest.IsZero() || o.first.Before(oldest) {
			oldest = o.first
		}
	}
	return len(s.open), oldest
}
