package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync/atomic"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/goccy/go-yaml"

	"logstow/internal/fsutil"
	"logstow/internal/hint"
	"logstow/internal/limited"
)

// maxFile is the maximum size of a file of tokens, in bytes.
const maxFile = 4 << 20

// Tokens are the tokens of a file. They are safe for concurrent use.
type Tokens struct {
	file string
	list atomic.Pointer[[]token]
}

// token is a token of the file: the digest of its secret, and its identity.
type token struct {
	digest   [sha256.Size]byte
	identity Identity
}

// entry is the form of a token in the file.
type entry struct {
	Name     string   `yaml:"name"`
	SHA256   string   `yaml:"sha256"`
	Services []string `yaml:"services"`
}

// Open reads a file of tokens: a YAML list of name, sha256 (the digest of the secret in hexadecimal) and services (names or
// globs). The file's mode may give access to its owner only. Exception: the group may read a file that root owns, because
// Kubernetes and systemd mount secrets for unprivileged programs that way.
func Open(file string) (*Tokens, error) {
	t := &Tokens{file: file}
	return t, t.Reload()
}

// Reload reads the file again. After an error the previous tokens remain valid.
func (t *Tokens) Reload() error {
	list, err := readFile(t.file)
	if err != nil {
		return fmt.Errorf("cannot read tokens of %s: %w", t.file, err)
	}
	t.list.Store(&list)
	return nil
}

// Len returns the number of tokens.
func (t *Tokens) Len() int { return len(*t.list.Load()) }

// Identify returns the identity of the token with a secret; ok is false if there is none. It compares the secret with all
// tokens in constant time.
func (t *Tokens) Identify(secret string) (i Identity, ok bool) {
	digest := sha256.Sum256([]byte(secret))
	found := -1
	list := *t.list.Load()
	for n := range list {
		equal := subtle.ConstantTimeCompare(digest[:], list[n].digest[:])
		found = subtle.ConstantTimeSelect(equal, n, found)
	}
	if found < 0 {
		return Identity{}, false
	}
	return list[found].identity, true
}

func readFile(name string) ([]token, error) {
	f, info, err := fsutil.OpenRegular(name)
	if err != nil {
		return nil, bareError(err)
	}
	defer f.Close() //nolint:errcheck // nothing is written
	if err := checkMode(info.Mode().Perm(), mountedSecret(info)); err != nil {
		return nil, hint.Wrap(err, "chmod 600 %s", name)
	}
	text, err := limited.All(f, maxFile)
	if err != nil {
		return nil, bareError(err)
	}
	return parse(text)
}

// checkMode returns an error if a mode gives access to others than the owner. The group may read a mounted secret.
func checkMode(mode os.FileMode, mounted bool) error {
	forbidden := os.FileMode(0o077)
	if mounted {
		forbidden = 0o037
	}
	if mode&forbidden != 0 {
		return fmt.Errorf("its mode %04o gives access to users other than its owner", mode)
	}
	return nil
}

// bareError removes the path from an error, because the caller adds it.
func bareError(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// parse parses the text of a file. Its errors contain names of tokens but no other text of the file, which may contain a secret
// by mistake.
func parse(text []byte) ([]token, error) {
	const advice = "write a list of name, sha256 and services; docs/serve.md has an example"
	var entries []entry
	if line, err := limited.YAML(text); err != nil {
		return nil, hint.Wrap(fmt.Errorf("line %d: %w", line, err), advice)
	}
	if err := yaml.UnmarshalWithOptions(text, &entries, yaml.Strict()); err != nil {
		return nil, hint.Wrap(errors.New("not a YAML list of name, sha256 and services"), advice)
	}
	if len(entries) == 0 {
		return nil, hint.Wrap(errors.New("no tokens"), advice)
	}
	name := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)
	list := make([]token, 0, len(entries))
	for i, e := range entries {
		if !name.MatchString(e.Name) {
			return nil, fmt.Errorf("token %d: its name is not 1 to 64 letters, digits and . _ @ -", i+1)
		}
		t, err := newToken(e)
		if err != nil {
			return nil, fmt.Errorf("token %s: %w", e.Name, err)
		}
		for _, other := range list {
			switch {
			case other.identity.Token == e.Name:
				return nil, fmt.Errorf("token %s: the name is used twice", e.Name)
			case other.digest == t.digest:
				return nil, fmt.Errorf("token %s: token %s has the same sha256", e.Name, other.identity.Token)
			}
		}
		list = append(list, t)
	}
	return list, nil
}

func newToken(e entry) (t token, err error) {
	digest, err := hex.DecodeString(e.SHA256)
	if err != nil || len(digest) != sha256.Size {
		return t, hint.Wrap(errors.New("sha256 is not 64 hexadecimal digits"), "printf %%s \"$TOKEN\" | sha256sum prints it")
	}
	t.digest = [sha256.Size]byte(digest)
	if t.digest == sha256.Sum256(nil) {
		return t, errors.New("sha256 is that of an empty text")
	}
	if len(e.Services) == 0 {
		return t, hint.Wrap(errors.New("no services"), "services: ['*'] allows all")
	}
	for _, glob := range e.Services {
		if glob == "" || !doublestar.ValidatePattern(glob) {
			return t, fmt.Errorf("%q is not a name or glob of services", glob)
		}
	}
	t.identity = Identity{Token: e.Name, Services: e.Services}
	if slices.Contains(e.Services, "*") || slices.Contains(e.Services, "**") {
		t.identity = Identity{Token: e.Name, Unrestricted: true}
	}
	return t, nil
}
