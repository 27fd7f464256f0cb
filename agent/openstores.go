package agent

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"logstow/grant"
	"logstow/store"
	"logstow/store/azure"
	"logstow/store/open"
)

// accountKey is the parameter that names the account in a store's absolute name.
const accountKey = "?account="

// absoluteName is the name of a store that is saved with batches: it names the same
// store from every working directory and, for Azure, with every credential.
func absoluteName(spec string, getenv func(string) string) (string, error) {
	if err := open.Check(spec); err != nil {
		return "", err
	}
	switch scheme, rest, found := strings.Cut(spec, "://"); {
	case !found:
		return filepath.Abs(spec)
	case scheme == grant.Scheme:
		path, err := filepath.Abs(rest)
		return grant.Scheme + "://" + path, err
	case scheme == "azblob" && !strings.Contains(spec, accountKey):
		credential, err := azure.FromEnv(getenv)
		if err != nil {
			return "", err
		}
		return strings.TrimSuffix(spec, "/") + accountKey + credential.AccountName(), nil
	}
	return spec, nil
}

// stores opens stores by their absolute names. Safe for concurrent use.
type stores struct {
	log    *slog.Logger
	getenv func(string) string

	mu     sync.Mutex
	opened []store.Store
}

// open opens a store to write to; its damaged database is repaired.
func (s *stores) open(ctx context.Context, name string) (store.Store, error) {
	st, err := open.Store(ctx, name, open.Options{Getenv: s.getenv, Log: s.log, Repair: true})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, st)
	return st, nil
}

// all are the stores that are open.
func (s *stores) all() []store.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.opened)
}

func (s *stores) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, st := range s.opened {
		errs = append(errs, st.Close())
	}
	s.opened = nil
	return errors.Join(errs...)
}
