package input

import "fmt"

// TimeFrom decides which time a received record gets if both its sender and its line have one.
type TimeFrom uint8

const (
	// TimeDefault is the input's default, which is TimeAuto unless it documents another.
	TimeDefault TimeFrom = iota
	// TimeAuto is the line's time, unless it is later than the sender's: many senders send the time
	// at which they read the line.
	TimeAuto
	// TimeLine is the line's time.
	TimeLine
	// TimeProtocol is the sender's time.
	TimeProtocol
	// timeRuntime is the line's time, and the other one is that at which a container runtime read the line, to which
	// the line's time is compared.
	timeRuntime
)

// ParseTimeFrom parses auto, line or protocol.
func ParseTimeFrom(text string) (TimeFrom, error) {
	switch text {
	case "auto":
		return TimeAuto, nil
	case "line":
		return TimeLine, nil
	case "protocol":
		return TimeProtocol, nil
	}
	return TimeDefault, fmt.Errorf("%q: want auto, line or protocol", text)
}
