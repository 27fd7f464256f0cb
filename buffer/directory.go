package buffer

import (
	"logstow/buffer/spool"
	"logstow/buffer/wal"
)

// LostPositions is the policy for lost positions of inputs: the remaining positions, if any,
// may be older than the records.
type LostPositions = wal.LostPositions

// The policies for lost positions.
const (
	// UndecidedLost leaves the decision to the next Open, for processes that read no inputs.
	UndecidedLost = wal.Undecided
	// RereadLost continues from the remaining positions: records may be stored twice.
	RereadLost = wal.Reread
	// SkipLost continues at the ends of all inputs: records may be missing.
	SkipLost = wal.Skip
	// StopLost makes Open fail with [ErrLostPositions]; the positions stay as they are.
	StopLost = wal.Stop
)

// ErrLostPositions reports that positions of the inputs are lost.
var ErrLostPositions = wal.ErrLostPositions

// MinDisk is the size in bytes of the smallest file system that Options.Dir may be on.
const MinDisk = spool.MinDisk

// The errors of a buffer's directory.
var (
	// ErrLocked reports that another process has the directory open.
	ErrLocked = spool.ErrLocked
	// ErrSmallDisk reports that Options.Dir is on a file system smaller than MinDisk.
	ErrSmallDisk = spool.ErrSmallDisk
	// ErrTooLarge reports that a chunk would not fit even if the disk were empty.
	ErrTooLarge = spool.ErrTooLarge
)
