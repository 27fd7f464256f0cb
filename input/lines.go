package input

import (
	"fmt"
	"time"

	"logstow/input/container"
	"logstow/input/multiline"
)

const (
	// DefaultPartialTimeout is how long a partial line waits for the next part.
	DefaultPartialTimeout = 5 * time.Second
	// maxWrappedLine is the minimum length limit in bytes of a container runtime's line, for any record
	// limit: the wrapped text has up to 16 KiB before it is escaped.
	maxWrappedLine = 256 << 10
)

// Lines configures how lines become messages. The zero value removes the wrapping of container
// runtimes where detected, and joins no lines.
type Lines struct {
	// Format is how a container runtime wraps the lines. [container.Auto] detects it from the first
	// lines of each file.
	Format container.Format
	// PartialTimeout is how long a line that a container runtime split waits for its next part; 0
	// is [DefaultPartialTimeout].
	PartialTimeout time.Duration
	// Multiline configures which lines are joined. MaxBytes is set to the record limit.
	Multiline multiline.Options
}

func (l Lines) withDefaults(maxRecord int) (Lines, error) {
	if l.PartialTimeout < 0 {
		return l, fmt.Errorf("timeout of partial lines %v: it must not be negative", l.PartialTimeout)
	}
	if l.PartialTimeout == 0 {
		l.PartialTimeout = DefaultPartialTimeout
	}
	var err error
	l.Multiline, err = l.Multiline.WithDefaults()
	l.Multiline.MaxBytes = maxRecord
	return l, err
}

// maxLine returns the length in bytes past which a line is truncated before it is processed.
func (l Lines) maxLine(maxRecord int) int {
	if l.Format == container.None {
		return maxRecord
	}
	return max(maxRecord, maxWrappedLine)
}
