// Package grant makes limited access to one service's logs, as a file that a reader or a shipper
// uses as its credential, and opens stores with such files.
//
// A grant holds shared access signatures: one for blobs of the raw container, for readers one for the compacted
// container, both as narrow as the account allows, and one
// for each table of the index (a day and class), limited to the service's partitions. Storage
// denies what a signature does not allow. In addition, a store opened with a grant rejects requests
// outside of it, so that a partial result is not taken for a complete one.
package grant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"logstow/blobnaming"
	"logstow/internal/units"
	"logstow/store"
	"logstow/store/azure"
)

// version is the version of the file format.
const version = 2

// Kind is the purpose of a grant.
type Kind string

// The kinds of grant.
const (
	// Read allows queries of the service.
	Read Kind = "read"
	// Create allows shipping: it adds segments and writes their index entities. It allows neither
	// reading them nor changing segments.
	Create Kind = "create"
)

// Grant is access to one service of one container until a time.
type Grant struct {
	Kind    Kind
	Service string
	// Account, BlobEndpoint, TableEndpoint and Container identify the store.
	Account, BlobEndpoint, TableEndpoint, Container string
	// Directory is the directory of blobs, without a slash at its end: the service's directory, or
	// one of its years, months or days.
	Directory string
	// Exact is set if Blobs and Compacted are limited to Directory; otherwise they cover whole containers.
	Exact bool
	// Delegated is set if an identity signed instead of the account key.
	Delegated bool
	Expires   time.Time
	// From and To are the range of the tables' days, To excluded. They are zero if the file does not
	// contain them.
	From, To time.Time
	// Blobs is the signature for blobs of the raw container, and Compacted that for outputs of compaction, which only
	// readers have. Tables are the signatures by table name.
	Blobs, Compacted azure.Secret
	Tables           map[string]azure.Secret
}

// file is the encoded form of a grant.
type file struct {
	Version       int               `json:"logstow_grant"`
	Kind          Kind              `json:"kind"`
	Service       string            `json:"service"`
	Account       string            `json:"account,omitempty"`
	BlobEndpoint  string            `json:"blob_endpoint"`
	TableEndpoint string            `json:"table_endpoint"`
	Container     string            `json:"container"`
	Directory     string            `json:"directory"`
	Exact         bool              `json:"exact"`
	Delegated     bool              `json:"delegated"`
	Expires       time.Time         `json:"expires"`
	From          time.Time         `json:"from,omitzero"`
	To            time.Time         `json:"to,omitzero"`
	Blobs         string            `json:"blobs_sas"`
	Compacted     string            `json:"compacted_sas,omitempty"`
	Tables        map[string]string `json:"tables_sas,omitempty"`
}

// Encode returns the grant as the text of a file, with its secrets.
func (g *Grant) Encode() ([]byte, error) {
	f := file{
		Version:       version,
		Kind:          g.Kind,
		Service:       g.Service,
		Account:       g.Account,
		BlobEndpoint:  g.BlobEndpoint,
		TableEndpoint: g.TableEndpoint,
		Container:     g.Container,
		Directory:     g.Directory,
		Exact:         g.Exact,
		Delegated:     g.Delegated,
		Expires:       g.Expires.UTC(),
		From:          g.From.UTC(),
		To:            g.To.UTC(),
		Blobs:         g.Blobs.Reveal(),
		Compacted:     g.Compacted.Reveal(),
		Tables:        make(map[string]string, len(g.Tables)),
	}
	for name, sas := range g.Tables {
		f.Tables[name] = sas.Reveal()
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // signatures are full of ampersands
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(f); err != nil {
		return nil, fmt.Errorf("write a grant: %w", err)
	}
	return text.Bytes(), nil
}

// Parse reads the text of a grant file. Its errors contain no secrets: they quote only the service.
func Parse(text []byte) (*Grant, error) {
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, errors.New("not a grant file: want one that shipper grant wrote")
	}
	switch {
	case f.Version == 0:
		return nil, errors.New("not a grant file: want one that shipper grant wrote")
	case f.Version != version:
		return nil, fmt.Errorf("unsupported grant version %d: this program supports %d; make a new grant with shipper grant",
			f.Version, version)
	}
	g := &Grant{
		Kind: f.Kind, Service: f.Service, Account: f.Account, BlobEndpoint: f.BlobEndpoint, TableEndpoint: f.TableEndpoint,
		Container: f.Container, Directory: f.Directory, Exact: f.Exact, Delegated: f.Delegated, Expires: f.Expires,
		From: f.From, To: f.To,
		Blobs: azure.NewSecret(f.Blobs), Compacted: azure.NewSecret(f.Compacted), Tables: make(map[string]azure.Secret, len(f.Tables)),
	}
	for name, sas := range f.Tables {
		g.Tables[name] = azure.NewSecret(sas)
	}
	if err := g.check(); err != nil {
		return nil, fmt.Errorf("grant for service %q: %w", g.Service, err)
	}
	return g, nil
}

