package input

import (
	"context"

	"logstow/buffer"
)

// Transient is the part of a [Sink] that keeps no positions, for records that are not stored: nothing is resumed. Embed it.
type Transient struct{}

// Position implements [Sink].
func (Transient) Position(string) ([]byte, bool) { return nil, false }

// Positions implements [Sink].
func (Transient) Positions(string) []buffer.Position { return nil }

// Synced implements [Sink].
func (Transient) Synced(context.Context, buffer.LSN) error { return nil }
