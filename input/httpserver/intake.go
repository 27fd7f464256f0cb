package httpserver

import (
	"log/slog"
	"net/http"

	"logstow/input"
	"logstow/input/dedupe"
	"logstow/input/listen"
)

// Limits are the limits of an [Intake].
type Limits struct {
	// MaxServices is the maximum number of services that records may name. Records of further services get the
	// configured service. 0 is [input.DefaultMaxServices].
	MaxServices int
	// MaxBody is the maximum decompressed size of a request in bytes. If it is 0 or larger than
	// [input.MaxReceive], it is [input.MaxReceive].
	MaxBody int
	// MaxMemory is the memory limit of all requests together; 0 is [DefaultMemory].
	MaxMemory int64
}

// IntakeOptions configure an [Intake]. Each protocol uses a part of them.
type IntakeOptions struct {
	input.Options
	Limits
	// ConfiguredService gives all records the configured service. If it is not set, only records without a label or member that names
	// a service get it.
	ConfiguredService bool
	// ServiceFromResource sets the service of a record to the service.name of its resource, converted to a valid name. Records without
	// a service.name get the configured service.
	ServiceFromResource bool
}

// Intake receives the records of one protocol. It is safe for concurrent use.
type Intake struct {
	// IntakeOptions have their defaults filled in.
	IntakeOptions
	// Services holds the services that records have named.
	Services *input.Services

	receiver *input.Receiver
	memory   *listen.Budget
	scope    string
}

// NewIntake returns an Intake. Keys of requests are unique per protocol, which is its name.
func NewIntake(protocol string, opts IntakeOptions) (*Intake, error) {
	receiver, err := input.NewReceiver(opts.Options)
	if err != nil {
		return nil, err
	}
	opts.Options = receiver.Options()
	if opts.MaxBody <= 0 || opts.MaxBody > input.MaxReceive {
		opts.MaxBody = input.MaxReceive
	}
	return &Intake{
		IntakeOptions: opts, Services: input.NewServices(opts.MaxServices, opts.Log),
		receiver: receiver, memory: NewMemory(opts.MaxMemory, opts.Memory), scope: protocol + " " + opts.Service,
	}, nil
}

// LogRejected logs that a request was rejected because of err; what is its name.
func (i *Intake) LogRejected(r *http.Request, what string, err error) {
	i.Log.LogAttrs(r.Context(), slog.LevelDebug, what+" rejected",
		slog.String("from", r.RemoteAddr), slog.Int("status", Status(err)), slog.Any("error", err))
}

// Reject is LogRejected. It also sets the headers of the response, and returns its status, which is [Status].
func (i *Intake) Reject(w http.ResponseWriter, r *http.Request, what string, err error) (status int) {
	i.LogRejected(r, what, err)
	status = Status(err)
	Head(w.Header(), status)
	return status
}

// Lease returns the lease for the memory of a request.
func (i *Intake) Lease() *Lease { return NewLease(i.memory) }

// Body reads the body of a request, see [Body].
func (i *Intake) Body(r *http.Request, lease *Lease) ([]byte, error) {
	return Body(r.Body, r.Header.Get("Content-Encoding"), i.MaxBody, lease)
}

// Store stores the records of a request. They are durable if it returns nil. content is the body of the request. If
// the request has a key, Store skips the records that an earlier request with the key has stored, see [KeyHeader].
func (i *Intake) Store(r *http.Request, content []byte, batches []input.Batch) error {
	if key := r.Header.Get(KeyHeader); key != "" {
		return i.receiver.ReceiveOnce(r.Context(), dedupe.NewKey(i.scope, key, content), batches)
	}
	return i.StoreParts(r, content, batches)
}

// StoreParts is [Intake.Store] for protocols whose requests have no keys.
func (i *Intake) StoreParts(r *http.Request, content []byte, batches []input.Batch) error {
	return i.receiver.ReceiveBatches(r.Context(), i.scope, content, batches)
}
