package main

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"logstow/archive/converted"
	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/units"
	"logstow/query"
	"logstow/query/cache"
	"logstow/query/output"
	"logstow/store"
	"logstow/store/open"
)

// withStores calls use with the stores of the command line, and closes them.
func (e *environment) withStores(ctx context.Context, c *ucli.Context, use func([]query.Store) error) error {
	stores, closeAll, err := e.openStores(ctx, c)
	if err != nil {
		return err
	}
	return errors.Join(use(stores), closeAll())
}

// openStores opens the stores named by --store or the environment, or the files of --file as one. close closes them.
func (e *environment) openStores(ctx context.Context, c *ucli.Context) (stores []query.Store, closeAll func() error, err error) {
	if ofFiles(c) {
		return e.openFiles(ctx, c)
	}
	files, err := readLayout(c)
	if err != nil {
		return nil, nil, err
	}
	specs := e.storeSpecs(cli.List(c, "store"), cli.List(c, "grant"))
	if files != nil {
		if specs, err = e.expand(ctx, c, specs); err != nil {
			return nil, nil, err
		}
	} else if i := slices.IndexFunc(specs, func(s string) bool { return remote(s) && strings.HasSuffix(s, "*") }); i >= 0 {
		return nil, nil, hint.Wrap(cli.Usagef("--store %s: several containers require --layout", specs[i]),
			"repeat --store, or give the layout of another program's logs, such as --layout azure")
	}
	if len(specs) == 0 {
		return nil, nil, hint.Wrap(cli.Usagef("no store given"), "give --store DIR or --store azblob://CONTAINER, or set LOGSTOW_STORE")
	}
	var opened []store.Store
	var archives []*converted.Store
	var kept *cache.Cache
	closeAll = func() (err error) {
		for _, a := range archives {
			err = errors.Join(err, a.Close())
		}
		for _, s := range opened {
			err = errors.Join(err, s.Close())
		}
		if kept != nil && ctx.Err() == nil {
			err = errors.Join(err, kept.Close(ctx))
		}
		return err
	}
	if files == nil && slices.ContainsFunc(specs, remote) {
		if kept, err = e.cache(c); err != nil {
			return nil, nil, err
		}
	}
	for _, spec := range specs {
		with := open.Options{Getenv: e.getenv, Auth: c.String("auth"), Notice: func(err error) { e.warnUnused(spec, err) }}
		if files != nil {
			with.LeftOut = e.warnLeftOut(spec)
		}
		s, err := open.Store(ctx, spec, with)
		if errors.Is(err, store.ErrInvalid) {
			err = cli.Usagef("%w", err)
		}
		switch {
		case err == nil:
		case len(specs) > 1 && !errors.Is(err, store.ErrInvalid):
			stores = append(stores, query.Store{
				Name:      open.Shown(spec),
				Blobs:     unopened{err},
				Compacted: unopened{err},
				Tables:    unopened{err},
				Free:      true,
			})
			continue
		default:
			return nil, nil, errors.Join(err, closeAll())
		}
		opened = append(opened, s)
		if c.String("plan") == "index" {
			e.warnPending(s)
		}
		if e.observe != nil {
			s = e.observe(s)
		}
		reading := query.ReadOnly(s)
		if reading.Free = !remote(spec); !reading.Free {
			reading.Cache = kept
		}
		if files != nil {
			var made *converted.Store
			reading, made = e.archiveOf(c, files, spec, reading)
			archives = append(archives, made)
		}
		stores = append(stores, reading)
	}
	return stores, closeAll, nil
}

// storeSpecs are the stores, and those of grants; if there are none, that of the environment.
func (e *environment) storeSpecs(stores, grants []string) []string {
	for _, file := range grants {
		stores = append(stores, "grant://"+file)
	}
	if spec := e.getenv("LOGSTOW_STORE"); len(stores) == 0 && spec != "" {
		return []string{spec}
	}
	return stores
}

// warnUnused warns that the database of a directory is not used, with a hint.
func (e *environment) warnUnused(spec string, err error) {
	advice := "run shipper reindex --store " + spec
	var known *store.Error
	if errors.As(err, &known) {
		bare := *known
		err, bare.Hint, advice = &bare, "", cmp.Or(known.Hint, advice)
	}
	e.printf("%s: %v; blobs are listed without the database, which takes longer", open.Shown(spec), err)
	e.hint(advice)
}

// warnLeftOut returns a function that warns of files in a directory with logs of another program that cannot be read.
func (e *environment) warnLeftOut(spec string) func(name, why string) {
	const most = 3
	n := 0
	return func(name, why string) {
		switch n++; {
		case n <= most:
			e.printf("%s: %s is left out: %s", spec, output.Visible(name), why)
		case n == most+1:
			e.printf("%s: more files are left out", spec)
		}
	}
}

// warnPending warns of an index that is known to be incomplete.
func (e *environment) warnPending(s store.Store) {
	if id, err := store.PendingReindex(s); id != "" && err == nil {
		e.printf("%s: the index is incomplete: its database was replaced and is not filled yet", s)
		e.hint("query without --plan index, or run shipper reindex --store " + s.String())
	}
}

// remote reports whether a store costs time and money to read; a directory is as
// fast as the cache.
func remote(spec string) bool {
	return strings.HasPrefix(spec, "azblob://") || strings.HasPrefix(spec, "grant://")
}

// cache opens the cache; nil if it is disabled or cannot be created.
func (e *environment) cache(c *ucli.Context) (*cache.Cache, error) {
	if c.Bool("no-cache") {
		return nil, nil //nolint:nilnil // none is one of the answers
	}
	size := int64(0)
	if text := e.getenv("LOGSTOW_CACHE_SIZE"); text != "" {
		var err error
		if size, err = units.ParseSize(text); err != nil {
			return nil, cli.Usagef("LOGSTOW_CACHE_SIZE: %w", err)
		}
	}
	dir := e.getenv("LOGSTOW_CACHE_DIR")
	if dir == "" {
		base := e.getenv("XDG_CACHE_HOME")
		if home := e.getenv("HOME"); base == "" && home != "" {
			base = filepath.Join(home, ".cache")
		}
		if base == "" {
			return nil, nil //nolint:nilnil // as above
		}
		dir = filepath.Join(base, "logstow")
	}
	kept, err := cache.Open(dir, size)
	if err != nil {
		e.printf("cache disabled: %v", err)
		return nil, nil //nolint:nilerr,nilnil // as above
	}
	return kept, nil
}

// unopened stands for one of several stores that cannot be opened: every request fails as
// opening did, and the others are read.
type unopened struct{ err error }

func (u unopened) Read(context.Context, store.BlobRef, int64, int64) ([]byte, error) {
	return nil, u.err
}

func (u unopened) List(context.Context, string) iter.Seq2[[]store.Blob, error] {
	return store.Failing[store.Blob](u.err)
}

func (u unopened) ListPrefixes(context.Context, string) iter.Seq2[[]string, error] {
	return store.Failing[string](u.err)
}

func (u unopened) Tables(context.Context, string) iter.Seq2[[]string, error] {
	return store.Failing[string](u.err)
}

func (u unopened) Query(context.Context, string, store.Query) iter.Seq2[[]store.Entity, error] {
	return store.Failing[store.Entity](u.err)
}
