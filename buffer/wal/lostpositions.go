package wal

import "errors"

// LostPositions is what is done where positions are lost: then those that are left, if
// any, may be older than the records.
type LostPositions uint8

// What is done with lost positions.
const (
	// Undecided leaves the decision to who opens the log next.
	Undecided LostPositions = iota
	// Reread goes on with the positions that there are: records may come twice.
	Reread
	// Skip forgets all positions: inputs go on at their ends, and records may be missing.
	Skip
	// Stop does not open the log.
	Stop
)

// String is the word that the command line and the configuration have for it.
func (p LostPositions) String() string {
	return [...]string{"undecided", "reread", "skip", "stop"}[p]
}

// ErrLostPositions says that positions are lost and the log was opened with [Stop].
var ErrLostPositions = errors.New("positions of the inputs are lost")

// lostInput is the input under which a log keeps that its positions were lost.
const lostInput = "lost-positions"

// decide does what is to be done with lost positions, and writes it down among them.
func (l *Log) decideLostPositions(report Report) error {
	if report.LostPositions {
		l.positions[lostInput] = []byte{byte(Undecided)}
	}
	if v := l.positions[lostInput]; len(v) != 1 || LostPositions(v[0]) != Undecided {
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

// LostPositions is what was decided when positions were lost, Undecided also where they were not.
func (l *Log) LostPositions() LostPositions {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v := l.positions[lostInput]; len(v) == 1 && v[0] <= byte(Stop) {
		return LostPositions(v[0])
	}
	return Undecided
}

// Restored is the position that, appended, says that positions are not lost any more.
func RestoredPosition() Position { return Position{Input: lostInput} }
