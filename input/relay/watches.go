package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"logstow/blobnaming"
	"logstow/input"
	"logstow/input/httpserver"
	"logstow/relay"
	"logstow/watch"
)

// watches responds to a poll for watches, when there is something new for the sender.
func (h *handler) watches(w http.ResponseWriter, r *http.Request) {
	scope, ok := h.scopes.of(r)
	if !ok {
		h.deny(w, r)
		return
	}
	answer, err := h.poll(r, scope)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // the sender polls again
}

func (h *handler) poll(r *http.Request, allowed *scope) (watch.Answer, error) {
	if err := h.isFor(r, r.PathValue("relay")); err != nil {
		return watch.Answer{}, err
	}
	p, err := h.readPoll(r)
	if err != nil {
		return watch.Answer{}, err
	}
	p.Services = slices.DeleteFunc(p.Services, func(service string) bool { return !allowed.follows(service) })
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(h.stopping, cancel)() //nolint:contextcheck // the input ends, not the request
	answer, err := h.followers.Poll(ctx, p)
	switch {
	case errors.Is(err, watch.ErrTooManySenders):
		return answer, fmt.Errorf("%w: %w", input.ErrBusy, err)
	case h.stopping.Err() != nil:
		return answer, fmt.Errorf("%w: the relay ends", input.ErrBusy)
	}
	return answer, err
}

// readPoll reads a poll. Its body takes memory of requests only until it is read, not while the poll waits.
func (h *handler) readPoll(r *http.Request) (p watch.Poll, err error) {
	lease := httpserver.NewLease(h.memory)
	defer lease.Release()
	body, err := readBody(r, lease, relay.MaxPoll)
	if err != nil {
		return p, err
	}
	if err = json.Unmarshal(body, &p); err == nil && (len(p.Sender) < minSender || len(p.Sender) > maxSender) {
		err = fmt.Errorf("the sender's ID has not %d to %d bytes", minSender, maxSender)
	}
	if i := slices.IndexFunc(p.Services, func(service string) bool { return !blobnaming.ValidService(service) }); err == nil && i >= 0 {
		err = fmt.Errorf("%q is not the name of a service", p.Services[i])
	}
	if err != nil {
		return p, withStatus(http.StatusBadRequest, "not a poll for watches: %w", err)
	}
	slices.Sort(p.Services)
	p.Services = slices.Compact(p.Services)
	return p, nil
}

// minSender and maxSender limit the length of the ID with which a sender polls.
const minSender, maxSender = 16, 64

var _ httpserver.Routes = (*handler)(nil)
