// Package azure is the store on Azure Blob Storage and Azure Tables.
//
// [Open] takes a credential as found by [FromEnv] and makes no request; errors show with the first
// request. Requests are sent once (Create) or at most three times within seconds (all others):
// longer backoff is left to the caller. Errors are [*store.Error]; classOf decides the class of
// each response, and no error text contains a key, a signature or a connection string.
package azure

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"logstow/internal/logging"
	"logstow/store"
)

// tryTimeout limits one attempt of a request with its body: 8 MiB may take long on a slow line.
const tryTimeout = 5 * time.Minute

// Options configure the container to open.
type Options struct {
	// Container is the container's name; see [CheckContainer].
	Container string
	// Name is the name of the store; "" is azblob://CONTAINER.
	Name string
	// Credential identifies the account and the caller.
	Credential Credential
	// Log receives operational messages: a created container, a fallback. Nil discards them.
	Log *slog.Logger
	// Transport sends the requests. If it is nil, the store makes one that reuses connections,
	// honours the usual proxy variables and never requests compression. A given one must not
	// decompress responses either.
	Transport http.RoundTripper
	// CAFile names a PEM file of certificate authorities, which the store's own transport trusts in
	// addition to the system's; "" is none.
	CAFile string
}

// Store is a container of an account together with the account's tables.
type Store struct {
	container string
	name      string
	blobs     *blobs
	compacted store.Blobs
	tables    *tables
	transport http.RoundTripper
	owned     bool
	// client has the options of all clients.
	client *policy.ClientOptions
	// expiry is when the credential expires, if known.
	expiry func() (time.Time, bool)
}

// Open checks options and credential and makes clients; it sends nothing. The error is
// [store.ErrInvalid] for an invalid container name, and [store.ErrAccessDenied] for an invalid credential.
func Open(ctx context.Context, opts Options) (*Store, error) {
	if opts.Name == "" {
		opts.Name = "azblob://" + opts.Container
	}
	name := opts.Name
	if ctx.Err() != nil {
		return nil, fmt.Errorf("cannot open %s: %w", name, context.Cause(ctx))
	}
	if err := CheckContainer(opts.Container); err != nil {
		return nil, &store.Error{Op: "open", Object: name, Class: store.ErrInvalid, Err: err}
	}
	s, err := open(opts)
	if err != nil {
		err = opts.Credential.scrubber(opts.Container).err(err)
		return nil, &store.Error{Op: "open", Object: name, Class: store.ErrAccessDenied, Err: err}
	}
	return s, nil
}

func open(opts Options) (*Store, error) {
	cred := opts.Credential
	if err := cred.check(); err != nil {
		return nil, err
	}
	if err := cred.checkAddresses(); err != nil {
		return nil, err
	}
	log := logging.OrDiscard(opts.Log)
	if cred.Quoted != "" {
		log.Warn("ignored the quotes around a variable's value: remove them", slog.String("variables", cred.Quoted))
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
		Retry: policy.RetryOptions{
			MaxRetries:    2,
			RetryDelay:    200 * time.Millisecond,
			MaxRetryDelay: 3 * time.Second,
			TryTimeout:    tryTimeout,
			ShouldRetry:   shouldRetry,
		},
		Telemetry: policy.TelemetryOptions{ApplicationID: "logstow"},
	}
	if cred.APIVersion != "" {
		client.PerCallPolicies = []policy.Policy{versionPolicy(cred.APIVersion)}
	}
	s.client = &client
	f := failures{container: opts.Container}
	if cred.Signatures = cred.signatures(); cred.Signatures != nil {
		if _, err := cred.Signatures.Blobs(opts.Container); err != nil {
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
	f.cred = cred
	var err error
	listing := client
	listing.PerCallPolicies = append([]policy.Policy{pageReader{}}, client.PerCallPolicies...)
	if s.blobs, err = newBlobs(f, listing, log); err != nil {
		return nil, err
	}
	if opts.Container == LogsContainer {
		s.compacted = store.NoBlobs(LogsContainer)
	} else {
		f.container, f.compacted = store.CompactedContainer(opts.Container), true
		if s.compacted, err = newBlobs(f, listing, log); err != nil {
			return nil, err
		}
	}
	s.expiry = s.blobs.fail.expiry
	tableClient, err := newTableClient(cred, client)
	if err != nil {
		return nil, err
	}
	s.tables = &tables{service: tableClient, fail: s.blobs.fail}
	return s, nil
}

// newBlobs returns the blobs of f's container.
func newBlobs(f failures, opts policy.ClientOptions, log *slog.Logger) (*blobs, error) {
	client, err := newServiceClient(f.cred, f.container, opts)
	if err != nil {
		return nil, err
	}
	f.scrub = f.cred.scrubber(f.container)
	return &blobs{
		container:  client.NewContainerClient(f.container),
		signatures: f.cred.Signatures,
		name:       f.container,
		fail:       &f,
		log:        log,
	}, nil
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

// Compacted is the container of [CompactedContainer]; [LogsContainer] has none.
func (s *Store) Compacted() store.Blobs { return s.compacted }

// Tables are the account's tables.
func (s *Store) Tables() store.Tables { return s.tables }

// Container is the container's name.
func (s *Store) Container() string { return s.container }

// Now implements store.Store by the date of a response.
func (s *Store) Now(ctx context.Context) (time.Time, error) { return s.blobs.now(ctx) }

// Expires returns when the credential, a SAS or the last token, expires. It returns false for a key, and
// before the first token. Tokens are renewed before they expire, SAS files if their issuer renews them.
func (s *Store) Expires() (time.Time, bool) { return s.expiry() }

// String is the name from [Options]; default azblob://CONTAINER.
func (s *Store) String() string { return s.name }

// IsImmutable reports whether the container has a legal hold or a time-based retention policy, under which no
// blob can be deleted, or version-level immutability, of its own or of the account: then a deleted blob remains as a
// version. One request. See
// https://learn.microsoft.com/azure/storage/blobs/immutable-storage-overview.
func (s *Store) IsImmutable(ctx context.Context) (bool, error) {
	p, err := s.blobs.container.GetProperties(ctx, nil)
	if err != nil {
		return false, s.blobs.fail.wrap(ctx, readBlob, "properties of container "+s.container, err)
	}
	return value(p.HasImmutabilityPolicy) || value(p.HasLegalHold) || value(p.IsImmutableStorageWithVersioningEnabled), nil
}

// Close closes idle connections.
func (s *Store) Close() error {
	if t, ok := s.transport.(*http.Transport); ok && s.owned {
		t.CloseIdleConnections()
	}
	return nil
}
