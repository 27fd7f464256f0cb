package loki

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"logstow/logql/engine"
)

// Limits of tail.
const (
	writeTimeout = 10 * time.Second
	endTimeout   = 2 * time.Second // for a message that is being sent when the server ends the request
	frameEntries = 1000
	frameBytes   = 1 << 20
	maxReason    = 120 // bytes of the reason in a close frame; the protocol allows 123
)

// tail is /loki/api/v1/tail: it sends records over a websocket as they arrive in storage, until the client disconnects.
func (q *request) tail() error {
	log := q.logQuery()
	if reason := q.api.opts.NoTail; reason != "" {
		q.reject(badRequest("%s", reason))
	}
	limit := q.entries()
	q.delayFor()
	q.to = q.now.UnixNano()
	q.from = q.time("start", q.to-int64(querySince))
	if q.bad != nil {
		return q.bad
	}
	// The caller of the API has checked the origin.
	conn, err := websocket.Accept(q.w, q.http, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil //nolint:nilerr // Accept has sent the error
	}
	// connected ends when either side closes the connection or it breaks. Sending does not use the request's context: its end during a
	// write would break the connection, so that the reason could not be sent.
	connected := conn.CloseRead(context.WithoutCancel(q.ctx))
	ctx, cancel := context.WithCancel(q.ctx)
	defer cancel()
	defer context.AfterFunc(connected, cancel)()
	var pings sync.WaitGroup
	defer pings.Wait()
	defer func() { _ = conn.CloseNow() }() // ends connected if hangUp has not
	pings.Go(func() {
		if ping(connected, conn, q.api.opts.Ping) != nil {
			_ = conn.CloseNow()
		}
	})
	frame := &frame{ctx: ctx, connected: connected, conn: conn, categorize: q.categorize(), repeats: q.repeats()}
	frame.reset()
	idle := frame.flush
	if w, ok := q.view().(watcher); ok && q.get("watched") == "1" {
		idle = func() error { return frame.flushStatus(w.Watched()) }
	}
	err = q.view().Tail(ctx, log, q.from, limit, q.api.opts.Poll, frame.add, idle)
	if connected.Err() == nil {
		q.hangUp(conn, err)
	}
	return nil
}

// hangUp closes a connection with the reason why the tail ended.
func (q *request) hangUp(conn *websocket.Conn, err error) {
	status := websocket.StatusInternalError
	switch {
	case q.ctx.Err() != nil: // the server ended the request
		status, err = websocket.StatusGoingAway, context.Cause(q.ctx)
	case err == nil:
		_ = conn.Close(websocket.StatusNormalClosure, "")
		return
	case statusOf(err) >= http.StatusInternalServerError:
		q.api.opts.Logger.LogAttrs(q.ctx, slog.LevelError, "cannot follow records", slog.String("endpoint", q.endpoint),
			slog.Any("error", err))
	}
	reason := err.Error()
	_ = conn.Close(status, strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "")) // the client may have disconnected
}

// delayFor validates the parameter delay_for, which has no effect. Loki delays records to sort them; here all records of a segment
// become visible at once and are sent in order.
func (q *request) delayFor() {
	if q.get("delay_for") != "0" && q.number("delay_for", 0) > maxDelay {
		q.reject(badRequest("delay_for must not be greater than %d", maxDelay))
	}
}

// ping pings the client until connected ends. It returns an error if the client does not respond.
func ping(connected context.Context, conn *websocket.Conn, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-connected.Done():
			return nil
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(connected, every)
		err := conn.Ping(ctx)
		cancel()
		if err != nil && connected.Err() == nil {
			return err
		}
	}
}

// frame collects records and sends them as messages. It never drops records: if the client does not read, sending blocks, and fails
// after writeTimeout.
type frame struct {
	// ctx is the context of the request, connected ends with the connection.
	ctx, connected context.Context
	conn           *websocket.Conn
	categorize     bool
	repeats        *repeats
	streams        *streams
	// watched is the last status that the client was sent.
	watched bool
}

func (f *frame) reset() {
	f.streams = newStreams(f.categorize, 0)
	f.streams.repeats = f.repeats
}

func (f *frame) add(e *engine.Entry) error {
	if err := f.streams.add(e); err != nil {
		return err
	}
	if f.streams.entries < frameEntries && f.streams.size < frameBytes {
		return nil
	}
	return f.flush()
}

// flush sends the collected records, if there are any.
func (f *frame) flush() error {
	if f.streams.entries == 0 {
		return nil
	}
	return f.send("")
}

// flushStatus is flush, but also sends whether the tail is watched, if that has changed.
func (f *frame) flushStatus(watched bool) error {
	if watched == f.watched {
		return f.flush()
	}
	f.watched = watched
	return f.send(fmt.Sprintf(`,"watched":%t`, watched))
}

// send sends the collected records, with additional JSON members.
func (f *frame) send(more string) error {
	var message bytes.Buffer
	w := writer{bufio.NewWriter(&message)}
	w.text(`{`)
	f.streams.writeFlags(w)
	w.text(`"streams":`)
	f.streams.write(w)
	w.text(`,"dropped_entries":[]` + more + `}`)
	if err := w.to.Flush(); err != nil {
		return err
	}
	f.reset()
	ctx, cancel := context.WithTimeout(f.connected, writeTimeout)
	defer cancel()
	defer context.AfterFunc(f.ctx, func() { time.AfterFunc(endTimeout, cancel) })()
	err := f.conn.Write(ctx, websocket.MessageText, message.Bytes())
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded) && f.ctx.Err() == nil:
		return errors.New("the client does not read")
	}
	_ = f.conn.CloseNow() // it is broken, which ends connected
	<-f.connected.Done()
	return err
}
