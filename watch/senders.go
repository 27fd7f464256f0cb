package watch

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"time"

	"logstow/internal/event"
)

const (
	// SendersTimeout is how long a relay waits at most until its senders have flushed a service, before it reports that the
	// service is flushed.
	SendersTimeout = 5 * time.Second
	// MaxSenders is the maximum number of senders of a relay that poll for watches.
	MaxSenders = 4096
	// MaxSenderServices is the maximum number of services of one of them; it does not report others.
	MaxSenderServices = 1024
	// pollTime is how long a poll of a sender waits for a change.
	pollTime = 25 * time.Second
	// absence is the time without a poll after which a sender counts as gone.
	absence = 5 * time.Second
	// maxNames is the maximum size in bytes of the names of the services of all senders.
	maxNames = 32 << 20
)

// ErrTooManySenders is the error of a poll of a sender for which there is no space.
var ErrTooManySenders = errors.New("too many senders, or services of senders, poll for watches")

// Poll is how a sender asks a relay for watches, and reports what it has flushed. Relays receive it as JSON.
type Poll struct {
	// Sender identifies the process of the sender. It must be random.
	Sender string `json:"sender"`
	// Version is that of the last [Answer]; "" if there was none.
	Version string `json:"version,omitempty"`
	// Services are those that have had records, in order of name.
	Services []string `json:"services"`
	// Flushed has, by service, a time by storage's clock: all records of the service that the sender had read by then are in
	// storage or durable in the buffers of relays.
	Flushed map[string]time.Time `json:"flushed,omitempty"`
}

// Answer has the live watches on the services of a sender.
type Answer struct {
	// Version changes with the watches.
	Version string  `json:"version,omitempty"`
	Watches []Watch `json:"watches,omitempty"`
}

// Senders are the shippers that send to this one, a relay. They cannot read the watches in the store: the [Flusher] of the relay reads
// those on their services too, they poll for them, flush, and report that. The relay reports a time to which a service is flushed only
// when its senders have flushed it, so that waiting readers see their records too. Safe for concurrent use.
type Senders struct {
	mu sync.Mutex
	// watches are live, by service. changed is notified when they change, reported when a sender reports.
	watches           map[string]Watch
	changed, reported event.Event
	all               map[string]*sender
	// names is the size of the names of the services of all.
	names int
	// began is when senders could begin to poll; zero if there are none.
	began time.Time
}

// sender is a shipper that sends to a relay.
type sender struct {
	services []string
	flushed  map[string]time.Time
	// polls is the number of its polls that wait, seen when the last one ended. replaced ends the one that waits.
	polls    int
	seen     time.Time
	replaced chan struct{}
}

// NewSenders returns a Senders without any sender.
func NewSenders() *Senders {
	return &Senders{watches: map[string]Watch{}, all: map[string]*sender{}}
}

// Begin is called when senders can poll from now on: for the first [SendersTimeout] there may be some that have not polled yet.
func (s *Senders) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = time.Now()
}

// Poll returns the watches for a sender: at once if they are not those of the version of the poll, otherwise when they change, after at most
// half a minute, when ctx ends, or when the sender polls again. The error is [ErrTooManySenders].
func (s *Senders) Poll(ctx context.Context, p Poll) (Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, err := s.register(p)
	if err != nil {
		return Answer{}, err
	}
	defer func() {
		one.polls--
		one.seen = time.Now()
	}()
	replaced := one.replaced
	timeout := time.NewTimer(pollTime)
	defer timeout.Stop()
	for waiting := true; ; {
		a := s.answer(one)
		if a.Version != p.Version || !waiting {
			return a, nil
		}
		changed := s.changed.Next()
		s.mu.Unlock()
		select {
		case <-changed:
		case <-replaced:
			waiting = false
		case <-timeout.C:
			waiting = false
		case <-ctx.Done():
			waiting = false
		}
		s.mu.Lock()
	}
}

