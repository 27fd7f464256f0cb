package spool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrNotEmpty reports that a buffer holds records that are not stored, batches that are not indexed, or quarantined files.
var ErrNotEmpty = errors.New("it holds records, index entities or quarantined files")

// Remove removes a buffer's directory if no process has it open and it holds no records,
// no index entities and no quarantined files: only positions are deleted. The error is [ErrLocked] if a process has
// it open, and [ErrNotEmpty] if it holds any of them. A process may open the buffer
// concurrently.
func Remove(ctx context.Context, dir string) (err error) {
	holder, _ := ReadHolder(dir) // if the directory is kept, its instance is kept too
	f, err := lockDir(dir, Holder{Instance: holder.Instance, Since: time.Now()})
	if err != nil {
		return fmt.Errorf("cannot remove buffer %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s, err := inspect(ctx, dir)
	if err != nil {
		return fmt.Errorf("cannot remove buffer %s: %w", dir, err)
	}
	if s.Sealed+s.Unindexed+s.Quarantined+len(s.Services) > 0 {
		return fmt.Errorf("cannot remove buffer %s: %w", dir, ErrNotEmpty)
	}
	// Rename it first: a process that waits for the lock then finds that the directory does not
	// exist. The new name is unique, since a crash may have left another removed directory behind.
	renamed := dir + ".removed-" + rand.Text()
	if err := os.Rename(dir, renamed); err != nil { //nolint:forbidigo // nothing in it is needed
		return fmt.Errorf("cannot remove buffer: %w", err)
	}
	return os.RemoveAll(renamed)
}
