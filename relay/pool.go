package relay

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"logstow/internal/certs"
	"logstow/store"
)

const (
	// askEvery is the maximum age of what is known about the relays.
	askEvery = 30 * time.Second
	// askTimeout limits the time for a response about one relay.
	askTimeout = 5 * time.Second
	// sendTimeout limits the time for the response to a segment: more than a relay waits for space.
	sendTimeout = 90 * time.Second
	// maxRelays is the maximum number of addresses of all hosts.
	maxRelays = 256
	// pingAfter is the time without data after which a connection is checked.
	pingAfter = 10 * time.Second
)

// pool knows which relays there are, at which addresses.
type pool struct {
	name      string
	addresses Addresses
	token     string
	tls       *tls.Config
	log       *slog.Logger

	// asking is held while relays are asked who they are.
	asking sync.Mutex

	mu sync.Mutex
	// known are the relays that responded last, by ID; asked is when.
	known map[string]*member
	asked time.Time
	// failure is why there is none.
	failure error
	// clients are by host name, which is that of the certificate.
	clients map[string]*http.Client
}

// member is a relay.
type member struct {
	Info
	// host is the name of the host, address one of its addresses, with the port.
	host, address string
	// refusedUntil is the time until which it takes no segments.
	refusedUntil time.Time
	// down is set if it did not respond to a segment.
	down bool
}

func newPool(addresses Addresses, opts Options) (*pool, error) {
	p := &pool{
		name:      opts.Name,
		addresses: addresses,
		token:     opts.Token,
		log:       opts.Log,
		known:     map[string]*member{},
		clients:   map[string]*http.Client{},
	}
	if opts.CAFile != "" {
		roots, err := certs.Authorities(opts.CAFile)
		if err != nil {
			return nil, &store.Error{Op: "open", Object: opts.Name, Class: store.ErrInvalid, Err: err}
		}
		p.tls = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return p, nil
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.clients {
		c.CloseIdleConnections()
	}
}

// client returns the client for a host.
func (p *pool) client(host string) *http.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.clients[host]; c != nil {
		return c
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if p.tls != nil {
		config = p.tls.Clone()
	}
	config.ServerName = host
	t := &http.Transport{
		DialContext: (&net.Dialer{Timeout: askTimeout}).DialContext, TLSClientConfig: config, TLSHandshakeTimeout: askTimeout,
		IdleConnTimeout: time.Minute, Protocols: new(http.Protocols),
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: askTimeout},
	}
	t.Protocols.SetHTTP2(true)
	t.Protocols.SetUnencryptedHTTP2(true)
	c := &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	p.clients[host] = c
	return c
}

// exchange is a request to a relay. op and object are those of its errors.
type exchange struct {
	op, object, method, path string
	header                   http.Header
	body                     []byte
}

// exchange sends a request, and returns the response if it has status 200. Otherwise the error is a [store.Error], whose Status is 0 if
// there is no response.
func (p *pool) exchange(ctx context.Context, m *member, x exchange) (*http.Response, error) {
	scheme := "http"
	if p.addresses.Secure {
		scheme = "https"
	}
	r, err := http.NewRequestWithContext(ctx, x.method, scheme+"://"+m.address+x.path, bytes.NewReader(x.body))
	if err != nil {
		return nil, &store.Error{Op: x.op, Object: x.object, Class: store.ErrInvalid, Err: err}
	}
	r.Host = m.host
	maps.Copy(r.Header, x.header)
	if p.token != "" {
		r.Header.Set("Authorization", "Bearer "+p.token)
	}
	host, _, _ := net.SplitHostPort(m.host)
	response, err := p.client(host).Do(r)
	switch {
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	case err == nil && response.StatusCode == http.StatusOK:
		return response, nil
	case err == nil:
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode == http.StatusMisdirectedRequest { // another relay is at the address now
			p.update(m.ID, func(m *member) { m.down = true })
		}
		return nil, responseError(x.op, x.object, response)
	}
	return nil, &store.Error{Op: x.op, Object: x.object, Class: store.ErrUnavailable, Err: err}
}

// choose returns the ID of the relay for a service: of those that take segments, the one with the greatest hash of ID and service.
func (p *pool) choose(ctx context.Context, service string) (string, error) {
	if err := p.refresh(ctx, askEvery); err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	best, most := "", uint64(0)
	soonest := time.Duration(0)
	for id, m := range p.known {
		if m.down {
			continue
		}
		if wait := m.refusedUntil.Sub(now); wait > 0 {
			if soonest == 0 || wait < soonest {
				soonest = wait
			}
			continue
		}
		if weight := xxhash.Sum64String(id + " " + service); best == "" || weight > most {
			best, most = id, weight
		}
	}
	switch {
	case best != "":
		return best, nil
	case soonest > 0:
		return "", &store.Error{Op: "send to", Object: p.name, Class: store.ErrThrottled, RetryAfter: soonest, Err: ErrRefused}
	}
	return "", p.unreachable("send to", cmp.Or(p.failure, errDown))
}

var errDown = errors.New("none answered the last segment")

// list returns the relays that respond.
func (p *pool) list(ctx context.Context) (all []Info, err error) {
	if err := p.refresh(ctx, 0); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(p.known)) {
		all = append(all, p.known[id].Info)
	}
	return all, nil
}

