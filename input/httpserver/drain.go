package httpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

const (
	// drainBytes, drainTime and drainIdle limit how much of a body is read and discarded after an early
	// response: the bytes, the total time, and the time between reads.
	drainBytes = 256 << 20
	drainTime  = 10 * time.Second
	drainIdle  = 2 * time.Second
	// drainBuffer is the size of a read in bytes.
	drainBuffer = 8 << 10
	// shutdownReadTimeout is how long a body may take to arrive after shutdown has begun. It is short
	// enough for a response within grace.
	shutdownReadTimeout = 2 * time.Second
)

// errShutdown reports that a body had not arrived when shutdown began.
var errShutdown = errors.New("the server is shutting down")

// drainBodies ensures that every sender receives its response. Many senders send the whole body before
// they read. If the server closed the connection meanwhile, the system would reset it, and the sender
// would see a broken connection instead of the response. So drainBodies reads and discards the rest of
// the body after the response, within limits. When ctx, the server's context, ends, it stops to wait for
// bodies while responses can still be sent.
func drainBodies(ctx context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex() // HTTP/2 always has it
		body := &trackedBody{ReadCloser: r.Body}
		limited := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(limited)
			body.ending.Store(true)
			_ = control.SetReadDeadline(time.Now().Add(shutdownReadTimeout))
		})
		defer func() {
			if !stop() {
				<-limited // use of the HTTP/2 writer after the end of the request would panic
			}
		}()
		r.Body = body
		next.ServeHTTP(&response{ResponseWriter: w, body: body, http1: r.ProtoMajor == 1}, r)
		if body.ended || !body.begun && r.Header.Get("Expect") != "" { // a client that sends Expect does not send the body after a rejection
			return
		}
		if r.ProtoMajor == 1 {
			_ = control.Flush() // in HTTP/2 the end of a response is part of it
		}
		body.drain(control)
	})
}

// trackedBody is a request body that tracks how far it was read.
type trackedBody struct {
	io.ReadCloser
	// begun and ended are used by the reading goroutine only.
	begun, ended bool
	ending       atomic.Bool
}

// Read reads more of the body.
func (b *trackedBody) Read(p []byte) (int, error) {
	b.begun = true
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.ended = true
	}
	if b.ending.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%w: %w", errShutdown, err)
	}
	return n, err
}

// drain reads the rest of the body.
func (b *trackedBody) drain(control *http.ResponseController) {
	end := time.Now().Add(drainTime)
	buf := make([]byte, drainBuffer)
	for left := drainBytes; left > 0 && !b.ended && !b.ending.Load(); {
		now := time.Now()
		if now.After(end) || control.SetReadDeadline(now.Add(min(drainIdle, end.Sub(now)))) != nil {
			return
		}
		n, _ := b.Read(buf) // an error counts as the end
		left -= n
	}
}

// response is the response to a request. An HTTP/1 connection is closed after it if the body of the
// request has not been read completely.
type response struct {
	http.ResponseWriter
	body               *trackedBody
	http1, wroteHeader bool
}

// WriteHeader implements [http.ResponseWriter].
func (a *response) WriteHeader(status int) {
	a.wroteHeader = true
	if a.http1 && !a.body.ended {
		a.Header().Set("Connection", "close")
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (a *response) Write(p []byte) (int, error) {
	if !a.wroteHeader {
		a.WriteHeader(http.StatusOK)
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController].
func (a *response) Unwrap() http.ResponseWriter { return a.ResponseWriter }
