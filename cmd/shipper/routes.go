package main

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

	ucli "github.com/urfave/cli/v2"

	"logstow/config"
	"logstow/store/open"
)

// storeNames are the stores that segments go to, as they were given.
type storeNames struct {
	// all are those of every service that has none of its own.
	all []string
	// own are those of single services.
	own map[string][]string
}

// readStores takes the stores from the command line, where one is for all; else from the
// file, in which an input can have its own; else from LOGSTOW_STORE.
func readStores(errs *problems, c *ucli.Context, file *config.Config, inputs []config.Input) storeNames {
	if spec := c.String("store"); spec != "" {
		return storeNames{all: []string{spec}}
	}
	names := storeNames{all: file.Stores, own: map[string][]string{}}
	if spec := os.Getenv("LOGSTOW_STORE"); spec != "" && len(names.all) == 0 {
		names.all = []string{spec}
	}
	for i := range inputs {
		in := &inputs[i]
		if len(in.Stores) == 0 {
			continue
		}
		other, given := names.own[in.Service]
		errs.check(!given || slices.Equal(other, in.Stores), "the input in line %d: another input stores %s elsewhere; a service has one store, or one list of them", in.Line, in.Service)
		names.own[in.Service] = in.Stores
	}
	if len(names.all) > 0 {
		return names
	}
	missing := len(names.own) == 0
	for i := range inputs {
		missing = missing || names.own[inputs[i].Service] == nil || inputs[i].HTTP.ServiceFromResource
	}
	errs.advise(!missing, "--store is missing", "give a directory or azblob://CONTAINER, set LOGSTOW_STORE, or give every input its own in the configuration")
	for _, service := range slices.Sorted(maps.Keys(names.own)) {
		names.all = names.own[service] // nothing else goes there
		break
	}
	return names
}

// every is each store once.
func (s storeNames) every() []string {
	every := slices.Clone(s.all)
	for _, service := range slices.Sorted(maps.Keys(s.own)) {
		every = append(every, s.own[service]...)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(every, func(name string) bool {
		defer func() { seen[name] = true }()
		return seen[name]
	})
}

// try opens every store, which asks none of them anything: what is missing to one of
// several is told at once, and not when the first segment is to go there.
func (s storeNames) try(ctx context.Context) error {
	var errs []error
	for _, spec := range s.every() {
		st, err := open.Store(ctx, spec, open.Options{Getenv: os.Getenv})
		if err == nil {
			err = st.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// String is for people.
func (s storeNames) String() string { return strings.Join(s.every(), ", ") }

func (s storeNames) equal(other storeNames) bool {
	return slices.Equal(s.all, other.all) && (len(s.own)+len(other.own) == 0 || reflect.DeepEqual(s.own, other.own))
}

// route picks the store of a new segment by its lasting name; nil is the only one there is.
func (s storeNames) route() (func(service, instance string) string, error) {
	lasting := map[string]string{}
	for _, spec := range s.every() {
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
		of, ok := s.own[service]
		if !ok {
			of = s.all
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
