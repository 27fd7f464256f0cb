package segment

import (
	"errors"
	"fmt"
)

var (
	// ErrNoFooter is returned by ReadFooter when the blob does not end as a
	// segment does: it is another program's, or its end is missing.
	ErrNoFooter = errors.New("no segment footer at the blob's end")
	// ErrUnsupported is returned for a segment that requires a feature which this
	// version does not know; a newer version reads it.
	ErrUnsupported = errors.New("segment needs a newer version of logstow")
	// ErrRecord is returned by Writer.Append for a record that the segment cannot
	// hold: outside the bucket, too large, or of no known level. The Writer goes on without it.
	ErrRecord = errors.New("record rejected")
	// ErrFull is returned by Writer.Append when the record needs a block more than
	// MaxBlocks. The Writer can still be closed.
	ErrFull = errors.New("segment is full")
	// ErrEmpty is returned by Writer.Close for a segment without records.
	ErrEmpty = errors.New("segment has no records")
	// ErrClosed is returned by a Writer after Close or Discard.
	ErrClosed = errors.New("segment writer is closed")
)

// CorruptError names what is damaged in a segment.
type CorruptError struct {
	// Part is "block 3", "section filter", "footer", "trailer" or "metadata".
	Part string
	// Offset is the part's place in the blob in bytes.
	Offset int64
	// Reason says what is wrong with it.
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("segment is damaged: %s at offset %d: %s", e.Part, e.Offset, e.Reason)
}
