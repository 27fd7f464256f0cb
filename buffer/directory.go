package buffer

import (
	"context"

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
	// ErrNotEmpty reports that a buffer holds records that are not stored, or quarantined files.
	ErrNotEmpty = spool.ErrNotEmpty
	// ErrSmallDisk reports that Options.Dir is on a file system smaller than MinDisk.
	ErrSmallDisk = spool.ErrSmallDisk
	// ErrTooLarge reports that a chunk would not fit even if the disk were empty.
	ErrTooLarge = spool.ErrTooLarge
)

// Status describes the content of a buffer's directory.
type Status = spool.Status

// Quarantined is a file in a buffer's quarantine.
type Quarantined = spool.Quarantined

// CheckDisk returns [ErrSmallDisk] if Open would fail with it for a directory, which
// need not exist. It changes nothing.
func CheckDisk(dir string) error { return spool.CheckDisk(dir) }

// Inspect reads a buffer's directory and changes nothing. It may be called while a process
// has the directory open; then what it returns may mix several moments. The error is
// fs.ErrNotExist if dir is not a buffer's directory.
func Inspect(ctx context.Context, dir string) (Status, error) { return spool.Inspect(ctx, dir) }

// Remove removes a buffer's directory if no process has it open and it holds no records and
// no quarantined files: only positions are deleted. The error is [ErrLocked] if a process has
// it open, and [ErrNotEmpty] if it holds records or files. A process may open the buffer
// concurrently.
func Remove(ctx context.Context, dir string) error { return spool.Remove(ctx, dir) }

// ListQuarantine lists a buffer's quarantine in order of File and changes nothing. It may be
// called while a process has the directory open. The error is fs.ErrNotExist if dir is not a
// buffer's directory.
func ListQuarantine(dir string) ([]Quarantined, error) { return spool.ListQuarantine(dir) }

// Requeue brings batches back from a buffer's quarantine: the next process that opens
// the buffer delivers them with their ids, so that none is stored twice. A damaged batch stays
// in quarantine ([sealed.ErrDamaged]); the error joins those of all batches that stay. If a
// process has the buffer open, the error is [ErrLocked] and nothing is changed.
func Requeue(ctx context.Context, dir string, batches []Quarantined) error {
	return spool.Requeue(ctx, dir, batches)
}

// Resend makes the batches of a buffer that a relay, whose disk is lost, may have go to another one. relay is the [Buffer.ID] of its buffer.
// Records that the relay had stored before are then stored twice. It returns the number of batches. If a process has the buffer open, the
// error is [ErrLocked] and nothing is changed.
func Resend(dir, relay string) (batches int, err error) { return spool.Resend(dir, relay) }

// Discard removes files from a buffer's quarantine for good. It may be called while a
// process has the directory open.
func Discard(dir string, files []Quarantined) error { return spool.Discard(dir, files) }
