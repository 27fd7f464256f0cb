// Package gelf receives log records in the Graylog Extended Log Format, version 1.1 and before: over
// UDP in datagrams and chunks of datagrams, compressed with zlib or gzip or not, and over TCP, where
// a NUL ends a message, or a newline that is not inside of a document.
//
// # Content of a record
//
// The message is full_message or, without it, short_message. All other members of the document are attributes, additional fields
// without their underscore; a timestamp only if it is not the time of the record. A document that is truncated or no JSON object, that
// has no message, or whose attributes exceed their limits or the free memory, is the message as received, decompressed, without one
// newline or NUL at its end. The time is its timestamp, exact to the nanosecond. The level is derived from the severity. The source is
// HOST/FACILITY, without unknown parts; the sender's address is the default host, and in a message of Docker's driver the container's
// name replaces the facility. The service is the first of the additional fields _service_name, _service and _app that is a text.
//
// # Loss
//
// A GELF sender gets no acknowledgement. In addition to the losses that package socket describes, a chunked
// message is dropped and counted if not all of its chunks arrive within five seconds, or if newer messages need
// its memory. A datagram that cannot be decompressed is dropped and counted too.
package gelf

import (
	"context"

	"logstow/input"
	"logstow/input/listen"
	"logstow/input/socket"
	"logstow/record/recognize"
)

// Spec configures the input.
type Spec struct{}

// Kind implements [input.Spec].
func (Spec) Kind() input.Kind {
	kind := Protocol(nil).Kind("`ADDRESS`: receive GELF messages, such as udp://:12201 or tcp://:12201; repeatable")
	kind.ServiceFromRecords = true
	return kind
}

// Keys implements [input.Spec].
func (Spec) Keys() []input.Key { return nil }

// Open implements [input.Spec].
func (Spec) Open(ctx context.Context, with input.Opening) (input.Reader, error) {
	return socket.New(ctx, socket.Options{Options: with.Options, Endpoint: with.Endpoint}, Protocol(input.NewServices(0, with.Log)))
}

// Protocol describes GELF. services are those that senders may name.
func Protocol(services *input.Services) socket.Protocol {
	return socket.Protocol{
		Name: "gelf", Port: 12201, Networks: []string{"udp", "tcp"}, Attributes: true,
		Framing: func(bool) socket.Framing { return socket.Framing{Ends: "\x00", Objects: true} },
		Parser: func(opts *socket.Options, _ bool) socket.Parser {
			return &parser{services: services, guard: recognize.New(opts.Recognize)}
		},
		Unpacker: func(opts *socket.Options, budget *listen.Budget, incomplete func(messages int)) socket.Unpacker {
			return newUnpacker(opts, budget, incomplete)
		},
	}
}
