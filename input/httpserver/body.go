package httpserver

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	//nolint:depguard // what senders compressed has to be taken apart here, not in segments
	"github.com/klauspost/compress/zstd"

	"logstow/input"
	"logstow/input/dedupe"
)

// Errors of reading bodies.
var (
	// ErrEncoding reports an unsupported content encoding.
	ErrEncoding = errors.New("content encoding not supported: send gzip, zstd or none")
	// ErrBody reports a malformed or incomplete body.
	ErrBody = errors.New("bad request body")
	// ErrSlow reports that a body did not arrive in time.
	ErrSlow = errors.New("request body too slow")
)

const (
	// maxWindow is the largest zstd window accepted, the same as in segments.
	maxWindow = 8 << 20
	// firstBuffer is the initial size of a body's buffer. It does not depend on the Content-Length, which
	// may be wrong.
	firstBuffer = 16 << 10
)

// Body reads a body of at most limit bytes after decompression by encoding, a Content-Encoding, and
// charges its memory to lease. Its errors are [input.ErrTooLarge], [input.ErrBusy], [ErrEncoding],
// [ErrBody] and [ErrSlow].
func Body(body io.Reader, encoding string, limit int, lease *Lease) ([]byte, error) {
	switch encoding {
	case "", "identity":
		return readAll(body, limit, lease)
	case "gzip", "x-gzip":
		if err := lease.Take(32 << 10); err != nil {
			return nil, err
		}
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, bodyError(err)
		}
		return readAll(z, limit, lease)
	case "zstd":
		if err := lease.Take(maxWindow); err != nil {
			return nil, err
		}
		z, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(uint64(limit)+maxWindow))
		if err != nil {
			return nil, bodyError(err)
		}
		defer z.Close()
		return readAll(z, limit, lease)
	}
	return nil, fmt.Errorf("%w (not %.40q)", ErrEncoding, encoding)
}

// readAll reads to the end, at most limit bytes.
func readAll(r io.Reader, limit int, lease *Lease) ([]byte, error) {
	var buf []byte
	for {
		if len(buf) == cap(buf) {
			// At most one byte past the limit is read.
			grown := min(max(firstBuffer, 2*cap(buf)), limit+1)
			var err error
			if buf, err = lease.Grow(buf, grown); err != nil {
				return nil, err
			}
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if len(buf) > limit {
			return nil, fmt.Errorf("%w: a request body may have %d bytes", input.ErrTooLarge, limit)
		}
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return nil, bodyError(err)
		}
	}
}

func bodyError(err error) error {
	if errors.Is(err, errShutdown) {
		return err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrSlow, err)
	}
	if errors.Is(err, io.EOF) { // before the first byte of the compressed data
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %w", ErrBody, err)
}

// KeyHeader is the name of the header with the key of a request. A repeated request with the same key is not
// stored again, see package dedupe.
const KeyHeader = "Idempotency-Key"

// RetryAfter is the number of seconds after which a sender should retry.
const RetryAfter = 5

// Status returns the HTTP status for a request that failed with err. It is 503, so that the sender retries,
// if the sender did not cause the error.
func Status(err error) int {
	switch {
	case errors.Is(err, input.ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, ErrEncoding):
		return http.StatusUnsupportedMediaType
	case errors.Is(err, ErrBody):
		return http.StatusBadRequest
	case errors.Is(err, dedupe.ErrReused):
		return http.StatusUnprocessableEntity
	case errors.Is(err, ErrSlow):
		return http.StatusRequestTimeout
	}
	return http.StatusServiceUnavailable
}

// Head sets the headers that go with a status of [Status].
func Head(h http.Header, status int) {
	switch status {
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", fmt.Sprint(RetryAfter))
	case http.StatusUnsupportedMediaType:
		h.Set("Accept-Encoding", "gzip, zstd")
	}
}

// Public returns the text of an error for clients. It contains no internal details of the shipper.
func Public(err error) string {
	if Status(err) == http.StatusServiceUnavailable && !errors.Is(err, input.ErrBusy) {
		return "temporarily unavailable: retry"
	}
	return Text(err)
}

// maxText is the maximum length of the text of an error, in bytes: a decoder may quote a value of many MiB.
const maxText = 1 << 10

// Text returns the text of an error that a client may see.
func Text(err error) string {
	text := err.Error()
	if len(text) > maxText {
		text = text[:maxText] + "…"
	}
	return strings.ToValidUTF8(text, "?")
}