func (g *Grant) check() error {
	if g.Kind != Read && g.Kind != Create {
		return errors.New("its kind is neither read nor create")
	}
	if !blobnaming.ValidService(g.Service) {
		return errors.New("not a service's name")
	}
	if g.Directory != g.Service && !strings.HasPrefix(g.Directory, g.Service+"/") || strings.HasSuffix(g.Directory, "/") {
		return errors.New("its directory is not one of the service")
	}
	if err := azure.CheckContainer(g.Container); err != nil {
		return errors.New("invalid container name")
	}
	if !signature(g.Blobs) {
		return errors.New("no signature for blobs: copy the file whole")
	}
	switch {
	case g.Kind == Read && !signature(g.Compacted):
		return errors.New("no signature for outputs of compaction: copy the file whole")
	case g.Kind == Create && g.Compacted.Set():
		return errors.New("a signature for outputs of compaction, which a shipper must not write")
	}
	for name, sas := range g.Tables {
		if store.CheckTable(name) != nil || !signature(sas) {
			return errors.New("a table without a signature: copy the file whole")
		}
	}
	return nil
}

// target identifies what a grant gives access to. A renewed grant has the same target.
func (g *Grant) target() string {
	return fmt.Sprintf("%s of service %s in container %s of account %s at %s and %s",
		g.Kind, g.Service, g.Container, g.Account, g.BlobEndpoint, g.TableEndpoint)
}

// signature reports whether a shared access signature contains a signature.
func signature(sas azure.Secret) bool {
	values, err := url.ParseQuery(sas.Reveal())
	return err == nil && values.Get("sig") != ""
}

// Limits describes what the grant allows and what it does not prevent, as lines of text for an operator.
func (g *Grant) Limits() []string {
	verb, containers := "reads", fmt.Sprintf("containers %s and %s", g.Container, store.CompactedContainer(g.Container))
	if g.Kind == Create {
		verb, containers = "adds (and can neither read nor change)", "container "+g.Container
	}
	lines := []string{fmt.Sprintf("%s blobs under %s/ in %s of account %s, until %s",
		verb, g.Directory, containers, g.Account, g.Expires.UTC().Format(time.RFC3339))}
	switch {
	case g.Exact:
		lines = append(lines, "storage enforces the directory")
	case g.Kind == Read:
		lines = append(lines, "the signatures are for the whole containers, which hold this service alone now: a service that begins to log there can be read too")
	default:
		lines = append(lines, "the signature is for the whole container: blobs can be added under other services' names too")
	}
	switch names := slices.Sorted(maps.Keys(g.Tables)); {
	case len(names) > 0:
		lines = append(lines,
			fmt.Sprintf("%s of the index, this service's partitions alone: %s to %s", units.Count(len(names), "table"),
				names[0], names[len(names)-1]))
	case g.Kind == Read:
		lines = append(lines, "no tables of the index (only the account's key signs for them): logq lists blobs, --plan index does not work")
	default:
		lines = append(lines, "no tables of the index (only the account's key signs for them): segments are stored and found by listing, and shipper reindex adds their entities")
	}
	if g.Delegated {
		lines = append(lines, "it ends early when the delegation keys of the account are revoked, or the identity that signed loses its role")
	} else {
		lines = append(lines, "it can be revoked early only by regenerating the account's key")
	}
	return lines
}
