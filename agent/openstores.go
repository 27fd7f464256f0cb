package agent

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"logstow/store"
	"logstow/store/open"
)

// stores opens stores, each once, and keeps them open. It is safe for concurrent use.
type stores struct {
	log    *slog.Logger
	getenv func(string) string
	// onWritten is called before the first write to a store in a directory, which written returns from then on. It may be nil.
	onWritten func()

	mu sync.Mutex
	// opening has, by absolute name, a lock that is held while the store is opened. Opening may take long; it delays no other store.
	opening map[string]*sync.Mutex
	// opened holds the open stores by absolute name.
	opened map[string]store.Store
	// writtenTo are the directories that this or an earlier run has written to, by absolute name.
	writtenTo []string
	// configured are the stores of new segments.
	configured Stores
}

// newStores makes stores for a shipper of which earlier runs have written to directories with some absolute names.
func newStores(log *slog.Logger, getenv func(string) string, earlier []string) *stores {
	return &stores{log: log, getenv: getenv, writtenTo: earlier, opening: map[string]*sync.Mutex{}, opened: map[string]store.Store{}}
}

// open returns the store that spec names, for writing. It opens the store if it is not open, and then
// repairs a damaged database.
func (s *stores) open(ctx context.Context, spec string) (store.Store, error) {
	name, err := open.Absolute(spec, s.getenv)
	if err != nil {
		return nil, err
	}
	opening := s.lockOf(name)
	opening.Lock()
	defer opening.Unlock()
	if st := s.get(name); st != nil {
		return st, nil
	}
	st, err := open.Store(ctx, spec, open.Options{
		Getenv: s.getenv, Log: s.log, Repair: true, Written: s.wasWritten(name), BeforeWrite: func() { s.addWritten(name) },
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened[name] = st
	return st, nil
}

// lockOf returns the lock for opening a store. There are as many as stores that configurations have named.
func (s *stores) lockOf(name string) *sync.Mutex {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opening[name] == nil {
		s.opening[name] = new(sync.Mutex)
	}
	return s.opening[name]
}

// get returns the open store with an absolute name, nil if there is none.
func (s *stores) get(name string) store.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened[name]
}

// configure sets the stores of new segments.
func (s *stores) configure(configured Stores) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.configured = configured
}

// billed reports whether requests to a store of new segments are billed.
func (s *stores) billed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return billed(s.configured)
}

// wasWritten reports whether this or an earlier run has written to the directory with an absolute name.
func (s *stores) wasWritten(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.writtenTo, name)
}

// addWritten adds a directory that is about to be written to.
func (s *stores) addWritten(name string) {
	s.mu.Lock()
	known := slices.Contains(s.writtenTo, name)
	if !known {
		s.writtenTo = append(s.writtenTo, name)
	}
	s.mu.Unlock()
	if !known && s.onWritten != nil {
		s.onWritten()
	}
}

// written returns the absolute names of the configured stores in directories that this or an earlier run has written to.
func (s *stores) written() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, spec := range s.configured.Every() {
		if _, directory := open.Dir(spec); !directory {
			continue
		}
		name, err := open.Absolute(spec, s.getenv)
		if err == nil && slices.Contains(s.writtenTo, name) {
			names = append(names, name)
		}
	}
	return names
}

// specs returns the stores of new segments, as they were configured.
func (s *stores) specs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.configured.Every()
}

// expiries returns when the credentials of the configured stores expire, where known, by store. It
// does not contain stores that are only open for batches of an earlier configuration.
func (s *stores) expiries() map[string]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	ends := map[string]time.Time{}
	for _, spec := range s.configured.Every() {
		name, err := open.Absolute(spec, s.getenv)
		if err != nil {
			continue
		}
		st := s.opened[name]
		if end, known := store.Expires(st); known {
			ends[st.String()] = end
		}
	}
	return ends
}

// all returns the open stores, in order of name.
func (s *stores) all() (all []store.Store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.opened)) {
		all = append(all, s.opened[name])
	}
	return all
}

func (s *stores) close() error {
	var errs []error
	for _, st := range s.all() {
		errs = append(errs, st.Close())
	}
	return errors.Join(errs...)
}
