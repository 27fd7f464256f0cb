package inputtest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"logstow/input/httpserver"
)

// Now is a little after 1795000000 s, the time of records in tests.
func Now() time.Time { return time.Unix(1795000100, 0) }

// ServeHTTP serves routes on loopback until the test ends, and returns the address.
func ServeHTTP(t testing.TB, opts httpserver.Options, routes ...httpserver.Routes) (address string) {
	t.Helper()
	opts.Address = "127.0.0.1:0"
	s, err := httpserver.New(t.Context(), opts, routes...)
	if err != nil {
		t.Fatal(err)
	}
	Run(t, s)
	return s.Addr().String()
}

// Response is a response to a request.
type Response struct {
	Status int
	// Retry is the header Retry-After.
	Retry string
	Body  string
}

// Do sends a request over a connection of its own.
func Do(t testing.TB, method, url string, header http.Header, body io.Reader) (Response, http.Header) {
	t.Helper()
	got, head, err := TryDo(t, method, url, header, body)
	if err != nil {
		t.Fatal(err)
	}
	return got, head
}

// TryDo is Do for requests that may fail.
func TryDo(t testing.TB, method, url string, header http.Header, body io.Reader) (Response, http.Header, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		r.Header[k] = v
	}
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(r)
	if err != nil {
		return Response{}, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return Response{res.StatusCode, res.Header.Get("Retry-After"), string(text)}, res.Header, err
}

// DiscardResponse is a [http.ResponseWriter] that keeps nothing.
type DiscardResponse struct{}

// Header implements [http.ResponseWriter].
func (DiscardResponse) Header() http.Header { return http.Header{} }

// Write implements [http.ResponseWriter].
func (DiscardResponse) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements [http.ResponseWriter].
func (DiscardResponse) WriteHeader(int) {}

// Gzip compresses a text.
func Gzip[T string | []byte](t testing.TB, text T) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write([]byte(text))
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
