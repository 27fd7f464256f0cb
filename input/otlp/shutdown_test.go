package otlp_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/input/listen"
	"logstow/input/otlp"
	"logstow/internal/test/inputtest"
)

// announced are routes that announce a request when it has begun.
type announced struct {
	httpserver.Routes
	began chan struct{}
}

func (a announced) Register(mux *http.ServeMux) {
	inner := http.NewServeMux()
	a.Routes.Register(inner)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		close(a.began)
		inner.ServeHTTP(w, r)
	})
}

// A call whose message has not arrived when the server ends is to be repeated: its sender must not drop it.
func TestGRPCCallAtShutdown(t *testing.T) {
	t.Parallel()
	for _, sent := range []string{"", "\x00\x00", "\x00\x00\x00\x00\x09ab"} {
		began := make(chan struct{})
		s, err := httpserver.New(t.Context(), httpserver.Options{Endpoint: listen.Endpoint{Address: "127.0.0.1:0"}}, announced{handler(t, httpserver.IntakeOptions{Options: input.Options{Sink: inputtest.NewSink()}}), began})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		go func() { <-began; cancel() }()
		transport := &http.Transport{Protocols: new(http.Protocols)}
		transport.Protocols.SetUnencryptedHTTP2(true)
		body, out := io.Pipe()
		go func() { _, _ = io.WriteString(out, sent) }() // and no more
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.Addr().String()+otlp.Procedure, body)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/grpc")
		answer, err := (&http.Client{Transport: transport}).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		if code := answer.Header.Get("Grpc-Status") + answer.Trailer.Get("Grpc-Status"); code != "14" {
			t.Errorf("after %q: code %q, want 14 (unavailable)", sent, code)
		}
		_ = answer.Body.Close()
		_ = out.Close()
		transport.CloseIdleConnections()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
