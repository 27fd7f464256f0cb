// Package tap shows the records that pass through a running shipper, over a Unix socket in its
// buffer's directory, to its user and root.
//
// # Cost
//
// Observing must not slow the shipper. Without a client it costs one atomic load per record. With
// clients, a record is copied into the memory of each, which never waits: a record is skipped, and
// counted, if that memory is full, or if copying has taken more than its share of time. Filters and
// output are the client's work. Time is saved up, also without a client, so that the first records of
// a shipper that does little are all seen.
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
	"syscall"
	"time"

	"logstow/input/listen"
	"logstow/record"
)

const (
	// Socket is the name of the socket in a buffer's directory.
	Socket = "tap.sock"
	// MaxClients is the maximum number of clients at a time.
	MaxClients = 4
	// MaxMessage is the length in bytes past which a message is truncated.
	MaxMessage = 64 << 10

	// share is the part of the process's CPU time that observing may take, as a divisor: 2%. If the
	// process uses little, it may take idleShare of the time of one core: 0.1%.
	share, idleShare = 50, 1000
	// interval is how often time is granted and clients are sent what waits for them.
	interval = 20 * time.Millisecond
	// maxGrant is the most time that is saved up.
	maxGrant = 5 * time.Millisecond
	// maxCharge is the most that one record is charged: more is the time of other processes.
	maxCharge = 50 * time.Microsecond
	// sendCost is the time that sending a record takes in addition to its bytes, and byteCost that of
	// 16 of them.
	sendCost, byteCost = 50 * time.Nanosecond, 2 * time.Nanosecond
	// maxWaiting is how many bytes wait for a client.
	maxWaiting = 512 << 10
	// writeTimeout is how long a client may take for what is sent at once.
	writeTimeout = time.Minute
	// endTimeout is how long it may take for the rest at the shipper's end.
	endTimeout = time.Second
)

// Record is a record as it passes.
type Record struct {
	record.Record
	Service string
	// Parser is that of the message's fields, as [parse.CompileStored] takes it.
	Parser string
	// Size is the length of the message, which is truncated past [MaxMessage].
	Size int
	// Redacted are the kinds of secrets that were redacted. Dropped is the reason why the record is
	// dropped; "" means that it is kept.
	Redacted []string
	Dropped  string
}

// Tap passes records to clients. Safe for concurrent use.
type Tap struct {
	log      *slog.Logger
	instance string
	// listening are the clients; nil without any, so that a record costs one load.
	listening atomic.Pointer[[]*client]
	// left is the time that may be spent, in nanoseconds; skipped counts the records for which there
	// was none.
	left    atomic.Int64
	skipped atomic.Uint64

	mu sync.Mutex
	// granted is until when time was granted, used the process's CPU time then.
	granted time.Time
	used    time.Duration
}

// client is a connection.
type client struct {
	conn net.Conn

	mu sync.Mutex
	// waiting is what is to be sent, sent the memory of what was.
	waiting, sent []byte
	// skipped counts the records that found no space, reported those that the client was sent, and of
	// which Tap.skipped was counted at since.
	skipped, reported, since uint64
}

// New makes a Tap of a shipper of an instance.
func New(instance string, log *slog.Logger) *Tap { return &Tap{instance: instance, log: log} }

// Observer makes the [process.Observer] of an input whose messages have a parser, as [Record] has it.
func (t *Tap) Observer(parser string) *Observer { return &Observer{t, parser} }

// Observer passes the records of an input to a Tap. Safe for concurrent use.
type Observer struct {
	tap    *Tap
	parser string
}

// Enabled implements [process.Observer].
func (o *Observer) Enabled() bool { return o.tap.enabled() }

// Observe implements [process.Observer].
func (o *Observer) Observe(service string, r *record.Record, redacted []string, dropped string) {
	o.tap.observe(&Record{Record: *r, Service: service, Parser: o.parser, Redacted: redacted, Dropped: dropped})
}

// enabled reports whether a record is to be observed now. If not although there are clients, it is counted.
func (t *Tap) enabled() bool {
	if t.listening.Load() == nil {
		return false
	}
	if t.left.Load() > 0 {
		return true
	}
	t.skipped.Add(1)
	return false
}

