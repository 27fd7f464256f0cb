// Package open opens a store by its name: a directory, azblob://CONTAINER, or grant://FILE.
package open

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"logstow/grant"
	"logstow/internal/logging"
	"logstow/relay"
	"logstow/segment"
	"logstow/store"
	"logstow/store/azure"
	"logstow/store/local"
)

// Options are further options for opening.
type Options struct {
	// Getenv returns the variables with credentials: os.Getenv. It is called only for stores that
	// need one. Nil is an empty environment.
	Getenv func(string) string
	// Auth is the kind of credential to use: auto, key, sas, msi, workload or cli; "" is the value
	// of LOGSTOW_AUTH.
	Auth string
	// Log receives operational messages. Nil discards them.
	Log *slog.Logger
	// Repair moves the damaged database of a directory aside, so that it is recreated. It is for
	// commands that then rebuild the index (see audit.Reindex).
	Repair bool
	// Check checks the database of a directory for damage.
	Check bool
	// Notice is called, at most once per store, with the reason if the database of a directory cannot
	// be used; the store then works without it. It may be nil.
	Notice func(error)
	// Written is set if a directory is known to have been written to: see [local.Written].
	Written bool
	// BeforeWrite is called once, before the first write to a directory: see [local.BeforeWrite]. It may be nil.
	BeforeWrite func()
	// LeftOut is called with files of a directory that listings leave out, and why: see [local.LeftOut]. It may be nil.
	LeftOut func(name, why string)
}

// CAFileEnv is the variable with the name of a PEM file of certificate authorities, trusted in
// addition to the system's.
const CAFileEnv = "LOGSTOW_CA_FILE"

// WithAuth returns an environment in which auth, if it is not "", overrides LOGSTOW_AUTH. A nil getenv
// is an empty environment.
func WithAuth(getenv func(string) string, auth string) func(string) string {
	return func(name string) string {
		switch {
		case name == azure.AuthEnv && auth != "":
			return auth
		case getenv == nil:
			return ""
		default:
			return getenv(name)
		}
	}
}

// Store opens the store named by spec:
//
//   - azblob://CONTAINER, with a credential of [azure.FromEnv];
//     azblob://CONTAINER?account=NAME for one of several accounts, see docs/credentials.md
//   - grant://FILE, with the access that a file of package grant allows
//   - relay://HOST:PORT or relays://HOST:PORT, shippers that pool segments, only for writing: see package relay
//   - file:///DIR or DIR, a directory, which the first write makes if it is missing
//
// It reads, creates and requests nothing yet. The error is [store.ErrInvalid] for an invalid name, and
// [store.ErrAccessDenied] for a missing credential.
func Store(ctx context.Context, spec string, opts Options) (store.Store, error) {
	n, err := parse(spec)
	if err != nil {
		return nil, err
	}
	switch {
	case n.container != "":
		return openAzure(ctx, n, opts)
	case n.grant != "":
		return openGrant(ctx, n.grant, opts)
	case n.relays != "":
		return openRelays(n.relays, opts)
	default:
		return openLocal(ctx, n.dir, opts)
	}
}

// Check reports why a name is not valid for a store, without accessing it. The error is
// [store.ErrInvalid].
func Check(spec string) error {
	_, err := parse(spec)
	return err
}

// Dir returns the directory of a store; ok is false if the store is not in a directory.
func Dir(spec string) (dir string, ok bool) {
	n, err := parse(spec)
	return n.dir, err == nil && n.dir != ""
}

// CheckDir reports a path that a shell was to expand, which it does not inside of --store=~/logs or a file.
func CheckDir(dir string) error {
	if dir == "" || dir[0] != '~' && dir[0] != '$' {
		return nil
	}
	shown, _, _ := strings.Cut(dir, "?") // a signature may follow
	return fmt.Errorf("%c at the start is not expanded here: write the whole path, or ${HOME}/… in the configuration file, or ./%s for a directory of this name",
		dir[0], shown)
}

// Destination splits the name of a place for files that are no store, such as a table: a directory, or azblob://CONTAINER/PREFIX, with
// ?account=NAME as in [Store]. It returns the name of the store that has it, for [Store], and the prefix of its blobs for [store.Prefixed],
// which is "" or ends in '/'.
func Destination(spec string) (name, prefix string, err error) {
	rest, ok := strings.CutPrefix(spec, "azblob://")
	if !ok {
		if _, local := Dir(spec); !local {
			return "", "", invalid(spec, errors.New("neither a directory nor azblob://CONTAINER/PREFIX"))
		}
		return spec, "", nil
	}
	place, query, asked := strings.Cut(rest, "?")
	container, prefix, _ := strings.Cut(strings.TrimRight(place, "/"), "/")
	if prefix != "" {
		if err := store.CheckName(prefix); err != nil {
			return "", "", invalid(spec, err)
		}
		prefix += "/"
	}
	name = "azblob://" + container
	if asked {
		name += "?" + query
	}
	return name, prefix, Check(name)
}

// location is a parsed store name: a container, a grant file, relays, or a directory.
type location struct {
	container, account string
	grant              string
	relays             string
	dir                string
}

