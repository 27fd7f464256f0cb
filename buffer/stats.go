package buffer

import (
	"fmt"
	"strings"
	"time"

	"logstow/internal/units"
)

// Stats is a snapshot of a buffer.
type Stats struct {
	// Records is the number of records appended since Open; Late how many of them got the time
	// they were read because of MaxOpen or MaxLateness.
	Records, Late uint64
	// Open is the number of open batches, Waiting of sealed ones that wait in the queue,
	// Sending of those in flight.
	Open, Waiting, Sending int
	// Unindexed is the number of index entities of stored batches that wait for the index, EntitiesDropped of those that
	// were dropped since Open.
	Unindexed       int
	EntitiesDropped uint64
	// Bytes is how many bytes of Options.Memory are used.
	Bytes int64
	// Oldest is when the oldest undelivered record was appended; zero if there is none.
	Oldest time.Time
	// Done, Quarantined, Failed and Dropped are numbers of batches since Open: delivered,
	// quarantined, lost because they could not be sealed, dropped because the buffer was full.
	Done, Quarantined, Failed, Dropped uint64
	// DroppedRecords is how many records the Dropped batches held.
	DroppedRecords uint64
	// Unsealed is how many batches could not be sealed; the log has their records.
	Unsealed uint64
	// Replayed is how many records were recovered from the log, Damaged how many files of the
	// buffer were damaged or missing, not counting Quarantined.
	Replayed, Damaged uint64
	// LostRecords is how many records are known to be lost by damage, Missing how many sealed
	// batches have no file, LostUnknown how many damaged parts of the log had unknown content:
	// records in them may be lost, or stored twice.
	LostRecords, Missing, LostUnknown uint64
	// LostPositions reports that Open found that positions were lost.
	LostPositions bool
	// Disk is how many bytes a durable buffer uses on disk, without the reserve.
	Disk int64
	// Limit is how many bytes the buffer may use: in memory Options.Memory, on disk
	// Options.MaxSize or, if less, what fits on the disk, without the reserve.
	Limit int64
	// Full reports that an append or a sealing waits for disk space, or for a file descriptor.
	Full bool
	// DescriptorWaits is how often the buffer waited for a file descriptor.
	DescriptorWaits uint64
}

// Undelivered is the number of batches that are not stored, or not indexed, without the open ones.
func (s Stats) Undelivered() int {
	return s.Waiting + s.Sending + int(s.Unsealed+s.Failed) + s.Unindexed
}

// DamageLoss describes what was lost by damage of the buffer's files; "" is nothing.
func (s Stats) DamageLoss() string {
	var all []string
	if s.LostRecords > 0 {
		all = append(all, fmt.Sprintf("%s lost", units.Count(s.LostRecords, "record")))
	}
	if s.LostUnknown > 0 {
		all = append(all, "other records may be lost or stored twice")
	}
	if s.Missing > 0 {
		all = append(all, fmt.Sprintf("%s missing", units.Count(s.Missing, "sealed batch")))
	}
	if s.LostPositions {
		all = append(all, "positions of the inputs were lost")
	}
	return strings.Join(all, ", ")
}

// Stats returns a snapshot of the buffer.
func (b *Buffer) Stats() Stats {
	open, queued := b.batches.Stats(), b.queue.Stats()
	s := Stats{
		Records: open.Records, Late: open.Late, Replayed: open.Replayed, Failed: open.Failed, Unsealed: open.Unsealed,
		Open: open.Open, Waiting: queued.Waiting, Sending: queued.Sending, Oldest: queued.Oldest,
		Done: queued.Done, Quarantined: queued.Quarantined + b.quarantined, Dropped: queued.Dropped, DroppedRecords: queued.DroppedRecords,
	}
	if s.Oldest.IsZero() || !open.Oldest.IsZero() && open.Oldest.Before(s.Oldest) {
		s.Oldest = open.Oldest
	}
	s.Unindexed, s.EntitiesDropped = b.entities.Stats()
	s.Bytes, s.Limit = b.memory.Used()
	if b.spool != nil {
		lost := b.spool.Losses()
		s.Damaged, s.LostRecords, s.Missing, s.LostUnknown, s.LostPositions = lost.Damaged, lost.Records, lost.Missing, lost.Unknown, lost.Positions
		s.Disk, s.Limit, s.Full = b.spool.Size(), b.spool.Limit(), b.spool.Waiting()
		waits, waiting := b.files.Waits()
		s.DescriptorWaits, s.Full = waits, s.Full || waiting
	}
	return s
}
