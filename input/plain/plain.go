// Package plain receives plain text over Unix sockets, UDP, TCP and TLS: each datagram, and each line of a stream, is a record.
//
// # Content of a record
//
// The message is the datagram or line, byte for byte, without one newline or, of a datagram, NUL at its end. Time and level are
// recognized in it. The source is the sender's address, if it is not on a Unix socket.
package plain

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"

	"logstow/input"
	"logstow/input/socket"
)

// Spec configures the input.
type Spec struct {
	// Mode are the permissions of a Unix socket, octal; "" is [socket.DefaultMode].
	Mode string
}

// Kind implements [input.Spec].
func (s *Spec) Kind() input.Kind {
	return protocol().Kind("`ADDRESS`: receive plain text, a record in each datagram or line, such as unixgram:///run/x.sock or udp://:5170; repeatable")
}

// Keys implements [input.Spec].
func (s *Spec) Keys() []input.Key {
	return []input.Key{{Name: "mode", To: &s.Mode, Check: func(mode string) error {
		_, err := parseMode(mode)
		return err
	}}}
}

// parseMode returns 0, for the default, if the text is empty.
func parseMode(text string) (fs.FileMode, error) {
	if text == "" {
		return 0, nil
	}
	mode, err := strconv.ParseUint(text, 8, 9)
	if err != nil || mode == 0 {
		return 0, fmt.Errorf("%q: want octal permissions, such as 0660", text)
	}
	return fs.FileMode(mode), nil
}

// Open implements [input.Spec].
func (s *Spec) Open(ctx context.Context, with input.Opening) (input.Reader, error) {
	mode, err := parseMode(s.Mode)
	if err != nil {
		return nil, err
	}
	return socket.New(ctx, socket.Options{Options: with.Options, Endpoint: with.Endpoint, Mode: mode}, protocol())
}

func protocol() socket.Protocol {
	return socket.Protocol{
		Name: "plain", Port: 5170, Networks: []string{"unixgram", "unix", "udp", "tcp"},
		Framing: func(bool) socket.Framing { return socket.Framing{Ends: "\n"} },
		Parser:  func(*socket.Options, bool) socket.Parser { return parser{} },
	}
}

type parser struct{}

// Parse implements [socket.Parser].
func (parser) Parse(message []byte, sender string, _ int64, _ int) (string, input.Event) {
	return "", input.Event{Source: sender, Message: message}
}
