package wal

import (
	"errors"
	"maps"
	"strings"
)

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

// undecidedLost reports whether positions are lost and an earlier Open left the decision to a later one.
func (p Positions) undecidedLost() bool {
	v := p[lostInput]
	return len(v) == 1 && LostPositions(v[0]) == Undecided
}

// applyLost applies the policy for lost positions and stores it as a position.
func (p Positions) applyLost(policy LostPositions) error {
	switch policy {
	case Stop:
		return ErrLostPositions
	case Skip:
		maps.DeleteFunc(p, func(input string, _ []byte) bool { return !strings.HasPrefix(input, KeyPrefix) })
	}
	p[lostInput] = []byte{byte(policy)}
	return nil
}

// lost returns the policy that was applied when positions were lost; Undecided also if none are lost.
func (p Positions) lost() LostPositions {
	if v := p[lostInput]; len(v) == 1 && v[0] <= byte(Stop) {
		return LostPositions(v[0])
	}
	return Undecided
}

// RestoredPosition returns the position that must be appended when positions are no longer lost.
func RestoredPosition() Position { return Position{Input: lostInput} }
