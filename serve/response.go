package serve

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"logstow/serve/limits"
)

// writeChunk is the number of bytes that a client must take within the write timeout.
const writeChunk = 32 << 10

// response counts the bytes written, and closes the connection of a client that does not read.
type response struct {
	http.ResponseWriter
	control *http.ResponseController
	// stall is how long the client may take to read writeChunk bytes.
	stall time.Duration
	// ctx is the context of the query. If it ended by the maximum duration, the status is 504.
	ctx      context.Context
	status   int // 0 before the header is written
	bytes    atomic.Int64
	hijacked net.Conn
}

func newResponse(w http.ResponseWriter, stall time.Duration) *response {
	return &response{ResponseWriter: w, control: http.NewResponseController(w), stall: stall, ctx: context.Background()}
}

// Unwrap is for [http.ResponseController].
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (w *response) WriteHeader(status int) {
	if status >= 500 && timedOut(w.ctx) {
		status = http.StatusGatewayTimeout
	}
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// timedOut reports whether the context of a query ended by the maximum duration.
func timedOut(ctx context.Context) bool { return errors.Is(context.Cause(ctx), limits.ErrDuration) }

// Write implements [http.ResponseWriter].
func (w *response) Write(p []byte) (written int, err error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	for {
		w.extend()
		n, err := w.ResponseWriter.Write(p[:min(len(p), writeChunk)])
		written += n
		w.bytes.Add(int64(n))
		if p = p[n:]; err != nil || len(p) == 0 {
			return written, err
		}
	}
}

// extend sets the deadline of the next write.
func (w *response) extend() {
	if w.hijacked == nil {
		_ = w.control.SetWriteDeadline(time.Now().Add(w.stall)) // fails only in tests, whose writers have no deadlines
	}
}

// FlushError is for [http.ResponseController].
func (w *response) FlushError() error {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.extend()
	return w.control.Flush()
}

// Flush implements [http.Flusher].
func (w *response) Flush() { _ = w.FlushError() }

// Hijack implements [http.Hijacker].
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := w.control.Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.hijacked, w.status = c, http.StatusSwitchingProtocols
	own := &hijackedConn{Conn: c, w: w}
	return own, bufio.NewReadWriter(rw.Reader, bufio.NewWriter(own)), nil
}

// hijackedConn is a connection that a handler took over. It counts bytes and sets deadlines as the response does.
type hijackedConn struct {
	net.Conn
	w *response
}

// Write implements [net.Conn].
func (c *hijackedConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.w.stall)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	c.w.bytes.Add(int64(n))
	return n, err
}
