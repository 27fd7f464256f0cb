package journald

import (
	"errors"
	"fmt"

	"logstow/buffer"
)

// positionVersion is the first byte of a position; the cursor follows.
const positionVersion = 1

// input returns the name under which the buffer keeps the position.
func (o *Options) input() string { return "journald:" + o.Name }

func (o *Options) position(cursor string) buffer.Position {
	return buffer.Position{Input: o.input(), Value: append([]byte{positionVersion}, cursor...)}
}

// cursor returns the cursor in the stored position, or "".
func (o *Options) cursor() (string, error) {
	v, ok := o.Sink.Position(o.input())
	if !ok {
		return "", nil
	}
	if len(v) < 2 || v[0] != positionVersion {
		return "", fmt.Errorf("position %s: unknown version", o.input())
	}
	for _, c := range v[1:] {
		if c <= ' ' || c >= 0x7f {
			return "", fmt.Errorf("position %s: %w", o.input(), errCursor)
		}
	}
	return string(v[1:]), nil
}

var errCursor = errors.New("not a journal cursor")
