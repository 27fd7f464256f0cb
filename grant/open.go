package grant

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"logstow/internal/reread"
	"logstow/store"
	"logstow/store/azure"
)

// nearExpiry is the remaining lifetime below which the file is read again, every rereadInterval, to
// find a renewed grant.
const (
	nearExpiry     = 5 * time.Minute
	rereadInterval = 5 * time.Second
)

// Scheme is the scheme of store names that are opened by a grant: grant://FILE.
const Scheme = "grant"

// Options are the options of [Open]. All fields are optional.
type Options struct {
	// Log and CAFile are passed on to [azure.Open].
	Log    *slog.Logger
	CAFile string
	// Transport sends the requests.
	Transport http.RoundTripper
}

// Store is the part of a store that a grant gives access to. Requests outside of the grant fail with
// [store.ErrAccessDenied]; writes to tables that the grant does not name fail with
// [store.ErrInvalid]. A newer grant for the same service and container may replace the file. After a
// grant for another target has replaced it, every request fails with [store.ErrAccessDenied].
type Store struct {
	*azure.Store
	name             string
	blobs, compacted *blobs
	tables           *tables
}

// Open opens the store that the grant file at path gives access to. It makes no request. An
// unreadable file is [store.ErrAccessDenied].
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	name := Scheme + "://" + path
	source := &signatures{file: reread.New(path, Parse)}
	g, err := source.grant()
	if err != nil {
		return nil, &store.Error{
			Op:     "open",
			Object: name,
			Class:  store.ErrAccessDenied,
			Err:    err,
			Hint:   "create the file with shipper grant",
		}
	}
	source.opened = g
	inner, err := azure.Open(ctx, azure.Options{
		Container: g.Container, Log: opts.Log, CAFile: opts.CAFile, Transport: opts.Transport,
		Credential: azure.Credential{
			Account: g.Account, BlobEndpoint: g.BlobEndpoint, TableEndpoint: g.TableEndpoint, Signatures: source,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", name, err)
	}
	return &Store{
		Store: inner, name: name,
		blobs:     &blobs{Blobs: inner.Blobs(), name: name, of: source.grant},
		compacted: &blobs{Blobs: inner.Compacted(), name: name, of: source.grant},
		tables:    &tables{inner: inner.Tables(), name: name, of: source.grant},
	}, nil
}

// Blobs returns the blobs, limited to the grant's directory.
func (s *Store) Blobs() store.Blobs { return s.blobs }

// Compacted returns the outputs of compaction, limited to the grant's directory.
func (s *Store) Compacted() store.Blobs { return s.compacted }

// Tables returns the tables, limited to those that the grant names.
func (s *Store) Tables() store.Tables { return s.tables }

// Grant returns the current content of the file.
func (s *Store) Grant() (*Grant, error) { return s.blobs.of() }

// String returns grant://FILE.
func (s *Store) String() string { return s.name }

// signatures supplies the signatures of a grant file.
type signatures struct {
	file *reread.File[*Grant]
	// opened is the grant with which the store was opened.
	opened *Grant
}

// grant returns the current grant. A grant for another target than the opened one is an error:
// requests still go to the old target, for which its signatures are not valid.
func (s *signatures) grant() (*Grant, error) {
	g, err := s.file.Get(0)
	if err == nil && time.Until(g.Expires) < nearExpiry {
		g, err = s.file.Get(rereadInterval)
	}
	if err == nil && s.opened != nil && g.target() != s.opened.target() {
		return nil, &store.Error{
			Op: "use", Object: s.String(), Class: store.ErrAccessDenied,
			Err:  fmt.Errorf("it was for %s, and is for %s now", s.opened.target(), g.target()),
			Hint: "restart to use it",
		}
	}
	return g, err
}

// Blobs implements azure.Signatures.
func (s *signatures) Blobs(container string) (azure.Secret, error) {
	g, err := s.grant()
	switch {
	case err != nil:
		return azure.Secret{}, err
	case container == g.Container:
		return g.Blobs, nil
	case !g.Compacted.Set():
		return azure.Secret{}, errors.New("the grant is for shipping: it has no signature for container " + container)
	default:
		return g.Compacted, nil
	}
}

// Table implements azure.Signatures.
func (s *signatures) Table(name string) (azure.Secret, error) {
	g, err := s.grant()
	switch {
	case err != nil:
		return azure.Secret{}, err
	case !g.Tables[name].Set():
		return azure.Secret{}, fmt.Errorf("the grant has no signature for table %s", name)
	}
	return g.Tables[name], nil
}

// String implements azure.Signatures.
func (s *signatures) String() string { return "the grant in " + s.file.Path() }
