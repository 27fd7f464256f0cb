package faultproxy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/azurite"
	"logstow/internal/test/faultproxy"
	"logstow/store"
	"logstow/store/azure"
)

func TestMain(m *testing.M) { os.Exit(azurite.Main(m)) }

// start starts a proxy and closes it with the test.
func start(t *testing.T, o faultproxy.Options) *faultproxy.Proxy {
	t.Helper()
	p, err := faultproxy.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return p
}

// service is an emulator that answers every request with its body, and counts them.
func service(t *testing.T) (endpoint string, applied *atomic.Int64) {
	t.Helper()
	applied = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		applied.Add(1)
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/account", applied
}

// put sends a body and returns the status and the body of the answer.
func put(t *testing.T, address, body string) (int, string, error) {
	t.Helper()
	// A new connection each time: requests on a used one are tried again by net/http.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(answer), err
}

func TestEachFault(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault   faultproxy.Fault
		status  int // 0 is an error in place of an answer, or within it
		applied int64
	}{
		{faultproxy.None, 201, 1},
		{faultproxy.Slow, 201, 1},
		{faultproxy.Reset, 0, 0},
		{faultproxy.InternalError, 500, 0},
		{faultproxy.Timeout, 500, 0},
		{faultproxy.Busy, 503, 0},
		{faultproxy.TooMany, 429, 0},
		{faultproxy.OddConflict, 409, 0},
		{faultproxy.LoseResponse, 0, 1},
		{faultproxy.LateError, 500, 1},
		{faultproxy.Truncate, 0, 1},
	} {
		t.Run(tt.fault.String(), func(t *testing.T) {
			t.Parallel()
			endpoint, applied := service(t)
			p := start(t, faultproxy.Options{Blob: endpoint, Table: endpoint, Seed: 1, Delay: 2 * time.Millisecond})
			if tt.fault != faultproxy.None {
				p.SetRules(faultproxy.Rule{Chance: 1, Faults: []faultproxy.Fault{tt.fault}})
			}
			text := strings.Repeat("content ", 2000)
			for _, address := range []string{p.BlobEndpoint + "/container/blob", p.TableEndpoint + "/table(key)"} {
				before := applied.Load()
				status, answer, err := put(t, address, text)
				if got := applied.Load() - before; got != tt.applied {
					t.Errorf("%s: applied %d times, want %d", address, got, tt.applied)
				}
				switch {
				case tt.status == 0 && err == nil:
					t.Errorf("%s: status %d, want an error", address, status)
				case tt.status != 0 && (err != nil || status != tt.status):
					t.Errorf("%s: status %d, error %v, want status %d", address, status, err, tt.status)
				case tt.status == 201 && answer != text:
					t.Errorf("%s: answer of %d bytes, want %d as sent", address, len(answer), len(text))
				}
			}
			want := map[faultproxy.Fault]int{}
			if tt.fault != faultproxy.None {
				want[tt.fault] = 2
			}
			if diff := cmp.Diff(want, p.Counts().Faults); diff != "" {
				t.Errorf("counted faults (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSeedDecides sends the same requests twice and with another seed.
func TestSeedDecides(t *testing.T) {
	t.Parallel()
	endpoint, _ := service(t)
	fates := func(seed uint64) string {
		p := start(t, faultproxy.Options{Blob: endpoint, Table: endpoint, Seed: seed})
		p.SetRules(faultproxy.Rule{Chance: 0.5, Faults: []faultproxy.Fault{faultproxy.InternalError, faultproxy.Busy}})
		var got strings.Builder
		for range 40 {
			status, _, err := put(t, p.BlobEndpoint+"/container/blob", "x")
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "%d ", status)
			// Requests of another kind change nothing.
			if _, _, err := put(t, p.TableEndpoint+"/table(key)", "x"); err != nil {
				t.Fatal(err)
			}
		}
		for _, status := range []string{"201", "500", "503"} {
			if strings.Count(got.String(), status) < 3 {
				t.Errorf("seed %d: statuses %s", seed, got.String())
			}
		}
		return got.String()
	}
	first, again, other := fates(1), fates(1), fates(2)
	if first != again {
		t.Errorf("seed 1 gave\n%s and then\n%s", first, again)
	}
	if first == other {
		t.Errorf("seeds 1 and 2 both gave %s", first)
	}
}

func TestRulesChooseByKind(t *testing.T) {
	t.Parallel()
	endpoint, _ := service(t)
	p := start(t, faultproxy.Options{Blob: endpoint, Table: endpoint})
	always := func(f faultproxy.Fault, match func(faultproxy.Kind, *http.Request) bool) faultproxy.Rule {
		return faultproxy.Rule{Match: match, Chance: 1, Faults: []faultproxy.Fault{f}}
	}
	p.SetRules(
		always(faultproxy.Busy, faultproxy.Of(faultproxy.CreateBlob)),
		always(faultproxy.TooMany, func(_ faultproxy.Kind, r *http.Request) bool { return r.Method == http.MethodDelete }),
		always(faultproxy.InternalError, faultproxy.Of(faultproxy.ListBlobs, faultproxy.ReadEntities)),
	)
	for _, tt := range []struct {
		method, address string
		kind            faultproxy.Kind
		status          int
	}{
		{"PUT", p.BlobEndpoint + "/container/svc/2026/11/20/1500/000001.log", faultproxy.CreateBlob, 503},
		{"PUT", p.BlobEndpoint + "/container?restype=container", faultproxy.CreatePlace, 201},
		{"GET", p.BlobEndpoint + "/container/a/b", faultproxy.ReadBlob, 201},
		{"GET", p.BlobEndpoint + "/container?restype=container&comp=list&prefix=a", faultproxy.ListBlobs, 500},
		{"DELETE", p.BlobEndpoint + "/container/a/b", faultproxy.DeleteBlobs, 429},
		{"POST", p.BlobEndpoint + "/container?restype=container&comp=batch", faultproxy.DeleteBlobs, 201},
		{"GET", p.BlobEndpoint + "?restype=account", faultproxy.Other, 201},
		{"POST", p.TableEndpoint + "/$batch", faultproxy.WriteEntities, 201},
		{"POST", p.TableEndpoint + "/Tables", faultproxy.CreatePlace, 201},
		{"GET", p.TableEndpoint + "/table()?$filter=x", faultproxy.ReadEntities, 500},
		{"DELETE", p.TableEndpoint + "/Tables('table')", faultproxy.Other, 429},
	} {
		before := p.Counts().Requests[tt.kind]
		req, err := http.NewRequestWithContext(t.Context(), tt.method, tt.address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("%s %s: %v", tt.method, tt.address, err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != tt.status {
			t.Errorf("%s %s: status %d, want %d", tt.method, tt.address, resp.StatusCode, tt.status)
		}
		if got := p.Counts().Requests[tt.kind] - before; got != 1 {
			t.Errorf("%s %s: counted %d times as %s", tt.method, tt.address, got, tt.kind)
		}
	}
}

func TestOutageRefusesAndEnds(t *testing.T) {
	t.Parallel()
	endpoint, applied := service(t)
	p := start(t, faultproxy.Options{Blob: endpoint, Table: endpoint})
	addresses := []string{p.BlobEndpoint + "/container/blob", p.TableEndpoint + "/table(key)"}
	for range 3 {
		for _, address := range addresses {
			if status, _, err := put(t, address, "x"); err != nil || status != 201 {
				t.Fatalf("%s: status %d, error %v", address, status, err)
			}
		}
		if err := errors.Join(p.Down(), p.Down()); err != nil {
			t.Fatal(err)
		}
		for _, address := range addresses {
			if _, _, err := put(t, address, "x"); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("%s: error %v, want a refused connection", address, err)
			}
		}
		if err := errors.Join(p.Up(), p.Up()); err != nil {
			t.Fatal(err)
		}
	}
	if got := applied.Load(); got != 6 {
		t.Errorf("%d requests applied, want 6", got)
	}
}

// TestOutageCutsWhatIsUnderWay begins an outage while a request waits for its answer.
func TestOutageCutsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(release) }) // before the server's Close
	p := start(t, faultproxy.Options{Blob: s.URL + "/account", Table: s.URL + "/account"})
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			_, _, err := put(t, p.BlobEndpoint+"/container/blob", "x")
			ended <- err
		}()
	}
	<-arrived
	<-arrived
	if got := p.Counts().Peak[faultproxy.CreateBlob]; got != 2 {
		t.Errorf("at most %d requests at one time, want 2", got)
	}
	if err := p.Down(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-ended; err == nil {
			t.Error("an answer came through the outage")
		}
	}
}

