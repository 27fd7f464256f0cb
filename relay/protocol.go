// Package relay sends segments to other shippers, which pool those of many senders and store them.
//
// A segment is sent with
//
//	PUT /logstow/v1/segments/RELAY/SENDER/SEQ
//
// RELAY is the ID of the buffer of the relay (see [logstow/buffer.Buffer.ID]), SENDER that of the buffer of the sender, SEQ the Seq of the
// segment. The response is 200 once the records are durable in the buffer of the relay. Exactly once follows from three rules:
//
//   - A sender records RELAY, SENDER and SEQ, durably, before it sends a segment, and repeats it only with these, until it has the response.
//   - A relay records SEQ in the same write as the records, and does not append a segment again whose SEQ it has.
//   - A request has the lowest Seq that its sender may still send ([FloorHeader]); lower ones are forgotten, and refused with 409 and [RefusedHeader].
//
// So nothing expires by time. Senders learn of watches (package [logstow/watch]) with
//
//	POST /logstow/v1/watches/RELAY
//
// which has a [watch.Poll]. The response is a [watch.Answer], and comes when the watches change, or after half a minute.
//
// A relay at another address is recognized by its ID: GET /logstow/v1/relay returns it, and a segment for
// another RELAY is refused with 421.
package relay

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	// InfoPath is the path of the [Info] of a relay.
	InfoPath = "/logstow/v1/relay"
	// ServiceParameter is a parameter of InfoPath: the response is 403 if the sender may not send segments of the service.
	ServiceParameter = "service"
	// ClassParameter is the class of these segments.
	ClassParameter = "class"
	// SegmentsPath begins the paths of segments.
	SegmentsPath = "/logstow/v1/segments/"
	// WatchesPath begins the paths of polls for watches.
	WatchesPath = "/logstow/v1/watches/"
	// MaxPoll is the maximum size of a poll in bytes.
	MaxPoll = 1 << 20
	// FloorHeader is the header with the lowest Seq that the sender may still send.
	FloorHeader = "Logstow-Floor"
	// RefusedHeader is set in a response if nothing of the segment was appended and the sender may send it to another relay.
	RefusedHeader = "Logstow-Refused"
	// Version is the version of the protocol.
	Version = 1
	// MaxSegment is the maximum size of a segment in bytes.
	MaxSegment = 40 << 20
)

// Info describes a relay.
type Info struct {
	// ID is the ID of its buffer.
	ID string `json:"id"`
	// Version is the version of the protocol.
	Version int `json:"version"`
	// Instance is the instance of the relay.
	Instance string `json:"instance"`
}

// Name identifies a segment on its way to a relay.
type Name struct {
	// Relay is the ID of the relay's buffer. Sender is the ID of the sender's buffer, for a segment that is sent anew, whose Seq
	// is below the floor, with a suffix.
	Relay, Sender string
	Seq           int64
}

// String returns the name as it ends the path.
func (n Name) String() string { return n.Relay + "/" + n.Sender + "/" + strconv.FormatInt(n.Seq, 10) }

// maxID is the maximum length of an ID with a suffix.
const maxID = 64

// ErrName is the error of [ParseName].
var ErrName = errors.New("not the name of a segment for a relay")

// ParseName parses a name.
func ParseName(s string) (n Name, err error) {
	parts := strings.Split(s, "/")
	if len(parts) != 3 || !validID(parts[0]) || !validID(parts[1]) {
		return Name{}, fmt.Errorf("%w: %.200q", ErrName, s)
	}
	n = Name{Relay: parts[0], Sender: parts[1]}
	if n.Seq, err = strconv.ParseInt(parts[2], 10, 64); err != nil || n.Seq < 0 || strconv.FormatInt(n.Seq, 10) != parts[2] {
		return Name{}, fmt.Errorf("%w: %.200q", ErrName, s)
	}
	return n, nil
}

func validID(s string) bool {
	if len(s) < 8 || len(s) > maxID {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && c != '-' {
			return false
		}
	}
	return true
}
