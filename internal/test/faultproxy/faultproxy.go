// Package faultproxy is a proxy between a client and the emulator of Azure Storage that injects
// faults of networks and storage: it resets connections, loses responses to requests that were
// applied, responds with errors, slowly or in part, and refuses connections. It is for tests only.
//
// The fault of the Nth request of a [Kind] depends on the seed, the kind and N alone, as long as
// the rules stay the same.
//
// Signatures stay valid: they cover the path, the query and headers, but not the address of the
// server.
package faultproxy

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Options configure a [Proxy].
type Options struct {
	// Blob and Table are the endpoints of the emulator, as in a connection string.
	Blob, Table string
	// Seed makes the faults repeatable.
	Seed uint64
	// AsAzure responds to a create under a taken name, with a credential that may not overwrite, as
	// Azure does: UnauthorizedBlobOverwrite. Azurite responds AuthorizationPermissionMismatch, as
	// if it might not create at all.
	AsAzure bool
	// Delay is the maximum delay of a [Slow] request. Zero is 200 ms.
	Delay time.Duration
}

// A Rule configures how often requests fail, and how.
type Rule struct {
	// Match selects the requests; nil is all of them.
	Match func(Kind, *http.Request) bool
	// Chance of a fault, from 0 to 1.
	Chance float64
	// Faults are drawn from with equal probability; empty is all of them.
	Faults []Fault
}

// Of matches requests of some kinds.
func Of(kinds ...Kind) func(Kind, *http.Request) bool {
	return func(k Kind, _ *http.Request) bool {
		for _, one := range kinds {
			if one == k {
				return true
			}
		}
		return false
	}
}

// Proxy is two running reverse proxies. It is safe for concurrent use.
type Proxy struct {
	// BlobEndpoint and TableEndpoint are used by clients instead of the emulator's own endpoints.
	// They stay the same through an outage.
	BlobEndpoint, TableEndpoint string

	asAzure   bool
	delay     time.Duration
	transport *http.Transport
	fronts    [2]*front

	mu     sync.Mutex
	seed   uint64
	random map[Kind]*rand.Rand
	rules  []Rule
	counts Counts
	active map[Kind]int
}

// Counts are the totals of a proxy.
type Counts struct {
	// Requests counts all that arrived, Faults the injected faults.
	Requests map[Kind]int
	Faults   map[Fault]int
	// Peak is the maximum number of concurrent requests of a kind.
	Peak map[Kind]int
}

// Start starts a proxy without rules: everything is forwarded. Close ends it.
func Start(o Options) (*Proxy, error) {
	if o.Delay == 0 {
		o.Delay = 200 * time.Millisecond
	}
	p := &Proxy{
		asAzure: o.AsAzure,
		delay:   o.Delay,
		seed:    o.Seed,
		transport: &http.Transport{
			DisableCompression:  true,
			MaxIdleConnsPerHost: 64,
		},
		random: map[Kind]*rand.Rand{},
		counts: Counts{Requests: map[Kind]int{}, Faults: map[Fault]int{}, Peak: map[Kind]int{}},
		active: map[Kind]int{},
	}
	for i, endpoint := range []string{o.Blob, o.Table} {
		f, err := p.newFront(endpoint, i == 1)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("start fault proxy for %q: %w", endpoint, err), p.Close())
		}
		p.fronts[i] = f
	}
	p.BlobEndpoint, p.TableEndpoint = p.fronts[0].endpoint, p.fronts[1].endpoint
	return p, nil
}

func (p *Proxy) newFront(endpoint string, tables bool) (*front, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	return startFront(target, func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, target, tables) })
}

// SetRules replaces the rules. The first rule that matches a request decides; a request that no
// rule matches is forwarded. Requests in flight are not affected.
func (p *Proxy) SetRules(rules ...Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = rules
}

// Down begins an outage: connections are cut and new ones refused until Up.
func (p *Proxy) Down() error {
	return errors.Join(p.fronts[0].down(), p.fronts[1].down())
}

// Up ends an outage.
func (p *Proxy) Up() error {
	return errors.Join(p.fronts[0].up(), p.fronts[1].up())
}

// Counts returns the current totals.
func (p *Proxy) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Counts{
		Requests: maps.Clone(p.counts.Requests),
		Faults:   maps.Clone(p.counts.Faults),
		Peak:     maps.Clone(p.counts.Peak),
	}
}

// Close ends the proxy and cuts its connections.
func (p *Proxy) Close() error {
	var err error
	for _, f := range p.fronts {
		if f != nil {
			err = errors.Join(err, f.close())
		}
	}
	p.transport.CloseIdleConnections()
	return err
}

// done ends what draw began.
func (p *Proxy) done(k Kind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active[k]--
}

// draw draws the fault of a request, and a number for its details.
func (p *Proxy) draw(k Kind, r *http.Request) (Fault, uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	random := p.random[k]
	if random == nil {
		random = rand.New(rand.NewPCG(p.seed, uint64(k)))
		p.random[k] = random
	}
	p.counts.Requests[k]++
	p.active[k]++
	p.counts.Peak[k] = max(p.counts.Peak[k], p.active[k])
	// The same number of draws for each request, whatever the rules.
	chance, which, detail := random.Float64(), random.Uint64(), random.Uint64()
	for _, rule := range p.rules {
		if rule.Match != nil && !rule.Match(k, r) {
			continue
		}
		if chance >= rule.Chance {
			break
		}
		faults := rule.Faults
		if len(faults) == 0 {
			faults = allFaults()
		}
		f := faults[which%uint64(len(faults))]
		p.counts.Faults[f]++
		return f, detail
	}
	return None, detail
}
