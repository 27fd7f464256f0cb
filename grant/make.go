package grant

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"logstow/blobnaming"
	"logstow/store"
	"logstow/store/azure"
	"logstow/tableindex"
)

const (
	day = 24 * time.Hour
	// MaxLifetime is the longest lifetime of a grant. A delegation key lives no longer. A signature
	// made with the account key could, but it cannot be revoked alone.
	MaxLifetime = 7 * day
	// maxTables is the maximum number of tables in a grant.
	maxTables = 2000
)

// Issuer is a store whose credential can sign: [*azure.Store].
type Issuer interface {
	store.Store
	// Address returns the location of the store.
	Address() (account, blobs, tables string)
	// Delegates reports whether an identity signs instead of the account key.
	Delegates() bool
	// Hierarchical reports whether the account has a hierarchical namespace.
	Hierarchical(ctx context.Context) (bool, error)
	// OtherContent returns a name that one of the two containers holds outside of a directory, cut at its first
	// slash, or "" if there is none. The error for a missing raw container is [store.ErrNoContainer].
	OtherContent(ctx context.Context, directory string) (string, error)
	// CreateContainer creates the raw container; an existing one is no error.
	CreateContainer(ctx context.Context) error
	// SignBlobs signs for a directory of a container, or for all of it if the directory is "".
	SignBlobs(ctx context.Context, container, directory, permissions string, expiry time.Time) (azure.Secret, error)
	// SignTable signs for the partitions of a table from first to last.
	SignTable(table, permissions, first, last string, expiry time.Time) (azure.Secret, error)
}

// Request describes a grant to make.
type Request struct {
	Kind    Kind
	Service string
	// From and To bound the records: the days of the tables and, if storage can enforce it, the
	// directory. To is excluded.
	From, To time.Time
	// Expires is when the grant ends, at most [MaxLifetime] from now.
	Expires time.Time
	// Classes are the classes of a shipper's tables. A reader gets all existing classes.
	Classes []string
	// Hierarchical is whether the account has a hierarchical namespace; nil detects it.
	Hierarchical *bool
}

func (r *Request) check(now time.Time) error {
	switch {
	case r.Kind != Read && r.Kind != Create:
		return errors.New("its kind is neither read nor create")
	case !blobnaming.ValidService(r.Service):
		return fmt.Errorf("service %q: not a service's name", r.Service)
	case !r.Expires.Truncate(time.Second).After(now): // as it is signed
		return fmt.Errorf("it would have expired at %s", r.Expires.UTC().Format(time.RFC3339))
	case r.Expires.Sub(now) > MaxLifetime:
		return fmt.Errorf("a grant can last at most %d days", MaxLifetime/day)
	case !r.From.Before(r.To):
		return errors.New("the range is empty")
	}
	for _, class := range r.Classes {
		if !blobnaming.ValidClass(class) {
			return fmt.Errorf("class %q: want at most %d of a-z and 0-9", class, blobnaming.MaxClass)
		}
	}
	return nil
}

// ensureContainer creates the container if it is missing, since a shipper with a grant cannot. A
// credential without permission to list is no error.
func ensureContainer(ctx context.Context, s Issuer) error {
	_, err := s.Now(ctx)
	switch {
	case errors.Is(err, store.ErrNoContainer):
		return s.CreateContainer(ctx)
	case errors.Is(err, store.ErrAccessDenied):
		return nil
	}
	return err
}

// Make makes a grant, as narrow as the account allows. If that would give a reader other services'
// logs, it makes none: the error is a [*TooWideError]. An invalid request is [store.ErrInvalid].
// For a shipper, a missing container and tables are created, since it cannot create them; for a
// reader, a missing raw container is [store.ErrNoContainer].
func Make(ctx context.Context, s Issuer, r Request) (*Grant, error) {
	if err := r.check(time.Now()); err != nil {
		return nil, &store.Error{Op: "grant", Object: "service " + r.Service, Class: store.ErrInvalid, Err: err}
	}
	g := &Grant{
		Kind: r.Kind, Service: r.Service, Container: s.Container(), Directory: r.Service,
		Delegated: s.Delegates(), Expires: r.Expires.UTC().Truncate(time.Second), From: r.From.UTC(), To: r.To.UTC(),
	}
	g.Account, g.BlobEndpoint, g.TableEndpoint = s.Address()
	var err error
	if r.Hierarchical != nil {
		g.Exact = *r.Hierarchical
	} else if g.Exact, err = s.Hierarchical(ctx); err != nil {
		return nil, fmt.Errorf("cannot detect a hierarchical namespace (set --hierarchical yes or no): %w", err)
	}
	if g.Exact && g.Kind == Read {
		g.Directory = directory(r.Service, r.From, r.To)
	}
	if !g.Exact && g.Kind == Read {
		other, err := s.OtherContent(ctx, r.Service)
		if err != nil {
			return nil, err
		}
		if other != "" {
			return nil, &TooWideError{Service: r.Service, Account: g.Account, Container: g.Container, Other: other}
		}
	}
	if g.Kind == Create {
		if err := ensureContainer(ctx, s); err != nil {
			return nil, err
		}
	}
	signed, permissions := "", map[Kind]string{Read: "rl", Create: "c"}[g.Kind]
	if g.Exact {
		signed = g.Directory
	}
	if g.Blobs, err = s.SignBlobs(ctx, g.Container, signed, permissions, g.Expires); err != nil {
		return nil, err
	}
	if g.Kind == Read {
		if g.Compacted, err = s.SignBlobs(ctx, store.CompactedContainer(g.Container), signed, permissions, g.Expires); err != nil {
			return nil, err
		}
	}
	if g.Delegated {
		return g, nil // only the account key signs for tables
	}
	if g.Tables, err = signTables(ctx, s, r, g.Expires); err != nil {
		return nil, err
	}
	return g, nil
}

