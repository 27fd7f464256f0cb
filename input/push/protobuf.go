package push

import (
	"errors"
	"fmt"

	//nolint:depguard // what senders compressed has to be taken apart here, not in segments
	"github.com/klauspost/compress/snappy"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/input/protobuf"
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

// protobuf collects the entries of a PushRequest.
func (c *collector) protobuf(request []byte) error {
	in := protobuf.Fields{Rest: request}
	for in.Next() {
		if in.Tag != 1<<3|protobuf.Text {
			continue
		}
		if err := c.protobufStream(in.Bytes); err != nil {
			return err
		}
	}
	return in.Err
}

func (c *collector) protobufStream(message []byte) error {
	var text []byte
	entries := 0
	head := protobuf.Fields{Rest: message}
	for head.Next() {
		switch head.Tag {
		case 1<<3 | protobuf.Text:
			text = head.Bytes
		case 2<<3 | protobuf.Text:
			entries++
		}
	}
	if head.Err != nil {
		return head.Err
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
	in := protobuf.Fields{Rest: message}
	for in.Next() {
		if in.Tag != 2<<3|protobuf.Text {
			continue
		}
		if err := c.protobufEntry(&s, in.Bytes); err != nil {
			return err
		}
	}
	return in.Err
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
	var when, line []byte
	c.metadata = c.metadata[:0]
	in := protobuf.Fields{Rest: message}
	for in.Next() {
		switch in.Tag {
		case 1<<3 | protobuf.Text:
			when = in.Bytes
		case 2<<3 | protobuf.Text:
			line = in.Bytes
		case 3<<3 | protobuf.Text:
			if err := c.lease.Take(labelCost + int64(len(in.Bytes))); err != nil {
				return err
			}
			name, value, err := protobuf.Pair(in.Bytes)
			if err != nil {
				return err
			}
			c.metadata = append(c.metadata, label{string(name), string(value)})
		}
	}
	seconds, nanos, err := protobufTime(when)
	if err = errors.Join(in.Err, err); err != nil {
		return err
	}
	const most = 1<<63/1_000_000_000 - 1
	if seconds > most || seconds < -most {
		c.reject(fmt.Sprintf("the timestamp %d s is out of range", seconds))
		return nil
	}
	return c.entry(s, seconds*1_000_000_000+nanos, line)
}

func protobufTime(message []byte) (seconds, nanos int64, err error) {
	in := protobuf.Fields{Rest: message}
	for in.Next() {
		switch in.Tag {
		case 1<<3 | protobuf.Varint:
			seconds = int64(in.Number) //nolint:gosec // as protobuf encodes them
		case 2<<3 | protobuf.Varint:
			nanos = int64(int32(in.Number)) //nolint:gosec // as protobuf encodes them
		}
	}
	return seconds, nanos, in.Err
}
