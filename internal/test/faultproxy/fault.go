package faultproxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Fault is a fault injected into a request.
type Fault uint8

// The faults. The first two groups differ in what a client cannot see: whether the request was
// applied.
const (
	None Fault = iota

	// Reset cuts the connection before the request is forwarded.
	Reset
	// InternalError, Busy, TooMany, Timeout and OddConflict respond without forwarding the request:
	// 500, 503 with Retry-After, 429, 500 OperationTimedOut, and a 409 that is not about the name.
	InternalError
	Busy
	TooMany
	Timeout
	OddConflict

	// LoseResponse forwards the request, and cuts the connection instead of responding.
	LoseResponse
	// LateError forwards the request, and responds 500 whatever its result.
	LateError
	// Truncate forwards the request, and cuts the connection within the response.
	Truncate

	// Slow forwards the request and the response, after a delay.
	Slow

	faults // their number
)

// String implements fmt.Stringer.
func (f Fault) String() string {
	names := [...]string{
		"none", "reset", "500", "503", "429", "timed out", "odd 409",
		"lost answer", "500 after applying", "truncated answer", "slow",
	}
	if f < faults {
		return names[f]
	}
	return "unknown"
}

// allFaults lists every fault.
func allFaults() []Fault {
	var all []Fault
	for f := None + 1; f < faults; f++ {
		all = append(all, f)
	}
	return all
}

// Lossy are the faults after which a request may have been applied without the client knowing.
func Lossy() []Fault { return []Fault{LoseResponse, LateError, Truncate} }

// serve forwards one request, or injects the drawn fault.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, target *url.URL, tables bool) {
	kind := kindOf(r, tables)
	fault, detail := p.draw(kind, r)
	defer p.done(kind)
	switch fault {
	case Reset:
		// Somewhere in the body, which the client may still be sending.
		_, _ = io.CopyN(io.Discard, r.Body, int64(detail%4096))
		cut(w)
		return
	case InternalError:
		writeError(w, tables, http.StatusInternalServerError, "InternalError")
		return
	case Timeout:
		writeError(w, tables, http.StatusInternalServerError, "OperationTimedOut")
		return
	case Busy:
		w.Header().Set("Retry-After", "1")
		writeError(w, tables, http.StatusServiceUnavailable, "ServerBusy")
		return
	case TooMany:
		writeError(w, tables, http.StatusTooManyRequests, "TooManyRequests")
		return
	case OddConflict:
		code := "ContainerBeingDeleted"
		if tables {
			code = "TableBeingDeleted"
		}
		writeError(w, tables, http.StatusConflict, code)
		return
	case Slow:
		select {
		case <-time.After(time.Duration(detail % uint64(p.delay))):
		case <-r.Context().Done():
		}
	}
	resp, err := p.forward(r, target)
	if err != nil {
		cut(w) // as if the service itself had done it
		return
	}
	defer func() { _ = resp.Body.Close() }()
	if p.asAzure && kind == CreateBlob && resp.Header.Get(codeHeader) == "AuthorizationPermissionMismatch" {
		writeError(w, tables, http.StatusForbidden, "UnauthorizedBlobOverwrite")
		return
	}
	switch fault {
	case LoseResponse:
		_, _ = io.Copy(io.Discard, resp.Body)
		cut(w)
	case LateError:
		_, _ = io.Copy(io.Discard, resp.Body)
		writeError(w, tables, http.StatusInternalServerError, "InternalError")
	case Truncate:
		truncate(w, resp, detail)
	default:
		relay(w, resp)
	}
}

// forward sends the request to the emulator.
func (p *Proxy) forward(r *http.Request, target *url.URL) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.RequestURI = ""
	out.URL.Scheme, out.URL.Host = target.Scheme, target.Host
	if r.ContentLength == 0 {
		out.Body = nil // otherwise it would be chunked
	}
	return p.transport.RoundTrip(out)
}

// relay passes a response on unchanged.
func relay(w http.ResponseWriter, resp *http.Response) {
	header := w.Header()
	for k, v := range resp.Header {
		header[k] = v
	}
	w.WriteHeader(resp.StatusCode)
	if _, err := io.Copy(w, resp.Body); err != nil {
		cut(w) // a partial response must not look complete
	}
}

// codeHeader contains the error code of a service.
const codeHeader = "X-Ms-Error-Code"

// writeError writes an error in the form of Azure's services.
func writeError(w http.ResponseWriter, tables bool, status int, code string) {
	body := fmt.Sprintf(`<?xml version="1.0" encoding="utf-8"?><Error><Code>%s</Code><Message>injected</Message></Error>`, code)
	contentType := "application/xml"
	if tables {
		body = fmt.Sprintf(`{"odata.error":{"code":%q,"message":{"lang":"en-US","value":"injected"}}}`, code)
		contentType = "application/json;odata=minimalmetadata"
	}
	w.Header().Set(codeHeader, code)
	w.Header().Set("X-Ms-Request-Id", "00000000-0000-0000-0000-000000000000")
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// truncate sends the head of a response and a part of its body, or, if it has none, a part of its
// head.
func truncate(w http.ResponseWriter, resp *http.Response, detail uint64) {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		cut(w)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	var head strings.Builder
	fmt.Fprintf(&head, "HTTP/1.1 %s\r\n", resp.Status)
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	_ = resp.Header.Write(&head) // to memory
	if len(body) == 0 {
		_, _ = io.WriteString(conn, head.String()[:detail%uint64(head.Len())])
	} else {
		_, _ = io.WriteString(conn, head.String()+"\r\n")
		_, _ = conn.Write(body[:detail%uint64(len(body))])
	}
	_ = conn.Close()
}

// cut resets the client's connection.
func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // never with HTTP/1
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // RST, not FIN
	}
	_ = conn.Close()
}
