package serve

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"logstow/internal/connlimit"
	"logstow/internal/httpframing"
	"logstow/serve/access"
	"logstow/serve/limits"
)

// statusClosed is the status in the log of a request whose client disconnected.
const statusClosed = 499

// request is a request that is being served.
type request struct {
	*http.Request
	w        *response
	began    time.Time
	identity access.Identity
	used     *limits.Query // nil unless the API handles it and limits apply
	body     int64         // what the body adds to Server.bodies
}

// elapsed is the time since the request began.
func (q *request) elapsed() time.Duration { return time.Since(q.began) }

// serve serves a request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.serving.begin()
	defer s.serving.end()
	q := &request{Request: r, w: newResponse(w, s.opts.times.write), began: time.Now()}
	s.readDeadline(q.w, s.opts.times.read)
	httpframing.CloseAfter(w, r)
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	defer s.finish(q) //nolint:contextcheck // as below
	s.route(q)        //nolint:contextcheck // the request has it
}

// finish ends a request and logs it. After a panic it responds with status 500, or closes the connection if the response has
// begun.
func (s *Server) finish(q *request) {
	failure := recover() //nolint:revive // it is deferred itself
	s.bodies.Add(-q.body)
	w := q.w
	if failure != nil && failure != http.ErrAbortHandler { //nolint:errorlint // the value that net/http compares with
		id := s.logPanic(failure)
		if w.status == 0 && w.hijacked == nil {
			s.fail(q, http.StatusInternalServerError, "internal error "+id+"; see the server's log")
			failure = nil
		}
	}
	if failure == nil && w.status == 0 && timedOut(w.ctx) {
		s.fail(q, http.StatusGatewayTimeout, limits.ErrDuration.Error())
	}
	if w.status == 0 && q.Context().Err() != nil {
		failure = http.ErrAbortHandler // otherwise net/http responds with 200 and no body
	}
	if w.hijacked != nil {
		_ = w.hijacked.Close() // handlers may leave it open
	} else {
		w.extend() // for the bytes that net/http has buffered
	}
	status := w.status
	switch {
	case status == 0 && failure != nil:
		status = statusClosed
	case status == 0:
		status = http.StatusOK
	}
	s.logRequest(q, status, failure != nil)
	s.measured.request(q, status)
	if failure != nil {
		panic(http.ErrAbortHandler) //nolint:forbidigo // it closes the connection, so that the client sees an incomplete response
	}
}

// logPanic logs a panic and returns an ID for it. It logs the value only if it is an error of the Go runtime: other values may
// contain text of a query.
func (s *Server) logPanic(failure any) string {
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails
	id := hex.EncodeToString(random[:])
	what := fmt.Sprintf("%T", failure)
	if err, ok := failure.(runtime.Error); ok { //nolint:errorlint // as it was thrown
		what = err.Error()
	}
	s.opts.Log.Error("panic in a request", "id", id, "error", what, "stack", string(debug.Stack()))
	return id
}

// fail responds with an error as plain text.
func (s *Server) fail(q *request, status int, text string) {
	h := q.w.Header()
	h.Del("Content-Length")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	q.w.WriteHeader(status)
	_, _ = io.WriteString(q.w, text+"\n") // the client may be gone
}

// route passes a request on to its handler, after the checks that the handler requires.
func (s *Server) route(q *request) {
	if !connlimit.Admit(q.w, q.Request) {
		s.fail(q, http.StatusServiceUnavailable, "too many connections")
		return
	}
	if why := s.reject(q.Request); why != "" {
		s.measured.rejected(string(why))
		s.fail(q, http.StatusForbidden, why.text())
		return
	}
	switch {
	case q.URL.Path == "/ready":
		s.ready(q)
		return
	case s.isPage(q.Request):
		s.opts.Page.ServeHTTP(q.w, q.Request)
		return
	case q.URL.Path == "/login" && s.opts.Tokens != nil && q.Method == http.MethodPost:
		s.login(q)
		return
	}
	if !s.identify(q) {
		return
	}
	switch {
	case q.URL.Path == "/metrics" && s.opts.Metrics:
		s.measured.handler.ServeHTTP(q.w, q.Request)
	case q.URL.Path == "/logout" && s.opts.Tokens != nil && q.Method == http.MethodPost:
		access.ClearCookie(q.w, s.opts.secure())
		q.w.WriteHeader(http.StatusNoContent)
	default:
		s.serveAPI(q)
	}
}

// ready responds whether requests are accepted.
func (s *Server) ready(q *request) {
	if s.draining.Err() != nil {
		s.fail(q, http.StatusServiceUnavailable, errDraining.Error())
		return
	}
	q.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(q.w, "ready\n")
}

// identify sets the identity of a request. Without a valid token it responds with 401 and returns false.
func (s *Server) identify(q *request) bool {
	if s.opts.Tokens == nil {
		q.identity = access.Identity{Unrestricted: true}
		return true
	}
	secret, _ := access.Presented(q.Request)
	return s.accept(q, secret)
}

