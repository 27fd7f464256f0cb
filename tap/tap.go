// Package tap shows the records that pass through a running shipper, over a Unix socket in its
// buffer's directory, to its user and root.
//
// # Cost
//
// Observing must not slow the shipper. Without a client it costs one atomic load per record. With
// clients, each record is copied into a memory buffer per client. This never blocks: a record is
// skipped and counted if the buffer is full, or if copying has used up its time budget. Filters and
// output are the client's work. The budget grows up to a limit, also without a client, so that the
// first records of a shipper with little traffic are not skipped.
package tap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"logstow/input/listen"
	"logstow/record"
)

const (
	// Socket is the name of the socket in a buffer's directory.
	Socket = "tap.sock"
	// MaxClients is the maximum number of clients at a time.
	MaxClients = 4
	// MaxMessage is the length in bytes to which a message is truncated.
	MaxMessage = 64 << 10

	// cpuDivisor and wallDivisor determine the time budget of observing: 1/cpuDivisor (2%) of the
	// process's CPU time, or 1/wallDivisor (0.1%) of the elapsed time if that is more.
	cpuDivisor, wallDivisor = 50, 1000
	// interval is how often the budget is increased and the buffers of clients are sent.
	interval = 20 * time.Millisecond
	// maxBudget limits the budget.
	maxBudget = 5 * time.Millisecond
	// maxCharge limits the measured time that one record is charged: anything longer was not spent
	// in this process.
	maxCharge = 50 * time.Microsecond
	// recordCost and bytesCost estimate the time to send a record: recordCost, and bytesCost for
	// every 16 bytes.
	recordCost, bytesCost = 50 * time.Nanosecond, 2 * time.Nanosecond
	// maxPending is the size in bytes of a client's buffer.
	maxPending = 512 << 10
	// writeTimeout limits one write to a client.
	writeTimeout = time.Minute
	// endTimeout limits the last write to a client after the shipper has ended.
	endTimeout = time.Second
)

// Record is a record that passes through the shipper.
type Record struct {
	record.Record
	Service string
	// Instance is that of the record if it is not the shipper's, otherwise "".
	Instance string
	// Parser is the parser of the message's fields, in the form that [parse.CompileStored] reads.
	Parser string
	// Size is the length in bytes of the message before its truncation to [MaxMessage].
	Size int
	// Redacted are the kinds of secrets that were redacted. Dropped is the reason why the record is
	// dropped; "" means that it is kept.
	Redacted []string
	Dropped  string
}

// Tap passes records to clients. It is safe for concurrent use.
type Tap struct {
	log      *slog.Logger
	instance string
	// clients is nil if there are none, so that a record then costs one atomic load.
	clients atomic.Pointer[[]*client]
	// budget is the time that observing may take, in nanoseconds; skipped counts the records that
	// were skipped because it was used up.
	budget  atomic.Int64
	skipped atomic.Uint64

	mu sync.Mutex
	// granted is when the budget was last increased, cpuUsed the process's CPU time at that moment.
	granted time.Time
	cpuUsed time.Duration
}

// client is a connection.
type client struct {
	conn net.Conn

	mu sync.Mutex
	// pending holds the frames to send. sent holds the frames sent last; its memory is reused.
	pending, sent []byte
	// skipped counts the records that did not fit into pending, reported the skipped records that
	// the client was told of. skippedBefore was Tap.skipped when the client connected.
	skipped, reported, skippedBefore uint64
}

// New returns a Tap of the shipper with an instance ID.
func New(instance string, log *slog.Logger) *Tap { return &Tap{instance: instance, log: log} }

// Observer returns the [process.Observer] for an input whose messages have a parser, see
// [Record.Parser].
func (t *Tap) Observer(parser string) *Observer { return &Observer{tap: t, parser: parser} }

// Observer passes the records of an input to a Tap. It is safe for concurrent use.
type Observer struct {
	tap              *Tap
	parser, instance string
}

// Of returns an Observer of the records of another instance.
func (o *Observer) Of(instance string) *Observer { return &Observer{o.tap, o.parser, instance} }

// Enabled implements [process.Observer].
func (o *Observer) Enabled() bool { return o.tap.enabled() }

// Observe implements [process.Observer].
func (o *Observer) Observe(service string, r *record.Record, redacted []string, dropped string) {
	o.tap.observe(&Record{Record: *r, Service: service, Instance: o.instance, Parser: o.parser, Redacted: redacted, Dropped: dropped})
}

// enabled reports whether the next record is to be observed. If there are clients but no budget, it
// counts the record as skipped.
func (t *Tap) enabled() bool {
	if t.clients.Load() == nil {
		return false
	}
	if t.budget.Load() > 0 {
		return true
	}
	t.skipped.Add(1)
	return false
}

// observe passes a record to all clients. It does not retain the record.
func (t *Tap) observe(r *Record) {
	start := time.Now()
	clients := t.clients.Load()
	if clients == nil {
		return
	}
	r.Size = len(r.Message)
	r.Message = r.Message[:min(r.Size, MaxMessage)]
	for _, c := range *clients {
		c.add(r)
	}
	sending := time.Duration(len(*clients)) * (recordCost + bytesCost*time.Duration((len(r.Attributes)+len(r.Message))/16))
	t.budget.Add(-int64(min(time.Since(start), maxCharge) + sending))
}

