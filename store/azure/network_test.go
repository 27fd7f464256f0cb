package azure_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"golang.org/x/sync/errgroup"

	"logstow/internal/hint"
	"logstow/store"
	"logstow/store/azure"
)

// operations are all those of a store.
func operations() []string {
	return []string{create, read, list, deletion, createTable, dropTable, query, upsert, remove, tables}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	const closed = "http://127.0.0.1:1" // no program is given this port by chance
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0) // of refused handshakes
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	for _, tt := range []struct{ name, endpoint, says string }{
		{"nothing listens", closed, "nothing listens at " + closed},
		{"certificate", untrusted.URL, "is not trusted: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cred := fromConnection(t, "BlobEndpoint="+tt.endpoint+";TableEndpoint="+tt.endpoint+";SharedAccessSignature="+testSAS)
			s := openStore(t, azure.Options{Container: "logs", Credential: cred})
			for _, operation := range []string{create, query} {
				err := do(t.Context(), s, operation)
				if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(hint.Text(err), tt.says) {
					t.Errorf("%s: got %v, want ErrUnavailable and %q", operation, err, tt.says)
				}
				checkClean(t, err)
			}
		})
	}
}

// TestNetworkErrors lets the network fail in its ways, with the signed address
// in the error's text as net/http puts it there.
func TestNetworkErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		says string
	}{
		{"no such host", &net.DNSError{Err: "no such host", Name: "acct.blob.core.windows.net", IsNotFound: true}, "check the account's name"},
		{"refused", &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}, "nothing listens"},
		{"refused by a proxy", &net.OpError{Op: "proxyconnect", Net: "tcp", Err: &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}}, "through the proxy"},
		{"reset", &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}, "no response from https://acct."},
		{"address in the text", errors.New("proxy said no to https://acct.blob.core.windows.net/logs?" + testSAS), "proxy said no"},
		{"try timed out", context.DeadlineExceeded, "no response"},
	} {
		for _, operation := range operations() {
			t.Run(tt.name+"/"+operation, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					cred := fromConnection(t, "AccountName=acct;SharedAccessSignature="+testSAS)
					s := openStore(t, azure.Options{Container: "logs", Credential: cred, Transport: roundTrip(
						func(*http.Request) (*http.Response, error) { return nil, tt.err },
					)})
					err := do(t.Context(), s, operation)
					if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(hint.Text(err), tt.says) {
						t.Errorf("got %v, want ErrUnavailable and %q", err, tt.says)
					}
					checkClean(t, err)
				})
			})
		}
	}
}

func TestEndedContext(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	cause := errors.New("the operator said stop")
	for _, operation := range operations() {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		err := do(ctx, s, operation)
		if !errors.Is(err, cause) || store.Retryable(err) {
			t.Errorf("%s: got %v, want the context's cause", operation, err)
		}
	}
}

// TestBrokenResponses has the network end in the midst of a body.
func TestBrokenResponses(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Length", "10")
		w.Header().Set("Content-Range", "bytes 0-9/10")
		w.WriteHeader(http.StatusPartialContent)
		if _, err := w.Write([]byte("12345")); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(broken.Close)
	cred := fromConnection(t, "AccountName=acct;AccountKey="+testKey+";BlobEndpoint="+broken.URL+";TableEndpoint="+broken.URL)
	s := openStore(t, azure.Options{Container: "logs", Credential: cred})
	got, err := s.Blobs().Read(t.Context(), store.BlobRef{Name: "a"}, 0, 10)
	if !errors.Is(err, store.ErrUnavailable) || got != nil || requests.Load() != 2 {
		t.Errorf("read: got %q, %v after %d requests, want ErrUnavailable alone after 2", got, err, requests.Load())
	}
	if err := do(t.Context(), s, create); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("create: got %v, want ErrUnavailable", err)
	}
}

// TestConnectionsAreReused makes as many requests at once as the transport
// keeps connections for, several times over, and counts connections.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	const atOnce, rounds = 64, 4
	var connections atomic.Int64
	var arrived sync.WaitGroup // all of a round are in the server before one is answered
	fake := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived.Done()
		arrived.Wait()
		w.Header().Set("Content-Range", "bytes 0-0/1")
		w.WriteHeader(http.StatusPartialContent)
		if _, err := w.Write([]byte("x")); err != nil {
			t.Error(err)
		}
	}))
	fake.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	fake.Start()
	t.Cleanup(fake.Close)
	cred := fromConnection(t, "AccountName=acct;AccountKey="+testKey+";BlobEndpoint="+fake.URL+";TableEndpoint="+fake.URL)
	s := openStore(t, azure.Options{Container: "logs", Credential: cred})
	for range rounds {
		arrived.Add(atOnce)
		var g errgroup.Group
		for range atOnce {
			g.Go(func() error {
				_, err := s.Blobs().Read(t.Context(), store.BlobRef{Name: "a"}, 0, 1)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	// A connection returns to the pool a moment after its answer was read, so a few may be made anew.
	if got := connections.Load(); got > 2*atOnce {
		t.Errorf("%d connections for %d rounds of %d requests", got, rounds, atOnce)
	}
}
