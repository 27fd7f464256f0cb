package tap

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"logstow/internal/memo"
	"logstow/internal/wire"
	"logstow/record"
	"logstow/record/attributes"
)

// A client receives magic, the instance ID of the shipper, and then frames. A frame consists of the length of the rest in four
// bytes (big-endian), its kind in one byte, and its content. Numbers of unspecified length are unsigned varints; a text is its
// length and its bytes.
//
//	skipped  number of records
//	record   time (8 bytes), level (1 byte), service, instance, source, parser, dropped, number of kinds,
//	         kinds, attributes, length of the message, message
//	end      empty; the shipper has ended, and all records were sent
//
// If [MaxClients] are connected already, a client receives full and nothing else.
const (
	magic = "logstow tap 4\n"
	full  = "logstow tap -\n"

	frameRecord, frameSkipped, frameEnd = 1, 2, 3
	// maxFrame is the maximum length of a frame: of a message and all texts.
	maxFrame = MaxMessage + 64<<10 + attributes.MaxSize
	// maxKinds is the maximum number of kinds of secrets.
	maxKinds = 256
	// connectTimeout is how long a client waits for the shipper to respond. It may be short of CPU time.
	connectTimeout = 30 * time.Second
)

var (
	// ErrFull reports that [MaxClients] are connected.
	ErrFull = fmt.Errorf("%d taps are connected already", MaxClients) //nolint:gochecknoglobals // a sentinel

	errFrame = errors.New("malformed frame from the shipper") //nolint:gochecknoglobals // a sentinel
)

func appendRecord(b []byte, r *Record) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0, frameRecord)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Time))
	b = append(b, byte(r.Level))
	b = appendText(b, r.Service)
	b = appendText(b, r.Instance)
	b = appendText(b, r.Source)
	b = appendText(b, r.Parser)
	b = appendText(b, r.Dropped)
	kinds := r.Redacted[:min(len(r.Redacted), maxKinds)]
	b = binary.AppendUvarint(b, uint64(len(kinds)))
	for _, kind := range kinds {
		b = appendText(b, kind)
	}
	b = append(binary.AppendUvarint(b, uint64(len(r.Attributes))), r.Attributes...)
	b = binary.AppendUvarint(b, uint64(r.Size))
	b = append(b, r.Message...)
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

func appendSkipped(b []byte, n uint64) []byte {
	start := len(b)
	b = binary.AppendUvarint(append(b, 0, 0, 0, 0, frameSkipped), n)
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

func appendEnd(b []byte) []byte { return append(b, 0, 0, 0, 1, frameEnd) }

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// readText reads what appendText appended.
func readText(in *bufio.Reader) (string, error) {
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return "", err
	}
	if n > maxFrame {
		return "", errFrame
	}
	text := make([]byte, n)
	_, err = io.ReadFull(in, text)
	return string(text), err
}

// Client receives the records of a shipper. It is not safe for concurrent use.
type Client struct {
	conn  net.Conn
	in    *bufio.Reader
	frame []byte
	stop  func() bool
	// known holds the texts received, so that each is allocated once.
	known memo.Map[string, string]

	instance string
}

// Connect connects to the shipper that has a buffer's directory open. The caller must close the client;
// the end of ctx disconnects it. The error is [fs.ErrNotExist] or [syscall.ECONNREFUSED] if no shipper
// has the directory open, and [ErrFull] if too many clients are connected.
func Connect(ctx context.Context, dir string) (*Client, error) {
	path, release, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	defer release()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	c := &Client{conn: conn, in: bufio.NewReaderSize(conn, maxFrame), known: memo.Map[string, string]{Max: 1024}}
	head := make([]byte, len(magic))
	_ = conn.SetReadDeadline(time.Now().Add(connectTimeout))
	c.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	if _, err := io.ReadFull(c.in, head); err != nil {
		_ = c.Close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("the shipper does not respond: %w", err)
	}
	if string(head) == full {
		return nil, errors.Join(ErrFull, c.Close())
	}
	if string(head) != magic {
		return nil, errors.Join(fmt.Errorf("the shipper is of another version: it begins with %q", head), c.Close())
	}
	if c.instance, err = readText(c.in); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	_ = conn.SetReadDeadline(time.Time{})
	return c, nil
}

// Close disconnects.
func (c *Client) Close() error {
	c.stop()
	return c.conn.Close()
}

// Instance returns the instance ID of the shipper.
func (c *Client) Instance() string { return c.instance }

// Waits reports whether Next would have to wait for the shipper.
func (c *Client) Waits() bool { return c.in.Buffered() == 0 }

// Next waits for a record, or for a number of skipped records; then the record is nil. The record's
// attributes and message are valid until the next call. The error is [io.EOF] when the shipper has ended and all records
// were received, and [io.ErrUnexpectedEOF] when the connection ended before that.
func (c *Client) Next() (r *Record, skipped uint64, err error) {
	var head [4]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return nil, 0, unexpected(err)
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > maxFrame {
		return nil, 0, errFrame
	}
	if cap(c.frame) < int(n) {
		c.frame = make([]byte, n, max(n, 4<<10))
	}
	c.frame = c.frame[:n]
	if _, err := io.ReadFull(c.in, c.frame); err != nil {
		return nil, 0, unexpected(err)
	}
	d := decoder{wire.Reader{Rest: c.frame[1:]}, &c.known}
	switch c.frame[0] {
	case frameRecord:
		r = d.record()
	case frameSkipped:
		skipped = d.Uvarint()
	case frameEnd:
		return nil, 0, io.EOF
	default:
		return nil, 0, errFrame
	}
	if d.Bad {
		return nil, 0, errFrame
	}
	return r, skipped, nil
}

// unexpected returns [io.ErrUnexpectedEOF] if err is the end of a connection, otherwise err.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// decoder decodes the content of a frame.
type decoder struct {
	wire.Reader
	known *memo.Map[string, string]
}

func (d *decoder) record() *Record {
	r := &Record{}
	head := d.Bytes(9)
	if d.Bad {
		return nil
	}
	r.Time, r.Level = int64(binary.BigEndian.Uint64(head)), record.Level(head[8])
	d.Bad = r.Level > record.Fatal
	r.Service, r.Instance, r.Source, r.Parser, r.Dropped = d.text(), d.text(), d.text(), d.text(), d.text()
	kinds := d.Uvarint()
	if kinds > maxKinds {
		d.Bad = true
		return nil
	}
	for range kinds {
		r.Redacted = append(r.Redacted, d.text())
	}
	if attributes := d.Text(); len(attributes) > 0 {
		r.Attributes = attributes
	}
	r.Size = int(d.Uvarint())
	r.Message = d.Rest
	return r
}

// text reads a text. There are few different texts, so each is allocated once.
func (d *decoder) text() string { return memo.Text(d.known, d.Text(), memo.Same) }