// add appends a record to pending if it fits.
func (c *client) add(r *Record) {
	c.mu.Lock() // held only while bytes are copied
	defer c.mu.Unlock()
	if len(c.pending)+len(r.Attributes)+len(r.Message) > maxPending {
		c.skipped++
		return
	}
	c.pending = appendRecord(c.pending, r)
}

// Listen listens in a buffer's directory, so that clients can connect. The caller must call serve, which serves the clients until
// its ctx ends and then closes the socket.
func (t *Tap) Listen(ctx context.Context, dir string) (serve func(ctx context.Context) error, err error) {
	path, release, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	l, err := listen.Stream(ctx, "unix", path, nil)
	if err == nil {
		if err = os.Chmod(path, 0o600); err != nil {
			err = errors.Join(err, l.Close())
		}
	}
	if err != nil {
		release()
		return nil, err
	}
	return func(ctx context.Context) error {
		defer release()
		return listen.Serve(ctx, l, 2*MaxClients, t.serve) // accepts more than MaxClients to tell them that too many are connected
	}, nil
}

// serve sends records to a client until it disconnects or ctx ends. When ctx ends, it first sends what
// is pending.
func (t *Tap) serve(ctx context.Context, conn net.Conn) {
	c := &client{conn: conn, skippedBefore: t.skipped.Load(), pending: appendText([]byte(magic), t.instance)}
	if !t.add(c) {
		_ = c.send(ctx, []byte(full))
		return
	}
	defer t.remove(c)
	defer context.AfterFunc(ctx, c.limitEnd)() // a client that does not read must not delay the shipper's end
	disconnected := make(chan struct{})
	go func() {
		defer close(disconnected)
		_, _ = io.Copy(io.Discard, conn) // a client sends nothing, so this ends when it disconnects
	}()
	defer func() { _ = conn.Close(); <-disconnected }()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			c.flush(ctx, t.skipped.Load(), true)
			return
		case <-disconnected:
			return
		case <-ticker.C:
			t.mu.Lock()
			t.grant()
			t.mu.Unlock()
			if !c.flush(ctx, t.skipped.Load(), false) {
				return
			}
		}
	}
}

// flush sends what is pending; skipped is the current Tap.skipped. If end is set, it sends the end
// frame too. It reports whether the write succeeded.
func (c *client) flush(ctx context.Context, skipped uint64, end bool) bool {
	c.mu.Lock()
	if all := c.skipped + skipped - c.skippedBefore; all > c.reported {
		c.pending = appendSkipped(c.pending, all-c.reported)
		c.reported = all
	}
	if end {
		c.pending = appendEnd(c.pending)
	}
	c.pending, c.sent = c.sent[:0], c.pending
	c.mu.Unlock()
	return len(c.sent) == 0 || c.send(ctx, c.sent)
}

func (c *client) send(ctx context.Context, b []byte) bool {
	_ = c.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	if ctx.Err() != nil {
		c.limitEnd()
	}
	_, err := c.conn.Write(b)
	return err == nil
}

// limitEnd limits the current write, after the shipper has ended.
func (c *client) limitEnd() { _ = c.conn.SetWriteDeadline(time.Now().Add(endTimeout)) }

// add adds a client and reports true, unless MaxClients are connected.
func (t *Tap) add(c *client) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []*client
	if current := t.clients.Load(); current != nil {
		all = slices.Clone(*current)
	}
	if len(all) == MaxClients {
		return false
	}
	if len(all) == 0 {
		t.grant() // grants the time since the last client left
	}
	all = append(all, c)
	t.clients.Store(&all)
	t.log.Info("tap connected", "connections", len(all))
	return true
}

func (t *Tap) remove(c *client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := slices.DeleteFunc(slices.Clone(*t.clients.Load()), func(other *client) bool { return other == c })
	if len(all) == 0 {
		t.clients.Store(nil)
	} else {
		t.clients.Store(&all)
	}
	t.log.Info("tap disconnected", "connections", len(all))
}

// grant increases the budget for the time since its last call; the first call sets it to maxBudget.
// t.mu must be held.
func (t *Tap) grant() {
	now, used := time.Now(), cpuTime()
	more := max((used-t.cpuUsed)/cpuDivisor, now.Sub(t.granted)/wallDivisor)
	t.granted, t.cpuUsed = now, used
	// The budget may shrink between Load and Add but not grow, so it stays within the limit.
	t.budget.Add(min(int64(more), int64(maxBudget)-t.budget.Load()))
}

// socketPath returns a path of the socket in a directory that is short enough for a socket address.
// The path is valid until release is called.
func socketPath(dir string) (path string, release func(), err error) {
	const maxPath = 100 // addresses are limited to about 108 bytes
	if path = filepath.Join(dir, Socket); len(path) <= maxPath {
		return path, func() {}, nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	path = fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), Socket)
	return path, func() { _ = f.Close() }, nil
}
