// Package relay receives the segments of other shippers and appends their records to the buffer, which pools them: see package
// [logstow/relay] for the protocol.
//
// # Content of a record
//
// Everything is as in the segment: time, level, source, attributes, message, service, class, parser and instance. Nothing is recognized,
// redacted or limited again: the sender has done it. Blocks are stored as they were sent, without compressing them again.
//
// # Loss
//
// A segment is acknowledged when it is durable in the buffer. Its number is stored in the same write as its records, so that one that
// is sent again is not appended again.
package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/input/listen"
	"logstow/relay"
	"logstow/watch"
)

// Spec configures the input.
type Spec struct {
	// Tokens maps what a token allows to the token: a list of SERVICE or SERVICE:CLASS, with wildcards. Without any, every sender
	// may send everything.
	Tokens map[string]string
}

// errVolatile refuses a buffer in memory: its end would lose what was acknowledged, and its ID, for which senders would wait forever
// with what they had no response to.
var errVolatile = errors.New("relay input: a relay needs a buffer on disk, since it keeps what senders have removed: use --buffer-dir instead of --buffer memory")

// Kind implements [input.Spec].
func (*Spec) Kind() input.Kind {
	return input.Kind{
		Name:         "relay",
		Usage:        "`ADDRESS`: receive the segments of shippers with --store relay://HOST:PORT, such as :4319, and pool them",
		CheckAddress: listen.CheckAddress, ServiceFromRecords: true, Segments: true,
	}
}

// Keys implements [input.Spec].
func (s *Spec) Keys() []input.Key {
	return []input.Key{{Name: "tokens", To: &s.Tokens, Check: httpserver.CheckToken}}
}

// Open implements [input.Spec].
func (s *Spec) Open(ctx context.Context, with input.Opening) (input.Reader, error) {
	allowed, err := newScopes(s.Tokens)
	if err != nil {
		return nil, fmt.Errorf("relay input: %w", err)
	}
	if with.Volatile {
		return nil, errVolatile
	}
	if with.DropsOldest {
		with.Log.Warn("a relay with --on-full drop-oldest loses what it has acknowledged when its buffer is full: with block, senders keep it")
	}
	opts, err := with.Options.WithDefaults()
	if err != nil {
		return nil, err
	}
	h := &handler{
		opts: opts, instance: with.Instance, observe: with.Observe, id: with.BufferID, scopes: allowed, followers: with.Senders,
		memory: httpserver.NewMemory(relay.MaxSegment, opts.Memory), decoding: make(chan struct{}, maxDecoding), patience: patience,
	}
	if h.followers == nil {
		h.followers = watch.NewSenders()
	}
	server, err := httpserver.New(ctx, httpserver.Options{Endpoint: with.Endpoint, Denied: &opts.Stats.Denied, Log: opts.Log}, h)
	if err != nil {
		return nil, fmt.Errorf("relay input: %w", err)
	}
	return &reader{server, h}, nil
}

// reader is the server of a relay.
type reader struct {
	*httpserver.Server
	handler *handler
}

// Run implements [input.Reader]. It reads the state of the senders first: another relay input of the buffer, which a reload replaces, has
// ended by then.
func (r *reader) Run(ctx context.Context) error {
	r.handler.stopping = ctx
	r.handler.followers.Begin()
	r.handler.senders = loadSenders(r.handler.opts.Sink.Positions(prefix), r.handler.opts.Now)
	return r.Server.Run(ctx)
}

const (
	// maxDecoding is the number of segments that are decoded at the same time; others wait.
	maxDecoding = 2
	// patience is how long a segment waits for space in the buffer before its sender is told to try again.
	patience = 15 * time.Second
)
