package httpserver_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd" //nolint:depguard // what senders compress
	"go.uber.org/goleak"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/input/listen"
	"logstow/internal/test/await"
	"logstow/internal/test/testpki"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo answers with what it got, within 64 KiB.
type echo struct {
	memory *listen.Budget
	// began gets each request before its body is read, if not nil.
	began chan<- struct{}
}

func (e echo) Register(mux *http.ServeMux) {
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		lease := httpserver.NewLease(e.memory)
		defer lease.Release()
		if e.began != nil {
			e.began <- struct{}{}
		}
		body, err := httpserver.Body(r.Body, r.Header.Get("Content-Encoding"), 64<<10, lease)
		if err != nil {
			httpserver.Head(w.Header(), httpserver.Status(err))
			http.Error(w, httpserver.Public(err), httpserver.Status(err))
			return
		}
		_, _ = w.Write(body)
	})
}

// start runs a server for the time of a test; the function returned ends it before.
func start(t *testing.T, opts httpserver.Options) (address string, end func()) {
	t.Helper()
	return startEcho(t, opts, echo{memory: httpserver.NewMemory(32<<20, nil)})
}

func startEcho(t *testing.T, opts httpserver.Options, e echo) (address string, end func()) {
	t.Helper()
	opts.Address = "127.0.0.1:0"
	s, err := httpserver.New(t.Context(), opts, e)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	end = func() { cancel(); <-done }
	t.Cleanup(end)
	return s.Addr().String(), end
}

// client speaks TLS as configured; its connections end with the test.
func client(t *testing.T, config *tls.Config) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func post(t *testing.T, c *http.Client, url, encoding string, body []byte) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if encoding != "" {
		request.Header.Set("Content-Encoding", encoding)
	}
	answer, err := c.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(got)
}

func TestTLS(t *testing.T) {
	t.Parallel()
	pki := testpki.New(t)
	known := &tls.Config{RootCAs: pki.Pool, Certificates: []tls.Certificate{pki.Client}}
	unknown := &tls.Config{RootCAs: pki.Pool}
	for _, c := range []struct {
		name   string
		mutual bool
		config *tls.Config
		taken  bool
	}{
		{"server's certificate", false, unknown, true},
		{"client's certificate", true, known, true},
		{"no client's certificate", true, unknown, false},
		{"an authority that the client does not know", false, &tls.Config{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := listen.TLS{Cert: pki.Path("server.pem"), Key: pki.Path("server.key")}
			if c.mutual {
				files.ClientCA = pki.Path("ca.pem")
			}
			address, _ := start(t, httpserver.Options{Endpoint: listen.Endpoint{TLS: files}})
			status, text := post(t, client(t, c.config), "https://"+address+"/echo", "", []byte("line"))
			if taken := status == http.StatusOK && text == "line"; taken != c.taken {
				t.Errorf("status %d: %s", status, text)
			}
		})
	}
	t.Run("rejection is logged", func(t *testing.T) {
		t.Parallel()
		var log bytes.Buffer
		files := listen.TLS{Cert: pki.Path("server.pem"), Key: pki.Path("server.key"), ClientCA: pki.Path("ca.pem")}
		address, end := start(t, httpserver.Options{Endpoint: listen.Endpoint{TLS: files}, Log: slog.New(slog.NewTextHandler(&log, nil))})
		post(t, client(t, unknown), "https://"+address+"/echo", "", []byte("line"))
		end()
		if text := log.String(); !strings.Contains(text, "level=WARN msg=\"HTTP sender rejected\"") || !strings.Contains(text, "didn't provide a certificate") {
			t.Errorf("logged: %s", text)
		}
	})
	if _, err := httpserver.New(t.Context(), httpserver.Options{Endpoint: listen.Endpoint{Address: "127.0.0.1:0", TLS: listen.TLS{Cert: "nowhere.pem", Key: "nowhere.key"}}}); err == nil {
		t.Error("a certificate that is not there is taken")
	}
}

func gzipped(t *testing.T, body []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestBodies(t *testing.T) {
	t.Parallel()
	address, _ := start(t, httpserver.Options{})
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb := make([]byte, 64<<20)
	for _, c := range []struct {
		name, encoding string
		body           []byte
		status         int
		text           string
	}{
		{"plain", "", []byte("a\nb"), 200, "a\nb"},
		{"empty", "", nil, 200, ""},
		{"gzip", "gzip", gzipped(t, []byte("a\nb")), 200, "a\nb"},
		{"zstd", "zstd", encoder.EncodeAll([]byte("a\nb"), nil), 200, "a\nb"},
		{"at the limit", "", make([]byte, 64<<10), 200, string(make([]byte, 64<<10))},
		{"over the limit", "", make([]byte, 64<<10+1), 413, ""},
		{"gzip that grows", "gzip", gzipped(t, bomb), 413, ""},
		{"zstd that grows", "zstd", encoder.EncodeAll(bomb, nil), 413, ""},
		{"torn gzip", "gzip", gzipped(t, []byte("a\nb"))[:12], 400, ""},
		{"not gzip", "gzip", []byte("a\nb"), 400, ""},
		{"not zstd", "zstd", []byte("a\nb"), 400, ""},
		{"unknown", "br", []byte("a\nb"), 415, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			status, text := post(t, client(t, nil), "http://"+address+"/echo", c.encoding, c.body)
			if status != c.status || status == 200 && text != c.text {
				t.Errorf("status %d: %.80q", status, text)
			}
		})
	}
}

// All that requests hold together is bounded, and given back.
func TestMemory(t *testing.T) {
	t.Parallel()
	memory := httpserver.NewMemory(100, nil)
	one, two := httpserver.NewLease(memory), httpserver.NewLease(memory)
	if err := one.Take(60); err != nil {
		t.Error(err)
	}
	if err := two.Take(60); !errors.Is(err, input.ErrBusy) {
		t.Errorf("error %v", err)
	}
	if err := one.Take(50); !errors.Is(err, input.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
	one.Release()
	if err := two.Take(100); err != nil {
		t.Error(err)
	}
}

// A request on a connection past the limit is answered with 503, until another ends.
func TestMaxConnections(t *testing.T) {
	t.Parallel()
	address, _ := start(t, httpserver.Options{Endpoint: listen.Endpoint{MaxConnections: 1}})
	first := dial(t, address)
	c := client(t, nil)
	if status, text := post(t, c, "http://"+address+"/echo", "", []byte("line")); status != http.StatusServiceUnavailable {
		t.Errorf("status %d beside the first connection: %s", status, text)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	await.Until(t, time.Minute, "the server notices that the first connection ended", func() bool {
		status, _ := post(t, c, "http://"+address+"/echo", "", []byte("line"))
		return status == http.StatusOK
	})
}

// What a browser sends from another site's page is refused.
func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	address, _ := start(t, httpserver.Options{})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/echo", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Origin", "https://elsewhere.example")
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	answer, err := client(t, nil).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("status %d", answer.StatusCode)
	}
}

// The end does not wait for connections that send nothing.
func TestEnd(t *testing.T) {
	t.Parallel()
	address, end := start(t, httpserver.Options{})
	for range 5 {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	end()
	if took := time.Since(began); took > 40*time.Second {
		t.Errorf("it took %s", took)
	}
}
