package push

import (
	"fmt"

	//nolint:depguard // what senders compressed has to be taken apart here, not in segments
	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/encoding/protowire"

	"logstow/input"
	"logstow/input/httpserver"
)

// The fields of the messages:
//
//	PushRequest { repeated Stream streams = 1 }
//	Stream { string labels = 1; repeated Entry entries = 2 }
//	Entry { Timestamp timestamp = 1; string line = 2; repeated LabelPair structuredMetadata = 3 }
//	Timestamp { int64 seconds = 1; int32 nanos = 2 }
//	LabelPair { string name = 1; string value = 2 }

// maxRatio is above the maximum compression ratio of snappy, in which a copy of 64 bytes takes 3 bytes.
const maxRatio = 22

// uncompress decompresses a snappy block.
func uncompress(body []byte, limit int, lease *httpserver.Lease) ([]byte, error) {
	size, err := snappy.DecodedLen(body)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: snappy: %w", httpserver.ErrBody, err)
	case size > limit:
		return nil, fmt.Errorf("%w: a request body may have %d bytes", input.ErrTooLarge, limit)
	case size > maxRatio*len(body):
		return nil, fmt.Errorf("%w: snappy: %d bytes cannot hold %d", httpserver.ErrBody, len(body), size)
	}
	if err := lease.Take(int64(size)); err != nil {
		return nil, err
	}
	out, err := snappy.Decode(make([]byte, size), body)
	if err != nil {
		return nil, fmt.Errorf("%w: snappy: %w", httpserver.ErrBody, err)
	}
	return out, nil
}

// each calls yield with the number, the varint or the bytes of each field of a message.
func each(message []byte, yield func(number protowire.Number, varint uint64, bytes []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return fmt.Errorf("%w: protobuf: %w", httpserver.ErrBody, protowire.ParseError(n))
		}
		message = message[n:]
		var varint uint64
		var bytes []byte
		switch kind {
		case protowire.VarintType:
			varint, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			bytes, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return fmt.Errorf("%w: protobuf: %w", httpserver.ErrBody, protowire.ParseError(n))
		}
		message = message[n:]
		if err := yield(number, varint, bytes); err != nil {
			return err
		}
	}
	return nil
}

// protobuf collects the entries of a PushRequest.
func (c *collector) protobuf(request []byte) error {
	return each(request, func(number protowire.Number, _ uint64, stream []byte) error {
		if number != 1 {
			return nil
		}
		return c.protobufStream(stream)
	})
}

func (c *collector) protobufStream(message []byte) error {
	var text []byte
	entries := 0
	if err := each(message, func(number protowire.Number, _ uint64, bytes []byte) error {
		switch number {
		case 1:
			text = bytes
		case 2:
			entries++
		}
		return nil
	}); err != nil {
		return err
	}
	if err := c.charge(text); err != nil {
		return err
	}
	s, err := c.parseStream(string(text))
	if err != nil || entries == 0 {
		return err
	}
	if err := c.expect(&s, entries); err != nil {
		return err
	}
	return each(message, func(number protowire.Number, _ uint64, bytes []byte) error {
		if number != 2 {
			return nil
		}
		return c.protobufEntry(&s, bytes)
	})
}

// parseStream makes a stream of labels as text.
func (c *collector) parseStream(text string) (stream, error) {
	labels, err := parseLabels(text)
	if err != nil {
		return stream{invalid: err.Error()}, nil //nolint:nilerr // its entries are rejected, not the request
	}
	return c.stream(labels)
}

func (c *collector) protobufEntry(s *stream, message []byte) error {
	var seconds, nanos int64
	var line []byte
	c.metadata = c.metadata[:0]
	err := each(message, func(number protowire.Number, _ uint64, bytes []byte) error {
		switch number {
		case 1:
			return each(bytes, func(number protowire.Number, varint uint64, _ []byte) error {
				switch number {
				case 1:
					seconds = int64(varint) //nolint:gosec // as protobuf encodes them
				case 2:
					nanos = int64(int32(varint)) //nolint:gosec // as protobuf encodes them
				}
				return nil
			})
		case 2:
			line = bytes
		case 3:
			if err := c.lease.Take(labelCost + int64(len(bytes))); err != nil {
				return err
			}
			var l label
			if err := each(bytes, func(number protowire.Number, _ uint64, bytes []byte) error {
				switch number {
				case 1:
					l.name = string(bytes)
				case 2:
					l.value = string(bytes)
				}
				return nil
			}); err != nil {
				return err
			}
			c.metadata = append(c.metadata, l)
		}
		return nil
	})
	if err != nil {
		return err
	}
	const most = 1<<63/1_000_000_000 - 1
	if seconds > most || seconds < -most {
		c.reject(fmt.Sprintf("the timestamp %d s is out of range", seconds))
		return nil
	}
	return c.entry(s, seconds*1_000_000_000+nanos, line)
}
