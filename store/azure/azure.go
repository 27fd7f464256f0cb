// Package azure is the store on Azure Blob Storage and Azure Tables.
//
// [Open] takes a credential as [FromEnv] finds it and makes no request; what is
// wrong shows with the first request that needs it. Requests are made once
// (Create) or tried at most three times within seconds (the rest): longer
// back-off belongs to the caller, who knows what can wait. Errors are
// [*store.Error]; which answer is of which class is decided in classOf, and no
// error text holds a key, a signature or a connection string.
package azure

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"logstow/store"
)

// tryTimeout bounds one try of one request with its body; generous, for 8 MiB on a slow line.
const tryTimeout = 5 * time.Minute

// Options say which container to open, and how.
type Options struct {
	// Container is the container's name; see [CheckContainer].
	Container string
	// Name is what the store calls itself; "" is azblob://CONTAINER.
	Name string
	// Credential says which account, and who asks.
	Credential Credential
	// Log receives what an operator may want to know: a container created, a
	// fallback taken. Nil is silence.
	Log *slog.Logger
	// Transport carries the requests; nil is one of the store's own, which reuses
	// connections, honours the usual proxy variables and never asks for
	// compression. Another one must not decompress either.
	Transport http.RoundTripper
	// CAFile names a file of certificate authorities, PEM, which the store's own
	// transport trusts beside the system's; "" is none.
	CAFile string
}

// Store is a container of an account together with the account's tables.
type Store struct {
	container string
	name      string
	blobs     *blobs
	tables    *tables
	transport http.RoundTripper
	owned     bool
	// client is what clients are made with.
	client *policy.ClientOptions
	// expiry is when the credential ends, where that is known.
	expiry func() (time.Time, bool)
}

// Open checks options and credential and makes clients; it sends nothing. A
// wrong container name is [store.ErrInvalid], a wrong credential [store.ErrAccessDenied].
func Open(ctx context.Context, opts Options) (*Store, error) {
	if opts.Name == "" {
		opts.Name = "azblob://" + opts.Container
	}
	name := opts.Name
	if ctx.Err() != nil {
		return nil, fmt.Errorf("open %s: %w", name, context.Cause(ctx))
	}
	if err := CheckContainer(opts.Container); err != nil {
		return nil, &store.Error{Op: "open", Object: name, Class: store.ErrInvalid, Err: err}
	}
	s, err := open(opts)
	if err != nil {
		err = opts.Credential.scrubber().err(err)
		return nil, &store.Error{Op: "open", Object: name, Class: store.ErrAccessDenied, Err: err}
	}
	return s, nil
}

func open(opts Options) (*Store, error) {
	cred := opts.Credential
	if err := cred.check(); err != nil {
		return nil, err
	}
	log := opts.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Store{container: opts.Container, name: opts.Name, transport: opts.Transport}
	if s.transport == nil {
		own, err := newTransport(opts.CAFile)
		if err != nil {
			return nil, err
		}
		s.transport, s.owned = own, true
	}
	client := policy.ClientOptions{
		Transport: newHTTPClient(s.transport),
		Retry:     policy.RetryOptions{MaxRetries: 2, RetryDelay: 200 * time.Millisecond, MaxRetryDelay: 3 * time.Second, TryTimeout: tryTimeout},
		Telemetry: policy.TelemetryOptions{ApplicationID: "logstow"},
	}
	s.client = &client
	f := &failures{container: opts.Container}
	if cred.Signatures = cred.signatures(); cred.Signatures != nil {
		if _, err := cred.Signatures.Blobs(); err != nil {
			return nil, err
		}
	} else if !cred.Key.Set() {
		source := cred.Token
		if source == nil {
			var err error
			if source, err = newTokens(cred, client); err != nil {
				return nil, fmt.Errorf("%s: %w", cred.kind(), err)
			}
		}
		f.tokens = &tokenSource{TokenCredential: source}
		cred.Token = f.tokens
	}
	f.cred, f.scrub = cred, cred.scrubber()
	s.expiry = f.expiry
	listing := client
	listing.PerCallPolicies = []policy.Policy{pageReader{}}
	blobClient, err := newContainerClient(cred, opts.Container, listing)
	if err != nil {
		return nil, err
	}
	tableClient, err := newTableClient(cred, client)
	if err != nil {
		return nil, err
	}
	s.blobs = &blobs{container: blobClient, signatures: cred.Signatures, name: opts.Container, fail: f, log: log}
	s.tables = &tables{service: tableClient, fail: f}
	return s, nil
}

func newContainerClient(cred Credential, name string, opts policy.ClientOptions) (*container.Client, error) {
	url := cred.BlobEndpoint + "/" + name
	switch {
	case cred.Key.Set():
		key, err := container.NewSharedKeyCredential(cred.Account, cred.Key.Reveal())
		if err != nil {
			return nil, err
		}
		return container.NewClientWithSharedKeyCredential(url, key, &container.ClientOptions{ClientOptions: opts})
	case cred.Signatures != nil:
		opts.PerRetryPolicies = []policy.Policy{signerOfBlobs(cred.Signatures)}
		return container.NewClientWithNoCredential(url, &container.ClientOptions{ClientOptions: opts})
	default:
		return container.NewClient(url, cred.Token, &container.ClientOptions{ClientOptions: opts})
	}
}

func newTableClient(cred Credential, opts policy.ClientOptions) (*aztables.ServiceClient, error) {
	switch {
	case cred.Key.Set():
		key, err := aztables.NewSharedKeyCredential(cred.Account, cred.Key.Reveal())
		if err != nil {
			return nil, err
		}
		return aztables.NewServiceClientWithSharedKey(cred.TableEndpoint, key, &aztables.ClientOptions{ClientOptions: opts})
	case cred.Signatures != nil:
		opts.PerRetryPolicies = []policy.Policy{signerOfTables(cred.Signatures)}
		return aztables.NewServiceClientWithNoCredential(cred.TableEndpoint, &aztables.ClientOptions{ClientOptions: opts})
	default:
		return aztables.NewServiceClient(cred.TableEndpoint, cred.Token, &aztables.ClientOptions{ClientOptions: opts})
	}
}

// Blobs is the container.
func (s *Store) Blobs() store.Blobs { return s.blobs }

// Tables are the account's tables.
func (s *Store) Tables() store.Tables { return s.tables }

// Container is the container's name.
func (s *Store) Container() string { return s.container }

// Now implements store.Store by the date of an answer.
func (s *Store) Now(ctx context.Context) (time.Time, error) { return s.blobs.now(ctx) }

// Expires is when the credential ends, of a SAS or of the last token; it is false
// where that is not known: for a key, and before the first token. Tokens and SAS
// files are renewed before it, where whoever gives them does.
func (s *Store) Expires() (time.Time, bool) { return s.expiry() }

// String is the name of [Options], azblob://CONTAINER unless another was given.
func (s *Store) String() string { return s.name }

// Close closes idle connections.
func (s *Store) Close() error {
	if t, ok := s.transport.(*http.Transport); ok && s.owned {
		t.CloseIdleConnections()
	}
	return nil
}