// register records what a poll reports, and ends the poll of the sender that waits; mu is held.
func (s *Senders) register(p Poll) (*sender, error) {
	s.removeAbsent()
	one := s.all[p.Sender]
	size, before := namesOf(p.Services), 0
	if one != nil {
		before = namesOf(one.services)
	}
	if len(p.Services) > MaxSenderServices || s.names-before+size > maxNames || one == nil && len(s.all) >= MaxSenders {
		return nil, fmt.Errorf("%w: at most %d senders, with %d services each", ErrTooManySenders, MaxSenders, MaxSenderServices)
	}
	if one == nil {
		one = &sender{flushed: map[string]time.Time{}}
		s.all[p.Sender] = one
	} else {
		close(one.replaced)
	}
	s.names += size - before
	one.services, one.replaced = slices.Clone(p.Services), make(chan struct{})
	one.polls++
	for service, to := range p.Flushed {
		one.flushed[service] = later(one.flushed[service], to)
	}
	maps.DeleteFunc(one.flushed, func(service string, _ time.Time) bool { return !one.has(service) })
	s.reported.Notify()
	return one, nil
}

func namesOf(services []string) (size int) {
	for _, service := range services {
		size += len(service)
	}
	return size
}

func (s *sender) has(service string) bool {
	_, ok := slices.BinarySearch(s.services, service)
	return ok
}

// removeAbsent removes the senders that are gone; mu is held.
func (s *Senders) removeAbsent() {
	for id, one := range s.all {
		if one.polls == 0 && time.Since(one.seen) > absence {
			s.names -= namesOf(one.services)
			delete(s.all, id)
		}
	}
}

// answer returns the watches for a sender; mu is held.
func (s *Senders) answer(to *sender) (a Answer) {
	hash := fnv.New64a()
	for _, service := range slices.Sorted(maps.Keys(s.watches)) {
		w := s.watches[service]
		now := time.Now()
		w.Clock, w.Read = w.Clock.Add(now.Sub(w.Read)), now
		if _, ok := w.live(); !ok || !to.has(service) {
			continue
		}
		w.Shippers = s.count(service)
		a.Watches = append(a.Watches, w)
		fmt.Fprintf(hash, "%s %d\n", service, w.Written.UnixNano())
		a.Version = fmt.Sprintf("%016x", hash.Sum64())
	}
	return a
}

// count returns the number of senders that have a service; mu is held.
func (s *Senders) count(service string) (n int) {
	for _, one := range s.all {
		if one.has(service) {
			n++
		}
	}
	return n
}

// set sets the live watches.
func (s *Senders) set(all map[string]Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeAbsent()
	same := maps.EqualFunc(s.watches, all, func(a, b Watch) bool { return a.Written.Equal(b.Written) })
	s.watches = all
	if !same {
		s.changed.Notify()
	}
}

// Services returns the services of all senders, in order of name, without duplicates.
func (s *Senders) Services() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeAbsent()
	all := map[string]bool{}
	for _, one := range s.all {
		for _, service := range one.services {
			all[service] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// wait waits until all senders that have a service have flushed what they had read at a time of storage's clock, or until a time of this
// process's clock.
func (s *Senders) wait(ctx context.Context, service string, asked, until time.Time) {
	timeout := time.NewTimer(time.Until(until))
	defer timeout.Stop()
	for {
		reported := s.reported.Next()
		if to, limited := s.flushed(service, asked, false); !limited || !to.Before(asked) {
			return
		}
		select {
		case <-reported:
		case <-timeout.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// flushed returns a time by storage's clock up to which all senders that have a service have flushed it; it is not limited if no
// sender has it, and zero while there may be senders that have not polled yet. If late is set, those that have not flushed since they
// were asked, at a time of storage's clock, are not waited for: for them it is that time.
func (s *Senders) flushed(service string, asked time.Time, late bool) (to time.Time, limited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limited = !late && time.Since(s.began) < SendersTimeout
	for _, one := range s.all {
		if !one.has(service) || one.polls == 0 && time.Since(one.seen) > absence {
			continue
		}
		t := one.flushed[service]
		if late {
			t = later(t, asked)
		}
		if !limited || t.Before(to) {
			to, limited = t, true
		}
	}
	return to, limited
}