// observe passes a record on. It does not retain it.
func (t *Tap) observe(r *Record) {
	begun := time.Now()
	clients := t.listening.Load()
	if clients == nil {
		return
	}
	r.Size = len(r.Message)
	r.Message = r.Message[:min(r.Size, MaxMessage)]
	for _, c := range *clients {
		c.add(r)
	}
	sending := time.Duration(len(*clients)) * (sendCost + byteCost*time.Duration(len(r.Message)/16))
	t.left.Add(-int64(min(time.Since(begun), maxCharge) + sending))
}

// add appends a record, unless the client's memory is full.
func (c *client) add(r *Record) {
	c.mu.Lock() // for a copy at most
	defer c.mu.Unlock()
	if len(c.waiting)+len(r.Message) > maxWaiting {
		c.skipped++
		return
	}
	c.waiting = appendRecord(c.waiting, r)
}

// Listen listens in a buffer's directory: clients can connect from then on. serve, which must be called, serves them until
// its ctx ends.
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
		return listen.Serve(ctx, l, 2*MaxClients, t.serve) // more than MaxClients, to tell them
	}, nil
}

// serve sends records to one client until it leaves or ctx ends, then the rest.
func (t *Tap) serve(ctx context.Context, conn net.Conn) {
	c := &client{conn: conn, since: t.skipped.Load(), waiting: appendText([]byte(magic), t.instance)} // magic confirms the connection
	if !t.add(c) {
		_ = c.send(ctx, []byte(full))
		return
	}
	defer t.remove(c)
	defer context.AfterFunc(ctx, c.limitEnd)() // the shipper's end does not wait for one that does not read
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, conn) // a client sends nothing: it ends when the client does
	}()
	defer func() { _ = conn.Close(); <-gone }()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			c.flush(ctx, t.skipped.Load(), true)
			return
		case <-gone:
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

// flush sends what waits; skipped is the current Tap.skipped, end is set if nothing more comes.
func (c *client) flush(ctx context.Context, skipped uint64, end bool) bool {
	c.mu.Lock()
	if all := c.skipped + skipped - c.since; all > c.reported {
		c.waiting = appendSkipped(c.waiting, all-c.reported)
		c.reported = all
	}
	if end {
		c.waiting = appendEnd(c.waiting)
	}
	c.waiting, c.sent = c.sent[:0], c.waiting
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

// limitEnd limits the time for what is being sent when the shipper ends.
func (c *client) limitEnd() { _ = c.conn.SetWriteDeadline(time.Now().Add(endTimeout)) }

// add adds a client, unless there are as many as may be.
func (t *Tap) add(c *client) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []*client
	if now := t.listening.Load(); now != nil {
		all = slices.Clone(*now)
	}
	if len(all) == MaxClients {
		return false
	}
	if len(all) == 0 {
		t.grant() // for the time without clients
	}
	all = append(all, c)
	t.listening.Store(&all)
	t.log.Info("tap connected", "connections", len(all))
	return true
}

func (t *Tap) remove(c *client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := slices.DeleteFunc(slices.Clone(*t.listening.Load()), func(other *client) bool { return other == c })
	if len(all) == 0 {
		t.listening.Store(nil)
	} else {
		t.listening.Store(&all)
	}
	t.log.Info("tap disconnected", "connections", len(all))
}

// grant grants the time since the last grant; the first grants the most. t.mu is held.
func (t *Tap) grant() {
	now, used := time.Now(), cpuTime()
	more := max((used-t.used)/share, now.Sub(t.granted)/idleShare)
	t.granted, t.used = now, used
	// Observing may only take some meanwhile, so that the limit is kept.
	t.left.Add(min(int64(more), int64(maxGrant)-t.left.Load()))
}

// cpuTime is the CPU time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// socketPath is the path of the socket in a directory, which is as short as addresses of sockets must
// be until release is called.
func socketPath(dir string) (path string, release func(), err error) {
	const most = 100
	if path = filepath.Join(dir, Socket); len(path) <= most {
		return path, func() {}, nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	path = fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), Socket)
	return path, func() { _ = f.Close() }, nil
}
