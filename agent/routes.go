package agent

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"strings"

	"logstow/store/open"
)

// Stores are the stores that segments are written to, as they were configured.
type Stores struct {
	// All are the stores of the services that are not in Own.
	All []string
	// Own are the stores of single services.
	Own map[string][]string
}

// Every returns each store of All and Own once.
func (s Stores) Every() []string {
	every := slices.Clone(s.All)
	for _, service := range slices.Sorted(maps.Keys(s.Own)) {
		every = append(every, s.Own[service]...)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(every, func(name string) bool {
		defer func() { seen[name] = true }()
		return seen[name]
	})
}

// try opens and closes every store, without any request. So a missing credential is reported at the
// start and not when the first segment is uploaded.
func (s Stores) try(ctx context.Context, getenv func(string) string) error {
	var errs []error
	for _, spec := range s.Every() {
		st, err := open.Store(ctx, spec, open.Options{Getenv: getenv})
		if err == nil {
			err = st.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// String lists the stores.
func (s Stores) String() string { return strings.Join(s.Every(), ", ") }

func (s Stores) equal(other Stores) bool {
	return slices.Equal(s.All, other.All) && (len(s.Own)+len(other.Own) == 0 || reflect.DeepEqual(s.Own, other.Own))
}

// route returns the function that picks the store of a new segment, by absolute name. It is nil if
// there is only one store.
func (s Stores) route(getenv func(string) string) (func(service, instance string) string, error) {
	absolute := map[string]string{}
	for _, spec := range s.Every() {
		name, err := open.Absolute(spec, getenv)
		if err != nil {
			return nil, fmt.Errorf("store %s: %w", open.Shown(spec), err)
		}
		absolute[spec] = name
	}
	if len(absolute) == 1 {
		return nil, nil //nolint:nilnil // documented
	}
	return func(service, instance string) string {
		stores, ok := s.Own[service]
		if !ok {
			stores = s.All
		}
		return absolute[choice(stores, service, instance)]
	}, nil
}

// choice picks one of several stores by rendezvous hashing: always the same one for a service and
// instance. Adding a store reassigns some services and instances to it, and none between the others.
func choice(stores []string, service, instance string) (chosen string) {
	var highest uint64
	for _, name := range stores {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s\x00%s\x00%s", service, instance, name)
		weight := h.Sum64() * 0x9e3779b97f4a7c15 // mix: FNV's last bytes hardly change its first bits
		weight ^= weight >> 32
		weight *= 0xd6e8feb86659fd93
		if chosen == "" || weight > highest {
			chosen, highest = name, weight
		}
	}
	return chosen
}