// send sends a segment to the relay that it is for.
func (p *pool) send(ctx context.Context, n Name, body []byte, floor string) error {
	m := p.find(n.Relay)
	if m == nil || m.down {
		if err := p.refresh(ctx, time.Second); err != nil {
			return p.unreachable("send to", fmt.Errorf("%w: %w", ErrRefused, err))
		}
		if m = p.find(n.Relay); m == nil {
			return &store.Error{
				Op:     "send",
				Object: n.String(),
				Class:  store.ErrUnavailable,
				Err:    fmt.Errorf("%w: relay %s does not respond at any address of %s", ErrRefused, n.Relay, p.name),
				Hint:   "if the disk of this relay is lost: shipper resend",
			}
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, sendTimeout, errTimeout)
	defer cancel()
	response, err := p.exchange(ctx, m, exchange{
		op: "send", object: n.String() + " to " + m.address, method: http.MethodPut, path: SegmentsPath + n.String(), body: body,
		header: http.Header{FloorHeader: {floor}, "Content-Type": {"application/octet-stream"}},
	})
	if err == nil {
		defer func() { _ = response.Body.Close() }()
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxMessage))
		return nil
	}
	var e *store.Error
	var dial *net.OpError
	switch errors.As(err, &e); {
	case e.Status == 0:
		p.update(n.Relay, func(m *member) { m.down = true })
		if errors.As(err, &dial) && dial.Op == "dial" {
			e.Err = fmt.Errorf("%w: %w", ErrRefused, e.Err)
		}
	case errors.Is(err, store.ErrThrottled):
		p.update(n.Relay, func(m *member) { m.refusedUntil = time.Now().Add(max(e.RetryAfter, time.Second)) })
	}
	return err
}

var errTimeout = errors.New("no response in time")

// ids returns the IDs of the relays that are known.
func (p *pool) ids() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.known))
}

func (p *pool) find(id string) *member {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.known[id]; m != nil {
		found := *m
		return &found
	}
	return nil
}

func (p *pool) update(id string, change func(*member)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.known[id]; m != nil {
		change(m)
		if m.down {
			p.asked = time.Time{}
		}
	}
}

// refresh asks the relays who they are, if that is longer ago than age.
func (p *pool) refresh(ctx context.Context, age time.Duration) error {
	p.asking.Lock()
	defer p.asking.Unlock()
	p.mu.Lock()
	known, fresh := len(p.known) > 0, time.Since(p.asked) < age
	p.mu.Unlock()
	if known && fresh {
		return nil
	}
	members, err := p.ask(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, m := range members {
		if old := p.known[id]; old != nil {
			m.refusedUntil = old.refusedUntil
		} else {
			p.log.Info("relay found", "relay", id, "instance", m.Instance, "address", m.address)
		}
	}
	p.known, p.failure, p.asked = members, err, time.Now()
	if len(members) == 0 {
		return p.unreachable("find", cmp.Or(err, errDown))
	}
	return nil
}

// ask asks all addresses.
func (p *pool) ask(ctx context.Context) (map[string]*member, error) {
	type target struct{ host, address string }
	var targets []target
	var errs []error
	for _, host := range p.addresses.Hosts {
		name, port, _ := net.SplitHostPort(host)
		resolving, cancel := context.WithTimeout(ctx, askTimeout)
		found, err := net.DefaultResolver.LookupHost(resolving, name)
		cancel()
		if err != nil {
			errs = append(errs, err)
		}
		for _, one := range found {
			targets = append(targets, target{host, net.JoinHostPort(one, port)})
		}
	}
	targets = targets[:min(len(targets), maxRelays)]
	members := make([]*member, len(targets))
	failures := make([]error, len(targets))
	var group sync.WaitGroup
	for i, t := range targets {
		group.Go(func() { members[i], failures[i] = p.askOne(ctx, t.host, t.address, nil) })
	}
	group.Wait()
	byID := make(map[string]*member)
	for i, m := range members {
		switch {
		case m == nil:
			errs = append(errs, failures[i])
		case byID[m.ID] == nil: // a host may have the same relay at several addresses
			byID[m.ID] = m
		}
	}
	return byID, errors.Join(errs...)
}

// permits returns an error if a relay does not allow segments of a service and class to this sender.
func (p *pool) permits(ctx context.Context, service, class string) error {
	if err := p.refresh(ctx, askEvery); err != nil {
		return err
	}
	p.mu.Lock()
	members := slices.Collect(maps.Values(p.known))
	p.mu.Unlock()
	for _, m := range members {
		if _, err := p.askOne(ctx, m.host, m.address, url.Values{ServiceParameter: {service}, ClassParameter: {class}}); err != nil {
			return err
		}
	}
	return nil
}

// askOne asks one address.
func (p *pool) askOne(ctx context.Context, host, address string, query url.Values) (*member, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, askTimeout, errTimeout)
	defer cancel()
	m := &member{host: host, address: address}
	response, err := p.exchange(ctx, m, exchange{op: "ask", object: address, method: http.MethodGet, path: InfoPath + "?" + query.Encode()})
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(io.LimitReader(response.Body, 4<<10)).Decode(&m.Info); err != nil || !validID(m.ID) {
		return nil, fmt.Errorf("%s is no relay: %w", address, cmp.Or(err, ErrName))
	}
	if m.Version != Version {
		return nil, &store.Error{
			Op:     "use",
			Object: address,
			Class:  store.ErrUnusable,
			Err:    fmt.Errorf("the relay has version %d of the protocol, this shipper %d", m.Version, Version),
			Hint:   "upgrade relays before senders",
		}
	}
	return m, nil
}
