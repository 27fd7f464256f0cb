package otlp

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/input/listen"
	"logstow/input/protobuf"
	"logstow/internal/limited"
	"logstow/message/parse"
)

// MaxStored is the maximum size in bytes of the records of one resource in a stored request.
const MaxStored = 64 << 20

// maxStoredServices is the maximum number of services in stored requests.
const maxStoredServices = 100_000

// Stored reads requests that a program stored, such as the azureblob exporter of the Collector. Not safe for concurrent use.
type Stored struct {
	handler *Handler
	memory  *listen.Budget
	// Rejected counts records that are nested too deep.
	Rejected int64
}

// NewStored makes a Stored. The options must have their defaults.
func NewStored(opts input.Options) *Stored {
	if opts.Recognize.Parser == nil {
		opts.Recognize.Parser = parse.Auto()
	}
	intake := &httpserver.Intake{IntakeOptions: httpserver.IntakeOptions{Options: opts, ServiceFromResource: true}, Services: input.NewServices(maxStoredServices, opts.Log)}
	return &Stored{handler: &Handler{Intake: intake}, memory: httpserver.NewMemory(16*MaxStored, nil)}
}

// Read calls emit with the events of each resource, which are valid until it returns, and their service; "" is that of a resource without
// a name. The text is requests in protobuf, or in JSON one after the other. It holds one resource at a time. A text that cannot be read to
// its end is an error behind the events before; errors of emit are returned as they are.
func (s *Stored) Read(r io.Reader, emit func(service string, events []input.Event) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	start, err := in.Peek(1)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	case start[0] == '{':
		return s.readJSON(in, emit)
	}
	return s.readProto(in, emit)
}

// request emits the events of a request in protobuf.
func (s *Stored) request(request []byte, lease *httpserver.Lease, emit func(service string, events []input.Event) error) error {
	c, err := s.handler.collect(request, lease)
	if err != nil {
		return err
	}
	s.Rejected += c.rejected
	for _, b := range c.batches.All() {
		if err := emit(b.Service, b.Events); err != nil {
			return emitError{err}
		}
	}
	return nil
}

// emitError is an error of emit.
type emitError struct{ error }

func (e emitError) Unwrap() error { return e.error }

// IsEmitError reports whether an error of [Stored.Read] is one of emit.
func IsEmitError(err error) bool {
	var of emitError
	return errors.As(err, &of)
}

// readProto reads the fields of requests one by one: those of consecutive requests are those of one.
func (s *Stored) readProto(in *bufio.Reader, emit func(service string, events []input.Event) error) error {
	for {
		tag, err := binary.ReadUvarint(in)
		if errors.Is(err, io.EOF) && tag == 0 {
			return nil
		}
		if err != nil {
			return damaged(err)
		}
		if tag&7 != protobuf.Text {
			return damaged(fmt.Errorf("field %d of wire type %d is not of a request", tag>>3, tag&7))
		}
		size, err := binary.ReadUvarint(in)
		if err != nil {
			return damaged(err)
		}
		if size > MaxStored {
			return damaged(fmt.Errorf("a field of %d bytes, the limit is %d", size, MaxStored))
		}
		request := binary.AppendUvarint(binary.AppendUvarint(nil, tag), size)
		head := len(request)
		limited := &io.LimitedReader{R: in, N: int64(size)}
		body, err := io.ReadAll(limited) // memory grows with what there is
		if err == nil && uint64(len(body)) < size {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return damaged(err)
		}
		if tag>>3 != 1 {
			continue
		}
		request = append(request[:head], body...)
		lease := httpserver.NewLease(s.memory)
		err = s.request(request, lease, emit)
		lease.Release()
		if err != nil {
			return err
		}
	}
}

// damaged is the error of a text that cannot be read to its end.
func damaged(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("read OTLP: the text ends in the middle of a request: %w", io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("read OTLP: %w", err)
}

var errTooLong = fmt.Errorf("a resource of more than %d bytes", MaxStored)

// readJSON reads requests in JSON, resource by resource.
func (s *Stored) readJSON(r io.Reader, emit func(service string, events []input.Event) error) error {
	text := &limited.Reader{From: r, Err: errTooLong}
	in := json.NewDecoder(text)
	for {
		text.Left = MaxStored
		start, err := in.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && start != json.Delim('{') {
			err = fmt.Errorf("%v is no request", start)
		}
		if err != nil {
			return damaged(err)
		}
		for in.More() {
			if err := s.member(in, text, emit); err != nil {
				return err
			}
		}
		if _, err := in.Token(); err != nil {
			return damaged(err)
		}
	}
}

// member reads a member of a request.
func (s *Stored) member(in *json.Decoder, text *limited.Reader, emit func(service string, events []input.Event) error) error {
	name, err := in.Token()
	if err != nil {
		return damaged(err)
	}
	var value json.RawMessage
	if name != "resourceLogs" {
		text.Left = MaxStored
		if err := in.Decode(&value); err != nil {
			return damaged(err)
		}
		return nil
	}
	start, err := in.Token()
	if err == nil && start != json.Delim('[') {
		err = fmt.Errorf("resourceLogs is %v, want an array", start)
	}
	if err != nil {
		return damaged(err)
	}
	for in.More() {
		text.Left = MaxStored
		if err := in.Decode(&value); err != nil {
			return damaged(err)
		}
		lease := httpserver.NewLease(s.memory)
		request, err := fromJSON(fmt.Appendf(nil, `{"resourceLogs":[%s]}`, value), lease)
		if err == nil {
			err = s.request(request, lease, emit)
		}
		lease.Release()
		if err != nil {
			return err
		}
	}
	if _, err := in.Token(); err != nil {
		return damaged(err)
	}
	return nil
}
