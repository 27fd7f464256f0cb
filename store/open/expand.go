package open

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"logstow/grant"
	"logstow/store"
	"logstow/store/azure"
)

// Expand returns the stores that a name with asterisks stands for, in order: azblob://PREFIX* for the containers of an account, without those
// of outputs of compaction, and a glob for directories. A name without an asterisk is returned as it is. No match is [store.ErrNoContainer].
func Expand(ctx context.Context, spec string, opts Options) ([]string, error) {
	rest, remote := strings.CutPrefix(spec, "azblob://")
	prefix, query, _ := strings.Cut(rest, "?")
	if !strings.Contains(prefix, "*") || strings.Contains(spec, "://") && !remote {
		return []string{spec}, nil
	}
	if !remote {
		found, err := filepath.Glob(spec)
		if err == nil && len(found) == 0 {
			err = &store.Error{Op: "open", Object: spec, Class: store.ErrNoContainer, Err: errors.New("no directory matches")}
		}
		slices.Sort(found)
		return found, err
	}
	prefix, after, _ := strings.Cut(prefix, "*")
	if after != "" {
		return nil, invalid(spec, errors.New("an asterisk may only end the name of a container"))
	}
	if query != "" {
		query = "?" + query
	}
	s, err := Store(ctx, "azblob://"+azure.LogsContainer+query, opts)
	if err != nil {
		return nil, err
	}
	account, ok := s.(store.Containers)
	if !ok {
		return nil, errors.Join(invalid(spec, errors.New("its containers cannot be listed")), s.Close())
	}
	names, err := account.Containers(ctx, prefix)
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, fmt.Errorf("cannot find the containers of %s: %w", Shown(spec), err)
	}
	var found []string
	for _, name := range names {
		if _, compacted := store.CutCompacted(name); !compacted {
			found = append(found, "azblob://"+name+query)
		}
	}
	if len(found) == 0 {
		return nil, &store.Error{
			Op:     "open",
			Object: spec,
			Class:  store.ErrNoContainer,
			Err:    errors.New("the account has no container of such a name"),
		}
	}
	return found, nil
}

// Container returns the name of the container or directory of a store, without a path; "" if it has none.
func Container(spec string) string {
	n, err := parse(spec)
	switch {
	case err != nil:
		return ""
	case n.dir != "":
		if full, err := filepath.Abs(n.dir); err == nil {
			return filepath.Base(full)
		}
		return filepath.Base(n.dir)
	}
	return n.container
}

// Absolute returns the name of a store that is saved with batches. It identifies the store
// independently of the working directory and, for Azure, of the credential.
func Absolute(spec string, getenv func(string) string) (string, error) {
	if err := Check(spec); err != nil {
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

// accountKey is the parameter that names the account in a store's absolute name.
const accountKey = "?account="

// Identity returns a name that identifies the place of a store, whatever the working directory and the credential are: the absolute path of
// a directory, or the [Absolute] name.
func Identity(spec string, getenv func(string) string) (string, error) {
	if dir, ok := Dir(spec); ok {
		return filepath.Abs(dir)
	}
	return Absolute(spec, getenv)
}
