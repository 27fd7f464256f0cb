// Package syslog receives log records from syslog senders: RFC 5424 and RFC 3164 over UDP, TCP (RFC
// 6587), TLS (RFC 5425) and Unix sockets.
//
// # Content of a record
//
// Time and level are taken from the header; a time without a zone is in Options.Recognize.Zone. The source is
// HOST/APP/PROCID without unknown parts; the sender's address is the default host of a network message. The
// message is the text, byte for byte. In RFC 5424 the message ID and structured data are attributes if there is a text; without one, or if
// the data are malformed or exceed the limits of attributes, they are the message or its beginning. Structured data that only describe the
// transport (timeQuality, meta) and the byte order mark before the text of RFC 5424 are removed. A message without a readable header, with
// a rejected timestamp, or with nothing after its header is kept as received. [Spec.Raw] keeps all messages as received; otherwise
// facility, exact severity and the original form of the time are lost.
package syslog

import (
	"context"

	"logstow/input"
	"logstow/input/socket"
)

// Spec configures the input.
type Spec struct {
	// Raw keeps messages complete, including the header.
	Raw bool
}

// Kind implements [input.Spec].
func (s *Spec) Kind() input.Kind {
	return s.Protocol().Kind("`ADDRESS`: receive syslog messages, such as udp://:5140, tcp://:5140 or unix:///run/x.sock; repeatable")
}

// Keys implements [input.Spec].
func (s *Spec) Keys() []input.Key { return []input.Key{{Name: "raw", To: &s.Raw}} }

// Open implements [input.Spec].
func (s *Spec) Open(ctx context.Context, with input.Opening) (input.Reader, error) {
	return socket.New(ctx, socket.Options{Options: with.Options, Endpoint: with.Endpoint}, s.Protocol())
}

// Protocol describes syslog.
func (s *Spec) Protocol() socket.Protocol {
	return socket.Protocol{
		Name: "syslog", Port: 514, Networks: []string{"udp", "tcp", "unix", "unixgram"},
		Framing: framing, Attributes: !s.Raw,
		Parser: func(opts *socket.Options, local bool) socket.Parser {
			return newParser(s.Raw, opts.Recognize, local)
		},
	}
}

// framing returns the framing of RFC 6587, which also describes senders that end messages with a NUL, as the C library does on
// Unix stream sockets.
func framing(bool) socket.Framing { return socket.Framing{Ends: "\n\x00", OctetCounts: true} }
