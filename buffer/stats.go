package buffer

import (
	"fmt"
	"strings"
	"time"
)

// Stats is a snapshot of a buffer.
type Stats struct {
	// Records is the number of records appended since Open; Late how many of them
	// got the time they were read because too many buckets were open.
	Records, Late uint64
	// Open is the number of batches that take records, Waiting of those sealed and
	// in nobody's hands, Sending of those in somebody's.
	Open, Waiting, Sending int
	// Unindexed is how many of the Waiting and Sending are in storage already.
	Unindexed int
	// Bytes is what all of them take of Options.Memory.
	Bytes int64
	// Oldest is when the oldest record that is not done yet was appended; zero where there is none.
	Oldest time.Time
	// Done, Quarantined, Failed and Dropped are numbers of batches since Open: delivered,
	// refused by storage, lost because they could not be sealed, dropped because the disk was full.
	Done, Quarantined, Failed, Dropped uint64
	// DroppedRecords is how many records the Dropped batches held.
	DroppedRecords uint64
	// Unsealed is how many batches could not be sealed; the log has their records.
	Unsealed uint64
	// Replayed is how many records Open took up from the log, Damaged how many files of the
	// buffer were damaged or missing, beside those that are Quarantined.
	Replayed, Damaged uint64
	// LostRecords is how many records are known to be lost by that, Missing of how many
	// sealed batches the file is missing, LostUnknown how many damaged parts of the log held
	// what is not known: records in them may be lost, or stored twice.
	LostRecords, Missing, LostUnknown uint64
	// LostPositions says that Open found positions lost.
	LostPositions bool
	// Disk is what a durable buffer takes on disk, in bytes, without what it reserves.
	Disk int64
	// Limit is how many bytes it may take: in memory Options.Memory, on disk
	// Options.MaxSize or what the file system has space for, without the reserve.
	Limit int64
	// Full: something waits for space on disk.
	Full bool
}

// DamageLoss says in words what damage of the buffer's files cost; "" is nothing.
func (s Stats) DamageLoss() string {
	var all []string
	if s.LostRecords > 0 {
		all = append(all, fmt.Sprintf("%d records are lost", s.LostRecords))
	}
	if s.LostUnknown > 0 {
		all = append(all, "other records may be lost or stored twice")
	}
	if s.Missing > 0 {
		all = append(all, fmt.Sprintf("%d sealed batches are missing", s.Missing))
	}
	if s.LostPositions {
		all = append(all, "positions of the inputs were lost")
	}
	return strings.Join(all, ", ")
}

// Stats returns a snapshot.
func (b *Buffer) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.stats
	s.Open = len(b.open)
	s.Waiting = len(b.queue.waiting)
	s.Sending = len(b.queue.inflight)
	s.Bytes, s.Limit = b.memory.used, b.memory.limit
	if b.spool != nil {
		s.Disk, s.Limit, s.Full = b.spool.size(), b.spool.limit.Load(), b.spool.waiting.Load() > 0
	}
	for o := range b.open {
		s.addFirst(o.first)
	}
	for _, batch := range b.queue.waiting {
		s.addBatch(batch)
	}
	for batch := range b.queue.inflight {
		s.addBatch(batch)
	}
	return s
}

func (s *Stats) addBatch(batch *Batch) {
	s.addFirst(batch.first)
	if batch.state.Stored {
		s.Unindexed++
	}
}

func (s *Stats) addFirst(first time.Time) {
	if s.Oldest.IsZero() || first.Before(s.Oldest) {
		s.Oldest = first
	}
}
