package agent

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"logstow/store/open"
)

// Stores are the stores that segments are written to, as they were given.
type Stores struct {
	// All are those of every service that has none of its own.
	All []string
	// Own are those of single services.
	Own map[string][]string
}

// Every is each store once.
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

// try opens every store, which asks none of them anything: what is missing to one of
// several is told at once, and not when the first segment is to go there.
func (s Stores) try(ctx context.Context) error {
	var errs []error
	for _, spec := range s.Every() {
		st, err := open.Store(ctx, spec, open.Options{Getenv: os.Getenv})
		if err == nil {
			err = st.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// String is for people.
func (s Stores) String() string { return strings.Join(s.Every(), ", ") }

func (s Stores) equal(other Stores) bool {
	return slices.Equal(s.All, other.All) && (len(s.Own)+len(other.Own) == 0 || reflect.DeepEqual(s.Own, other.Own))
}

// route picks the store of a new segment by its lasting name; nil is the only one there is.
func (s Stores) route() (func(service, instance string) string, error) {
	lasting := map[string]string{}
	for _, spec := range s.Every() {
		name, err := lastingName(spec)
		if err != nil {
			return nil, fmt.Errorf("store %s: %w", open.Shown(spec), err)
		}
		lasting[spec] = name
	}
	if len(lasting) == 1 {
		return nil, nil //nolint:nilnil // documented
	}
	return func(service, instance string) string {
		of, ok := s.Own[service]
		if !ok {
			of = s.All
		}
		return lasting[choice(of, service, instance)]
	}, nil
}

// choice is one of several stores: always the same one for a service and instance. A
// store that is added takes its share from the others, and moves nothing between these
// (rendezvous hashing).
func choice(stores []string, service, instance string) (chosen string) {
	var most uint64
	for _, name := range stores {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s\x00%s\x00%s", service, instance, name)
		weight := h.Sum64() * 0x9e3779b97f4a7c15 // its last bytes alone change little in its first bits
		weight ^= weight >> 32
		weight *= 0xd6e8feb86659fd93
		if chosen == "" || weight > most {
			chosen, most = name, weight
		}
	}
	return chosen
}
