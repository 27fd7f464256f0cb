package httpserver

import (
	"net/http"

	"logstow/input"
	"logstow/input/dedupe"
)

// Limits are the limits of an [Intake].
type Limits struct {
	// MaxServices is the maximum number of services that records name; records of further ones get the configured
	// one. 0 is [input.DefaultMaxServices].
	MaxServices int
	// MaxBody is the maximum decompressed size of a request in bytes; 0, and any larger value, is
	// [input.MaxReceive].
	MaxBody int
	// MaxMemory is the memory limit of all requests together; 0 is [DefaultMemory].
	MaxMemory int64
}

// Intake receives the records of one protocol. Safe for concurrent use.
type Intake struct {
	// Options and Limits are complete.
	Options input.Options
	Limits  Limits
	// Services are those that records name.
	Services *input.Services

	receiver *input.Receiver
	memory   *Memory
	scope    string
}

// NewIntake makes an Intake. protocol names it: requests with the same key over another one differ.
func NewIntake(protocol string, opts input.Options, limits Limits) (*Intake, error) {
	opts, err := opts.WithDefaults()
	if err != nil {
		return nil, err
	}
	receiver, err := input.NewReceiver(opts)
	if err != nil {
		return nil, err
	}
	if limits.MaxBody <= 0 || limits.MaxBody > input.MaxReceive {
		limits.MaxBody = input.MaxReceive
	}
	return &Intake{
		Options: opts, Limits: limits, Services: input.NewServices(limits.MaxServices, opts.Log),
		receiver: receiver, memory: NewMemory(limits.MaxMemory, opts.Memory), scope: protocol + " " + opts.Service,
	}, nil
}

// Lease begins a request.
func (i *Intake) Lease() *Lease { return i.memory.Lease() }

// Body is [Body] with the encoding of a request.
func (i *Intake) Body(r *http.Request, lease *Lease) ([]byte, error) {
	return Body(r.Body, r.Header.Get("Content-Encoding"), i.Limits.MaxBody, lease)
}

// Store stores the records of a request with a content: after nil they are durable. If the request has a key,
// what is stored of one with the same key is not stored again, see [KeyHeader].
func (i *Intake) Store(r *http.Request, content []byte, batches []input.Batch) error {
	if key := r.Header.Get(KeyHeader); key != "" {
		return i.receiver.ReceiveOnce(r.Context(), dedupe.NewKey(i.scope, key, content), batches)
	}
	return i.StoreParts(r, content, batches)
}

// StoreParts is Store for protocols whose requests have no keys.
func (i *Intake) StoreParts(r *http.Request, content []byte, batches []input.Batch) error {
	return i.receiver.ReceiveBatches(r.Context(), i.scope, content, batches)
}
