package segment

import (
	"context"
	"errors"
	"fmt"
)

var (
	// ErrNoFooter is returned by ReadFooter if the blob does not end like a segment: it is another
	// program's, or truncated.
	ErrNoFooter = errors.New("no segment footer at the blob's end")
	// ErrUnsupported is returned for a segment that requires an unknown feature; a newer version
	// reads it.
	ErrUnsupported = errors.New("segment needs a newer version of logstow")
	// ErrRecord is returned by Writer.Append for an invalid record: outside the bucket, too large,
	// or of unknown level. The Writer remains usable.
	ErrRecord = errors.New("record rejected")
	// ErrFull is returned by Writer.Append if the record needs another block and the segment has MaxBlocks. The Writer
	// can still be closed.
	ErrFull = errors.New("segment is full")
	// ErrEmpty is returned by Writer.Close for a segment without records.
	ErrEmpty = errors.New("segment has no records")
	// ErrClosed is returned by a Writer after Close or Discard.
	ErrClosed = errors.New("segment writer is closed")
)

// CorruptError reports damage in a segment.
type CorruptError struct {
	// Part is "block 3", "section filter", "footer", "trailer" or "metadata".
	Part string
	// Offset is the part's place in the blob in bytes.
	Offset int64
	// Reason describes the damage.
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("segment is damaged: %s at offset %d: %s", e.Part, e.Offset, e.Reason)
}

// IsDamage reports whether an error is a [*CorruptError].
func IsDamage(err error) bool {
	var corrupt *CorruptError
	return errors.As(err, &corrupt)
}

// ReadTwice calls read, and once more if that finds damage: a network may have changed the bytes of one response.
func ReadTwice(ctx context.Context, read func() error) error {
	err := read()
	if IsDamage(err) && ctx.Err() == nil {
		err = read()
	}
	return err
}
