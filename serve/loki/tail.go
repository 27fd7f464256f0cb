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

// Bounds of tail.
const (
	writeTimeout = 10 * time.Second
	endTimeout   = 2 * time.Second // of a message that is being sent when the server ends the request
	frameEntries = 1000
	frameBytes   = 1 << 20
	maxReason    = 120 // bytes of a close frame's reason; the protocol allows 123
)

// tail is /loki/api/v1/tail: records over a websocket as they arrive in storage. It ends when the client is gone.
//
// The origin is checked before a request arrives here.
func (q *request) tail() error {
	log, err := q.logQuery()
	if err != nil {
		return err
	}
	limit, err := q.entries()
	if err != nil {
		return err
	}
	if err := q.delayFor(); err != nil {
		return err
	}
	now := q.now.UnixNano()
	if q.from, err = q.time("start", now-int64(querySince)); err != nil {
		return err
	}
	q.to = now
	conn, err := websocket.Accept(q.w, q.http, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil //nolint:nilerr // Accept has answered
	}
	// gone ends when the connection is closed, by either side, or breaks. It is not the request's context: one that ends while a
	// message or a ping is being sent breaks the connection, and the reason could not be sent.
	gone := conn.CloseRead(context.WithoutCancel(q.ctx))
	ctx, cancel := context.WithCancel(q.ctx)
	defer cancel()
	defer context.AfterFunc(gone, cancel)()
	var pings sync.WaitGroup
	defer pings.Wait()
	defer func() { _ = conn.CloseNow() }() // ends gone, if hangUp has not
	pings.Go(func() {
		if ping(gone, conn, q.api.opts.Ping) != nil {
			_ = conn.CloseNow()
		}
	})
	frame := &frame{ctx: ctx, gone: gone, conn: conn, categorize: q.categorize()}
	frame.reset()
	idle := frame.flush
	if w, ok := q.view().(watcher); ok && q.get("watched") == "1" {
		idle = func() error { return frame.flushStatus(w.Watched()) }
	}
	err = q.view().Tail(ctx, log, q.from, limit, q.api.opts.Poll, frame.add, idle)
	if gone.Err() == nil {
		q.hangUp(conn, err)
	}
	return nil
}

// hangUp closes a connection with the reason why the reading ended.
func (q *request) hangUp(conn *websocket.Conn, err error) {
	status := websocket.StatusInternalError
	switch {
	case q.ctx.Err() != nil: // the server ended the request
		status, err = websocket.StatusGoingAway, context.Cause(q.ctx)
	case err == nil:
		_ = conn.Close(websocket.StatusNormalClosure, "")
		return
	case statusOf(err) >= http.StatusInternalServerError:
		q.api.opts.Logger.LogAttrs(q.ctx, slog.LevelError, "cannot follow records", slog.String("endpoint", q.endpoint), slog.Any("error", err))
	}
	reason := err.Error()
	_ = conn.Close(status, strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "")) // the client may be gone by now
}

// delayFor checks the parameter delay_for. It has no effect: records become visible when their segment is stored, all at once, and
// are sent in order then.
func (q *request) delayFor() error {
	if q.get("delay_for") == "0" {
		return nil
	}
	seconds, err := q.number("delay_for", 0)
	if err == nil && seconds > maxDelay {
		return badRequest("delay_for must not be greater than %d", maxDelay)
	}
	return err
}

// ping checks that the client is there until gone ends; the error is that it is not.
func ping(gone context.Context, conn *websocket.Conn, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-gone.Done():
			return nil
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(gone, every)
		err := conn.Ping(ctx)
		cancel()
		if err != nil && gone.Err() == nil {
			return err
		}
	}
}

// frame collects records and sends them as messages. A client that does not read holds up the reading; past writeTimeout the
// connection is closed: no record is dropped.
type frame struct {
	// ctx is the request's, gone ends with the connection.
	ctx, gone  context.Context
	conn       *websocket.Conn
	categorize bool
	streams    *streams
	// watched is what the client was sent last.
	watched bool
}

func (f *frame) reset() { f.streams = newStreams(f.categorize, 0) }

func (f *frame) add(e *engine.Entry) error {
	if err := f.streams.add(e); err != nil {
		return err
	}
	if f.streams.entries < frameEntries && f.streams.size < frameBytes {
		return nil
	}
	return f.flush()
}

// flush sends what was collected, if anything was.
func (f *frame) flush() error {
	if f.streams.entries == 0 {
		return nil
	}
	return f.send("")
}

// flushStatus is flush, and sends whether the tail is watched if that has changed.
func (f *frame) flushStatus(watched bool) error {
	if watched == f.watched {
		return f.flush()
	}
	f.watched = watched
	return f.send(fmt.Sprintf(`,"watched":%t`, watched))
}

// send sends what was collected, with further members of JSON.
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
	ctx, cancel := context.WithTimeout(f.gone, writeTimeout)
	defer cancel()
	defer context.AfterFunc(f.ctx, func() { time.AfterFunc(endTimeout, cancel) })()
	err := f.conn.Write(ctx, websocket.MessageText, message.Bytes())
	if errors.Is(err, context.DeadlineExceeded) && f.ctx.Err() == nil {
		return errors.New("the client does not read")
	}
	return err
}