func TestWrongEndpointIsReported(t *testing.T) {
	t.Parallel()
	if _, err := faultproxy.Start(faultproxy.Options{Blob: "http://127.0.0.1:1/a", Table: "http://[::1"}); err == nil {
		t.Error("started with an endpoint that is no URL")
	}
}

// TestTakenNameAsOnAzure lets a service answer as Azurite does.
func TestTakenNameAsOnAzure(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Ms-Error-Code", "AuthorizationPermissionMismatch")
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(s.Close)
	for asAzure, want := range map[bool]string{false: "", true: "UnauthorizedBlobOverwrite"} {
		p := start(t, faultproxy.Options{Blob: s.URL + "/account", Table: s.URL + "/account", AsAzure: asAzure})
		status, answer, err := put(t, p.BlobEndpoint+"/container/blob", "x")
		if err != nil || status != http.StatusForbidden || !strings.Contains(answer, want) {
			t.Errorf("AsAzure %v: status %d, answer %q, error %v; want 403 with %q", asAzure, status, answer, err, want)
		}
	}
}

// TestSignaturesStayValid uses Azurite through a proxy, signed with a key.
func TestSignaturesStayValid(t *testing.T) {
	t.Parallel()
	a := azurite.Start(t)
	p := start(t, faultproxy.Options{Blob: a.BlobEndpoint, Table: a.TableEndpoint})
	through := azurite.Azurite{BlobEndpoint: p.BlobEndpoint, TableEndpoint: p.TableEndpoint}
	cred, err := azure.FromEnv(func(name string) string {
		if name == "AZURE_STORAGE_CONNECTION_STRING" {
			return through.ConnectionString()
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := azure.Open(t.Context(), azure.Options{Container: a.Container(), Credential: cred})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	exercise(t, s)
	u, err := url.Parse(p.BlobEndpoint)
	if err != nil || u.Hostname() != "127.0.0.1" {
		t.Errorf("endpoint %s, want one on 127.0.0.1", p.BlobEndpoint)
	}
	for _, kind := range []faultproxy.Kind{
		faultproxy.CreatePlace, faultproxy.CreateBlob, faultproxy.ReadBlob,
		faultproxy.ListBlobs, faultproxy.DeleteBlobs, faultproxy.WriteEntities, faultproxy.ReadEntities,
	} {
		if p.Counts().Requests[kind] == 0 {
			t.Errorf("no request counted as %s", kind)
		}
	}
}

// exercise does what a store can do, once.
func exercise(t *testing.T, s store.Store) {
	t.Helper()
	const name, table = "svc/2026/11/20/1500/000001.log", "faultproxy20261120"
	ctx := t.Context()
	if _, err := s.Blobs().Create(ctx, name, []byte("content"), store.CreateOptions{Metadata: map[string]string{"Key": "value"}}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Blobs().Read(ctx, store.BlobRef{Name: name}, 0, 7); err != nil || string(got) != "content" {
		t.Errorf("read %q, %v", got, err)
	}
	listed := 0
	for page, err := range s.Blobs().List(ctx, "svc/") {
		if err != nil {
			t.Fatal(err)
		}
		listed += len(page)
	}
	if listed != 1 {
		t.Errorf("%d blobs listed, want 1", listed)
	}
	rows(ctx, t, s, table)
	if err := s.Blobs().Delete(ctx, store.AnyVersion(name)); err != nil {
		t.Errorf("delete: %v", err)
	}
}

func rows(ctx context.Context, t *testing.T, s store.Store, table string) {
	t.Helper()
	_ = s.Tables().DropTable(ctx, table) // what a test before this one left
	t.Cleanup(func() { _ = s.Tables().DropTable(context.WithoutCancel(ctx), table) })
	if err := s.Tables().CreateTable(ctx, table); err != nil {
		t.Fatal(err)
	}
	entity := store.Entity{Key: store.Key{Partition: "svc|00", Row: "1"}, Properties: map[string]any{"Name": "value"}}
	if err := s.Tables().Upsert(ctx, table, []store.Entity{entity, {Key: store.Key{Partition: "svc|00", Row: "2"}}}); err != nil {
		t.Fatal(err)
	}
	read := 0
	for page, err := range s.Tables().Query(ctx, table, store.Query{Partition: "svc|00"}) {
		if err != nil {
			t.Fatal(err)
		}
		read += len(page)
	}
	if read != 2 {
		t.Errorf("%d entities read, want 2", read)
	}
}
