package wal

import "errors"

// LostPositions is the policy for lost positions: the remaining positions, if any, may be
// older than the records.
type LostPositions uint8

// The policies for lost positions.
const (
	// Undecided leaves the decision to the next Open.
	Undecided LostPositions = iota
	// Reread keeps the remaining positions: records may be stored twice.
	Reread
	// Skip deletes all positions: inputs continue at their ends, and records may be missing.
	Skip
	// Stop makes Open fail.
	Stop
)

// String is the policy's name in flags and configuration.
func (p LostPositions) String() string {
	return [...]string{"undecided", "reread", "skip", "stop"}[p]
}

// ErrLostPositions reports that positions are lost and the log was opened with [Stop].
var ErrLostPositions = errors.New("positions of the inputs are lost")

// lostInput is the name of the pseudo input whose position stores the policy that was applied.
const lostInput = "lost-positions"

// undecided reports whether positions are lost and an earlier Open left the decision.
func (l *Log) undecided() bool {
	v := l.positions[lostInput]
	return len(v) == 1 && LostPositions(v[0]) == Undecided
}

// decideLostPositions applies the policy if positions are lost, and stores it as a position.
func (l *Log) decideLostPositions(report Report) error {
	if !report.LostPositions {
		return nil
	}
	switch l.opts.OnLostPositions {
	case Stop:
		return ErrLostPositions
	case Skip:
		clear(l.positions)
	}
	l.positions[lostInput] = []byte{byte(l.opts.OnLostPositions)}
	return nil
}

// LostPositions returns the policy that was applied when positions were lost; Undecided also if
// none are lost.
func (l *Log) LostPositions() LostPositions {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v := l.positions[lostInput]; len(v) == 1 && v[0] <= byte(Stop) {
		return LostPositions(v[0])
	}
	return Undecided
}

// RestoredPosition returns the position to append when positions are no longer lost.
func RestoredPosition() Position { return Position{Input: lostInput} }
