package grant_test

import (
	"bytes"
	"crypto/rand"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/grant"
	"logstow/internal/test/azurite"
	"logstow/query"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
	"logstow/store/azure"
	"logstow/tableindex"
)

func TestMain(m *testing.M) { os.Exit(azurite.Main(m)) }

// owner is a container of its own, with the account's key.
func owner(t *testing.T) *azure.Store {
	t.Helper()
	a := azurite.Start(t)
	cred, err := azure.FromEnv(func(name string) string {
		return map[string]string{"AZURE_STORAGE_CONNECTION_STRING": a.ConnectionString()}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	return openAzure(t, azure.Options{Container: a.Container(), Credential: cred})
}

func openAzure(t *testing.T, opts azure.Options) *azure.Store {
	t.Helper()
	s, err := azure.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// put stores a segment with one record, and its entity; it returns the entity.
func put(t *testing.T, s store.Store, service, class string, at time.Time, message string) tableindex.Entity {
	t.Helper()
	entity := putBlob(t, s, service, class, at, message)
	if err := tableindex.Put(t.Context(), s.Tables(), s.Container(), []tableindex.Entity{entity}); err != nil {
		t.Fatal(err)
	}
	return entity
}

// putBlob stores a segment with one record and returns what would be its entity.
func putBlob(t *testing.T, s store.Store, service, class string, at time.Time, message string) tableindex.Entity {
	t.Helper()
	var body bytes.Buffer
	var salt [16]byte
	_, _ = rand.Read(salt[:])
	bucket := at.UTC().Truncate(time.Hour)
	w := segment.NewWriter(&body, segment.Options{
		Service: service, Instance: "pod-1", Class: class, BucketStart: bucket.Unix(), BucketWidth: 3600, Salt: salt,
	})
	if err := w.Append(record.Record{Time: at.UnixNano(), Source: "app.log", Message: []byte(message)}); err != nil {
		t.Fatal(err)
	}
	meta, err := w.Close(1)
	if err != nil {
		t.Fatal(err)
	}
	name := blobnaming.Name{Service: service, Bucket: bucket, Number: uint64(at.Nanosecond()) + 1}
	etag, err := s.Blobs().Create(t.Context(), name.String(), body.Bytes(), store.CreateOptions{Metadata: meta.Encode()})
	if err != nil {
		t.Fatal(err)
	}
	return tableindex.Entity{Name: name, Meta: meta, ETag: etag, Size: int64(body.Len())}
}

// ask is what a query of all services of a range finds, and what it could not read.
func ask(t *testing.T, s store.Store, plan string, from, to time.Time, services ...string) (messages []string, problems []error) {
	t.Helper()
	q, err := query.New([]query.Store{query.ReadOnly(s)}, query.Selection{Services: services, From: from, To: to}, query.Options{Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = q.Run(t.Context(), p, func(m query.Match) error {
		messages = append(messages, string(m.Message()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(messages)
	report := q.Report()
	for _, p := range report.Problems {
		problems = append(problems, p)
	}
	return messages, problems
}

// written writes a grant to a file and returns its path.
func written(t *testing.T, g *grant.Grant) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "grant")
	write(t, path, g)
	return path
}

func write(t *testing.T, path string, g *grant.Grant) {
	t.Helper()
	text, err := g.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, path string) *grant.Store {
	t.Helper()
	s, err := grant.Open(t.Context(), path, grant.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// makeGrant makes a grant for the hours around now.
func makeGrant(t *testing.T, s grant.Issuer, kind grant.Kind, service string) *grant.Grant {
	t.Helper()
	g, err := grant.Make(t.Context(), s, request(kind, service))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func request(kind grant.Kind, service string) grant.Request {
	now := time.Now()
	r := grant.Request{Kind: kind, Service: service, From: now.Add(-48 * time.Hour), To: now.Add(2 * time.Hour), Expires: now.Add(2 * time.Hour)}
	if kind == grant.Create {
		r.Classes = []string{"", "audit"}
	}
	return r
}

// fields are those of a signature, without the signature itself.
func fields(t *testing.T, sas azure.Secret) map[string]string {
	t.Helper()
	values, err := url.ParseQuery(sas.Reveal())
	if err != nil || values.Get("sig") == "" {
		t.Fatalf("no signature: %v", err)
	}
	said := map[string]string{}
	for name, v := range values {
		if name != "sig" {
			said[name] = strings.Join(v, " ")
		}
	}
	return said
}
