package relay

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"logstow/store"
)

// ErrRefused is the error of a segment that did not reach a relay, or that it did not take at present and of which it appended nothing:
// the segment may be sent to another relay.
var ErrRefused = errors.New("the relay does not take segments at present")

// ErrForgotten is the error of a segment whose Seq is below the floor of its sender. If it was never sent under this name before, the relay
// does not have it, and it may be sent anew, with another Sender. Otherwise the relay may have it.
var ErrForgotten = errors.New("the relay has forgotten the number of the segment")

// ErrNotAllowed is the error of a segment whose service or class the relay does not allow to the sender, and of which it appended nothing.
var ErrNotAllowed = errors.New("the relay does not allow the service to this sender")

// maxMessage is the maximum size of the text of a response that an error shows.
const maxMessage = 512

// responseError returns the error of a response that is no success.
func responseError(op, object string, r *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(r.Body, maxMessage)) // the status says enough
	e := &store.Error{
		Op:     op,
		Object: object,
		Status: r.StatusCode,
		Err:    errors.New(strings.TrimSpace(strings.ToValidUTF8(string(text), "?"))),
	}
	if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil && seconds >= 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	switch r.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Class, e.Hint = store.ErrAccessDenied, "check the token in "+TokenEnv+" and what the relay allows it"
		if r.StatusCode == http.StatusForbidden && r.Header.Get(RefusedHeader) != "" {
			e.Err = fmt.Errorf("%w: %w", ErrNotAllowed, e.Err)
		}
	case http.StatusConflict:
		e.Class = ErrForgotten
		if r.Header.Get(RefusedHeader) == "" {
			e.Class = store.ErrUnavailable // a proxy's: the relay may have the segment
		}
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		e.Class = store.ErrInvalid
		if r.StatusCode != http.StatusRequestEntityTooLarge && r.Header.Get(RefusedHeader) == "" {
			e.Class = store.ErrUnavailable // a proxy's, or of a segment that the relay has in part: it must not be given up
		}
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		e.Class, e.Hint = store.ErrUnusable, "no relay listens at this address: check the address, and upgrade relays before senders"
	case http.StatusUpgradeRequired:
		e.Class, e.Hint = store.ErrUnusable, "upgrade the relay: relays are upgraded before senders"
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		e.Class = store.ErrThrottled
		if r.Header.Get(RefusedHeader) != "" {
			e.Err = fmt.Errorf("%w: %w", ErrRefused, e.Err)
		}
	default:
		e.Class = store.ErrUnavailable
	}
	return e
}