// directory returns the deepest directory that contains all records of a service in a range: the
// service's directory, or one of its years, months or days.
func directory(service string, from, to time.Time) string {
	first, last := from.UTC(), to.Add(-1).UTC()
	found := service
	for _, layout := range [3]string{"2006", "2006/01", "2006/01/02"} {
		if first.Format(layout) != last.Format(layout) {
			break
		}
		found = service + "/" + first.Format(layout)
	}
	return found
}

// signTables signs for the tables of a range.
func signTables(ctx context.Context, s Issuer, r Request, expiry time.Time) (map[string]azure.Secret, error) {
	names, err := tableNames(ctx, s, r)
	if err != nil {
		return nil, err
	}
	if len(names) > maxTables {
		return nil, &store.Error{
			Op: "grant", Object: "service " + r.Service, Class: store.ErrInvalid,
			Err: fmt.Errorf("more than %d tables (days and classes) are in the range: choose a shorter one", maxTables),
		}
	}
	permissions := map[Kind]string{Read: "r", Create: "au"}[r.Kind]
	first, last := tableindex.Partitions(r.Service)
	signed := make(map[string]azure.Secret, len(names))
	for _, name := range names {
		if r.Kind == Create {
			if err := s.Tables().CreateTable(ctx, name); err != nil {
				return nil, err
			}
		}
		if signed[name], err = s.SignTable(name, permissions, first, last, expiry); err != nil {
			return nil, err
		}
	}
	return signed, nil
}

// tableNames returns the tables of a request. A reader gets the tables that exist and those that may be created during the grant, which
// are those of new days, and of outputs of compaction on any day; a shipper gets all tables of the range.
func tableNames(ctx context.Context, s Issuer, r Request) ([]string, error) {
	found := map[string]bool{}
	add := func(class string, at time.Time) {
		found[tableindex.TableName(s.Container(), class, at)] = true
		if r.Kind == Read {
			found[tableindex.TableName(store.CompactedContainer(s.Container()), class, at)] = true
		}
	}
	classes := r.Classes
	if r.Kind == Read {
		existing, err := tableindex.Tables(ctx, s.Tables(), s.Container())
		if err != nil {
			return nil, err
		}
		classes = []string{""}
		for _, t := range existing {
			classes = append(classes, t.Class)
			if t.Day.Before(r.To) && t.Day.Add(day).After(r.From) {
				add(t.Class, t.Day)
			}
		}
		slices.Sort(classes)
		classes = slices.Compact(classes)
	}
	from := r.From.UTC()
	if yesterday := time.Now().UTC().Add(-day); r.Kind == Read && from.Before(yesterday) {
		from = yesterday
	}
	for at := from.Truncate(day); at.Before(r.To) && len(found) <= maxTables; at = at.Add(day) {
		for _, class := range classes {
			add(class, at)
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// TooWideError reports that access cannot be limited to one service's blobs.
type TooWideError struct {
	Service, Account, Container string
	// Other is another service in the container, or a blob that is not a log.
	Other string
}

func (e *TooWideError) Error() string {
	return fmt.Sprintf(`grant service %s: container %s or its compacted container holds %s too, and account %s has no hierarchical namespace: `+
		`a signature would be for the whole container, so none is made. Assign the reader a role with a condition on the names instead, on both containers, `+
		`for logq -s %s with az login or a managed identity:

%s

or let the service log to a container of its own, or to an account with a hierarchical namespace`,
		e.Service, e.Container, e.Other, e.Account, e.Service, e.Command())
}

// Unwrap returns the class of the error, for [errors.Is].
func (e *TooWideError) Unwrap() error { return store.ErrAccessDenied }

// Command returns command lines, one for each container, that assign the reader a role with a condition on the path of
// a blob and on the prefix of a listing.
// https://learn.microsoft.com/azure/storage/blobs/storage-auth-abac-examples
func (e *TooWideError) Command() string {
	const blobs = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
	condition := fmt.Sprintf("((!(ActionMatches{'%[1]s/read'} AND NOT SubOperationMatches{'Blob.List'})) OR "+
		"(@Resource[%[1]s:path] StringStartsWith '%[2]s/')) AND "+
		"((!(ActionMatches{'%[1]s/read'} AND SubOperationMatches{'Blob.List'})) OR "+
		"(@Request[%[1]s:prefix] StringStartsWith '%[2]s/'))", blobs, e.Service)
	command := func(container string) string {
		return azure.RoleCommand("Storage Blob Data Reader", "OBJECT-ID-OF-READER", e.Account,
			"/blobServices/default/containers/"+container) +
			` --condition-version 2.0 --condition "` + condition + `"`
	}
	return command(e.Container) + "\n" + command(store.CompactedContainer(e.Container))
}
