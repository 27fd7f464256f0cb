package azure_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"logstow/store"
	"logstow/store/azure"
)

// TestReadIsAsStored reads a gzip blob with the header for it.
func TestReadIsAsStored(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var stored bytes.Buffer
	z := gzip.NewWriter(&stored)
	if _, err := z.Write(bytes.Repeat([]byte("line\n"), 1000)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	mustCreate(t, s, "a.gz", stored.String(), store.CreateOptions{ContentEncoding: "gzip", ContentType: "text/plain; charset=utf-8"})
	size := int64(stored.Len())
	for _, r := range [][2]int64{{0, size}, {0, 1}, {size - 1, 1}, {10, 20}} {
		got, err := s.Blobs().Read(t.Context(), store.BlobRef{Name: "a.gz"}, r[0], r[1])
		if want := stored.Bytes()[r[0] : r[0]+r[1]]; err != nil || !bytes.Equal(got, want) {
			t.Errorf("range %v: got %d bytes, error %v, want %d as stored", r, len(got), err, len(want))
		}
	}
}

// TestRequests looks at what is sent: no compression requested, exact ranges,
// conditions, metadata in listings, projections.
func TestRequests(t *testing.T) {
	t.Parallel()
	var got []*http.Request
	cred := fromConnection(t, "AccountName=acct;AccountKey="+testKey)
	s := openStore(t, azure.Options{Container: "logs", Credential: cred, Transport: roundTrip(
		func(r *http.Request) (*http.Response, error) {
			got = append(got, r)
			return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
		},
	)})
	for _, tt := range []struct {
		operation  string
		method     string
		path       string
		query      map[string]string
		header     map[string]string
		wantAbsent string
	}{
		{create, "PUT", "/logs/a/b.log", nil, map[string]string{"If-None-Match": "*", "X-Ms-Blob-Type": "BlockBlob"}, "Accept-Encoding"},
		{read, "GET", "/logs/a/b.log", nil, map[string]string{"X-Ms-Range": "bytes=0-0"}, "Accept-Encoding"},
		{list, "GET", "/logs", map[string]string{"include": "metadata", "maxresults": "5000", "prefix": "a/"}, nil, "Accept-Encoding"},
		{query, "GET", "/tlogs()", map[string]string{"$select": "PartitionKey,RowKey", "$filter": "PartitionKey eq 'p'", "$format": "application/json;odata=nometadata"}, nil, "Accept-Encoding"},
		{upsert, "POST", "/$batch", nil, nil, "Accept-Encoding"},
	} {
		got = nil
		if err := do(t.Context(), s, tt.operation); !errors.Is(err, store.ErrAccessDenied) || len(got) != 1 {
			t.Fatalf("%s: %d requests, error %v", tt.operation, len(got), err)
		}
		r := got[0]
		if r.Method != tt.method || r.URL.Path != tt.path {
			t.Errorf("%s: %s %s, want %s %s", tt.operation, r.Method, r.URL.Path, tt.method, tt.path)
		}
		for key, want := range tt.query {
			if v := r.URL.Query().Get(key); v != want {
				t.Errorf("%s: %s=%q, want %q", tt.operation, key, v, want)
			}
		}
		for key, want := range tt.header {
			if v := headerOf(r, key); v != want {
				t.Errorf("%s: header %s: %q, want %q", tt.operation, key, v, want)
			}
		}
		if v := headerOf(r, tt.wantAbsent); v != "" {
			t.Errorf("%s: header %s: %q, want none", tt.operation, tt.wantAbsent, v)
		}
	}
}

// headerOf finds a header in whatever case the SDK wrote its name.
func headerOf(r *http.Request, name string) string {
	for key, values := range r.Header {
		if http.CanonicalHeaderKey(key) == name {
			return values[0]
		}
	}
	return ""
}

// TestContainerIsMadeOnce has many writers find that the container is missing.
func TestContainerIsMadeOnce(t *testing.T) {
	t.Parallel()
	a, cred := server(t)
	s := openStore(t, azure.Options{Container: a.Container(), Credential: cred})
	var g errgroup.Group
	for i := range 16 {
		g.Go(func() error {
			_, err := s.Blobs().Create(t.Context(), fmt.Sprintf("a/%d", i), []byte("x"), store.CreateOptions{})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for page, err := range s.Blobs().List(t.Context(), "a/") {
		if err != nil || len(page) != 16 {
			t.Errorf("%d blobs, error %v, want 16", len(page), err)
		}
	}
}

// TestDeleteWithoutBatches has storage refuse batches, as some proxies do.
func TestDeleteWithoutBatches(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.Response{
		"refused":        {StatusCode: http.StatusNotImplemented, Header: http.Header{}},
		"not allowed":    {StatusCode: http.StatusMethodNotAllowed, Header: http.Header{"Allow": {"GET, HEAD, PUT, DELETE"}}},
		"not understood": {StatusCode: http.StatusAccepted, Header: http.Header{"Content-Type": {"text/html"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			_, cred := server(t)
			var batches atomic.Int64
			without := openStore(t, azure.Options{Container: s.Container(), Credential: cred, Transport: roundTrip(
				func(r *http.Request) (*http.Response, error) {
					if r.URL.Query().Get("comp") != "batch" {
						return http.DefaultTransport.RoundTrip(r)
					}
					batches.Add(1)
					resp := answer
					resp.Request, resp.Body = r, http.NoBody
					return &resp, nil
				},
			)})
			mustCreate(t, s, "a/1", "x", store.CreateOptions{})
			mustCreate(t, s, "a/2", "x", store.CreateOptions{})
			other := store.BlobRef{Name: "a/2", ETag: "0x8DC0FFEE"}
			if err := without.Blobs().Delete(t.Context(), append(store.AnyVersion("a/1", "a/missing"), other)); err != nil {
				t.Fatal(err)
			}
			for page, err := range s.Blobs().List(t.Context(), "a/") {
				if err != nil || len(page) != 1 || page[0].Name != other.Name {
					t.Errorf("left %v, error %v", page, err)
				}
			}
			if err := without.Blobs().Delete(t.Context(), store.AnyVersion("a/2")); err != nil {
				t.Fatal(err)
			}
			want := map[string]int64{"refused": 1, "not allowed": 1, "not understood": 2}[name] // of two deletions
			if n := batches.Load(); n != want {
				t.Errorf("%d batches were tried, not %d", n, want)
			}
			for page, err := range s.Blobs().List(t.Context(), "a/") {
				if err != nil || len(page) != 0 {
					t.Errorf("left %v, error %v", page, err)
				}
			}
		})
	}
}

// TestDeleteInterrupted ends the context between two requests of a deletion, after a batch or before
// the first single request: it has not deleted all, and returns why.
func TestDeleteInterrupted(t *testing.T) {
	t.Parallel()
	cause := errors.New("interrupted")
	for name, batches := range map[string]bool{"batches": true, "single requests": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			_, cred := server(t)
			s := newStore(t)
			mustCreate(t, s, "a/last", "x", store.CreateOptions{})
			interrupt := func() { cancel(cause) }
			log := slog.New(&loggedTo{slog.DiscardHandler, interrupt}) // that there are no batches
			interrupted := openStore(t, azure.Options{Container: s.Container(), Credential: cred, Log: log, Transport: roundTrip(
				func(r *http.Request) (*http.Response, error) {
					if !batches {
						return &http.Response{StatusCode: http.StatusNotImplemented, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
					}
					resp, err := http.DefaultTransport.RoundTrip(r)
					if err != nil {
						return nil, err
					}
					resp.Body = &endingBody{resp.Body, interrupt}
					return resp, nil
				},
			)})
			var names []string
			for n := range store.MaxDelete {
				names = append(names, fmt.Sprintf("a/missing-%d", n))
			}
			if err := interrupted.Blobs().Delete(ctx, store.AnyVersion(append(names, "a/last")...)); !errors.Is(err, cause) {
				t.Errorf("delete: %v, want %v", err, cause)
			}
			for page, err := range s.Blobs().List(t.Context(), "a/") {
				if err != nil || len(page) != 1 {
					t.Errorf("left %v, error %v", page, err)
				}
			}
		})
	}
}

// endingBody calls a function at its end.
type endingBody struct {
	io.ReadCloser
	ended func()
}

func (b *endingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.ended()
	}
	return n, err
}

// loggedTo calls a function at each record.
type loggedTo struct {
	slog.Handler
	logged func()
}

func (l *loggedTo) Enabled(context.Context, slog.Level) bool { return true }

func (l *loggedTo) Handle(context.Context, slog.Record) error {
	l.logged()
	return nil
}

// TestRemoveMissing removes entities of which some are not there, in one call.
func TestRemoveMissing(t *testing.T) {
	t.Parallel()
	a, cred := server(t)
	s := openStore(t, azure.Options{Container: a.Container(), Credential: cred})
	name := tableName(a.Container())
	if err := s.Tables().CreateTable(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	var keys []store.Key
	for i := range 12 {
		key := store.Key{Partition: "p", Row: fmt.Sprintf("%02d", i)}
		keys = append(keys, key)
		if i%3 == 0 {
			continue
		}
		if err := s.Tables().Upsert(t.Context(), name, []store.Entity{{Key: key}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Tables().Remove(t.Context(), name, keys); err != nil {
		t.Fatal(err)
	}
	for page, err := range s.Tables().Query(t.Context(), name, store.Query{Partition: "p"}) {
		if err != nil || len(page) != 0 {
			t.Errorf("left %v, error %v", page, err)
		}
	}
}

// TestListingsAreKnown: what storage writes is decoded here, not by the SDK.
func TestListingsAreKnown(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	_, cred := server(t)
	var pages, known atomic.Int64
	listing := openStore(t, azure.Options{Container: s.Container(), Credential: cred, Transport: roundTrip(
		func(r *http.Request) (*http.Response, error) {
			resp, err := http.DefaultTransport.RoundTrip(r)
			if err != nil || r.URL.Query().Get("comp") != "list" {
				return resp, err
			}
			page, err := io.ReadAll(resp.Body)
			pages.Add(1)
			if blobs, ok := azure.DecodeEnumeration(page); ok && len(blobs) == 3 {
				known.Add(1)
			} else {
				t.Errorf("not known: %s", page)
			}
			resp.Body = io.NopCloser(bytes.NewReader(page))
			return resp, err
		},
	)})
	for _, name := range []string{"a/1", "a/ü &", "a/3"} {
		mustCreate(t, s, name, "x", store.CreateOptions{ContentEncoding: "zstd", Metadata: map[string]string{"Note": "a <b> & 'c'"}})
	}
	if err := s.Blobs().SetTier(t.Context(), []string{"a/1"}, store.Cold); err != nil {
		t.Fatal(err)
	}
	for _, err := range listing.Blobs().List(t.Context(), "a/") {
		if err != nil {
			t.Fatal(err)
		}
	}
	if pages.Load() == 0 || known.Load() != pages.Load() {
		t.Errorf("%d of %d pages are known", known.Load(), pages.Load())
	}
}