// parse parses a store's name.
func parse(spec string) (n location, err error) {
	scheme, rest, ok := strings.Cut(spec, "://")
	switch {
	case spec == "":
		err = errors.New("no store named")
	case !ok && strings.Contains(spec, "?") && strings.Contains(spec, "sig="):
		err = errors.New("an address with a signature, not a directory")
	case !ok:
		n.dir, err = spec, CheckDir(spec)
	case scheme == "azblob":
		n.container, n.account, err = parseContainer(rest)
	case scheme == grant.Scheme && rest == "":
		err = errors.New("names no file")
	case scheme == grant.Scheme:
		n.grant = rest
	case scheme == "file":
		n.dir, err = fileDir(spec)
	case relay.IsName(spec):
		n.relays = spec
		_, err = relay.ParseAddresses(spec)
	default:
		err = fmt.Errorf("unknown store type %q", scheme)
	}
	if err != nil {
		return location{}, invalid(spec, err)
	}
	return n, nil
}

// invalid is the error for an invalid store name. The name is quoted without what may be secret: a pasted
// address may contain a password or a signature.
func invalid(spec string, err error) error {
	object := masked(spec)
	if object == "" {
		object = "store"
	}
	e := &store.Error{Op: "open", Object: object, Class: store.ErrInvalid, Err: err}
	if !relay.IsName(object) { // whose errors say what is valid
		e.Hint = "a store is a directory, file:///DIR, or azblob://CONTAINER with the account in AZURE_STORAGE_ACCOUNT or AZURE_STORAGE_CONNECTION_STRING"
	}
	return e
}

func openAzure(ctx context.Context, n location, opts Options) (store.Store, error) {
	shown := "azblob://" + n.container
	if n.account != "" {
		shown += "?account=" + n.account
	}
	getenv := WithAuth(opts.Getenv, opts.Auth)
	cred, err := credential(getenv, n.account)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", shown, err)
	}
	s, err := azure.Open(ctx, azure.Options{
		Container:  n.container,
		Name:       shown,
		Credential: cred,
		Log:        opts.Log,
		CAFile:     getenv(CAFileEnv),
	})
	if err != nil {
		return nil, err // not s, which would be an interface around nil
	}
	return s, nil
}

func openGrant(ctx context.Context, path string, opts Options) (store.Store, error) {
	s, err := grant.Open(ctx, path, grant.Options{Log: opts.Log, CAFile: WithAuth(opts.Getenv, "")(CAFileEnv)})
	if err != nil {
		return nil, err // as above
	}
	return s, nil
}

func openRelays(spec string, opts Options) (store.Store, error) {
	getenv := WithAuth(opts.Getenv, "")
	s, err := relay.Open(relay.Options{Name: spec, Token: getenv(relay.TokenEnv), CAFile: getenv(CAFileEnv), Log: opts.Log})
	if err != nil {
		return nil, err // as above
	}
	return s, nil
}

func openLocal(ctx context.Context, dir string, opts Options) (store.Store, error) {
	options := []local.Option{local.Adopt(adopt), local.Notice(opts.Notice), local.BeforeWrite(opts.BeforeWrite)}
	if opts.Repair {
		log := logging.OrDiscard(opts.Log)
		options = append(options, local.Repair(log))
	}
	if opts.Written {
		options = append(options, local.Written())
	}
	if opts.LeftOut != nil {
		options = append(options, local.LeftOut(opts.LeftOut))
	}
	if opts.Check {
		options = append(options, local.Check())
	}
	s, err := local.Open(ctx, dir, options...)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// fileDir is the directory that a file address names.
func fileDir(spec string) (string, error) {
	u, err := url.Parse(spec)
	switch {
	case err != nil:
		return "", errors.New("not a valid address")
	case u.Host != "" && u.Host != "localhost":
		return "", fmt.Errorf("a directory of host %q: write file:///DIR, with three slashes", u.Host)
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("? and # must be written as %3F and %23")
	case u.Path == "":
		return "", errors.New("names no directory")
	default:
		return u.Path, nil
	}
}

// adopt reads a segment's metadata from its footer; other blobs have none.
func adopt(ctx context.Context, _ string, size int64, read func(ctx context.Context, off, n int64) ([]byte, error)) (map[string]string, error) {
	footer, err := segment.ReadFooter(ctx, read, size, -1)
	if errors.Is(err, segment.ErrNoFooter) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return footer.Encode(), nil
}

// Shown is a store's name in printable form. An invalid name may be a pasted address with a password before its '@' or a
// signature after its '?', which are omitted.
func Shown(spec string) string {
	if Check(spec) == nil {
		return spec
	}
	name := masked(spec)
	if strings.Contains(spec[strings.LastIndex(spec, "@")+1:], "?") {
		name += "?…"
	}
	return name
}

// masked is a name without what may be a password or a signature.
func masked(spec string) string {
	if at, scheme := strings.LastIndex(spec, "@"), strings.Index(spec, "://"); scheme >= 0 && at > scheme {
		spec = spec[:scheme] + "://…" + spec[at:]
	}
	name, _, _ := strings.Cut(spec, "?")
	return name
}