// accept sets the identity of a request to that of a secret. If the secret is missing or unknown, it responds with 401, the
// same for both, and returns false.
func (s *Server) accept(q *request, secret string) bool {
	identity, ok := s.opts.Tokens.Identify(secret)
	if !ok {
		s.measured.rejected("token")
		challenges := []string{`Bearer realm="logstow"`, `Basic realm="logstow", charset="UTF-8"`}
		if q.Header.Get("Sec-Fetch-Site") == "same-origin" {
			challenges = challenges[:1] // the page asks for the token; for Basic the browser would ask, and block the request
		}
		q.w.Header()["Www-Authenticate"] = challenges
		s.fail(q, http.StatusUnauthorized, "a valid token is required")
		return false
	}
	q.identity = identity
	return true
}

// login sets a cookie with the token of the form, if it is valid.
func (s *Server) login(q *request) {
	if !s.readBody(q, maxLogin) {
		return
	}
	secret := q.PostForm.Get("token")
	if s.accept(q, secret) {
		access.SetCookie(q.w, secret, s.opts.secure())
		q.w.WriteHeader(http.StatusNoContent)
	}
}

// readBody reads the body into memory and parses the form; handlers can do both again. If that fails, it responds with an error
// and returns false.
func (s *Server) readBody(q *request, limit int64) bool {
	body, err := s.readAll(q, http.MaxBytesReader(q.w.ResponseWriter, q.Body, limit))
	var long *http.MaxBytesError
	switch {
	case errors.Is(err, errBodies):
		s.rejectLimited(q, err)
		return false
	case errors.As(err, &long):
		s.fail(q, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes", limit))
		return false
	case err != nil:
		q.w.Header().Set("Connection", "close")
		s.fail(q, http.StatusBadRequest, "the body cannot be read")
		return false
	}
	// From here on net/http reads from the connection only to detect its end, which cancels the request.
	s.readDeadline(q.w, 0)
	q.Body = io.NopCloser(bytes.NewReader(body))
	if err := q.ParseForm(); err != nil {
		s.fail(q, http.StatusBadRequest, "the parameters cannot be read: "+err.Error())
		return false
	}
	return true
}

// readAll reads a body. The memory counts until the request ends; the error is errBodies if all requests have too much.
func (s *Server) readAll(q *request, r io.Reader) ([]byte, error) {
	const first = 512
	body := make([]byte, 0, first)
	for {
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			return body, nil
		}
		if err != nil {
			return nil, err
		}
		if more := cap(body); len(body) == more {
			q.body += int64(more)
			if s.bodies.Add(int64(more)) > maxBodies {
				s.bodies.Add(-q.body)
				q.body, body = 0, nil
				_, _ = io.Copy(io.Discard, r) // clients read no response before they have sent everything
				return nil, errBodies
			}
			body = append(make([]byte, 0, 2*more), body...)
		}
	}
}

// serveAPI passes a request on to the API, within the limits.
func (s *Server) serveAPI(q *request) {
	if !s.readBody(q, maxBody) {
		return
	}
	ctx, done, err := s.limit(q)
	if err != nil {
		s.rejectLimited(q, err)
		return
	}
	defer done()
	q.w.ctx, q.used = ctx, limits.FromContext(ctx)
	s.opts.API.ServeHTTP(q.w, q.WithContext(access.NewContext(ctx, q.identity)))
}

// limit waits until a request may run. The caller must call done at its end.
func (s *Server) limit(q *request) (ctx context.Context, done func(), err error) {
	switch classOf(q.URL.Path) {
	case light:
		return q.Context(), func() {}, nil
	case tail:
		ctx, cancel := context.WithCancelCause(q.Context())
		stop := context.AfterFunc(s.draining, func() { cancel(errDraining) })
		limited, done, err := s.limits.Tail(ctx, q.identity.Token)
		if err != nil {
			stop()
			cancel(nil)
			return nil, nil, err
		}
		return limited, func() {
			stop()
			done()
			cancel(nil)
		}, nil
	case metadata:
		return s.limits.Query(q.Context(), limits.Metadata, q.identity.Token)
	default:
		return s.limits.Query(q.Context(), limits.Records, q.identity.Token)
	}
}

// rejectLimited responds to a request that limit rejected with err.
func (s *Server) rejectLimited(q *request, err error) {
	switch {
	case errors.Is(err, limits.ErrDay), errors.Is(err, limits.ErrReserved):
		s.measured.rejected("cost")
	case errors.Is(err, limits.ErrQueue), errors.Is(err, limits.ErrTails), errors.Is(err, errBodies):
		s.measured.rejected("queue")
	case q.Context().Err() != nil: // the client has disconnected
		return
	default:
		s.fail(q, http.StatusServiceUnavailable, errDraining.Error())
		return
	}
	q.w.Header().Set("Retry-After", strconv.Itoa(int(s.limits.RetryAfter(err).Round(time.Second)/time.Second)))
	s.fail(q, http.StatusTooManyRequests, err.Error())
}
