package otlp_test

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	collector1 "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/input/listen"
	"logstow/input/otlp"
	"logstow/internal/test/await"
	"logstow/internal/test/inputtest"
)

// exporter is a gRPC client on connections of its own.
func exporter(t *testing.T, address string) *connect.Client[collector1.ExportLogsServiceRequest, collector1.ExportLogsServiceResponse] {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return connect.NewClient[collector1.ExportLogsServiceRequest, collector1.ExportLogsServiceResponse](
		&http.Client{Transport: transport}, "http://"+address+otlp.Procedure, connect.WithGRPC())
}

// hold is a path whose requests last until it is closed; they tell began.
type hold struct{ began, end chan struct{} }

func (h hold) Register(mux *http.ServeMux) {
	mux.HandleFunc("/hold", func(http.ResponseWriter, *http.Request) {
		close(h.began)
		<-h.end
	})
}

// Senders over gRPC on connections past the limit get a response to retry: none sees a reset, not
// with a message that is larger than the windows either, nor when several calls share a
// connection. After another connection ended they are served.
func TestGRPCPastConnectionLimit(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	held := hold{make(chan struct{}), make(chan struct{})}
	address := inputtest.ServeHTTP(t, httpserver.Options{Endpoint: listen.Endpoint{MaxConnections: 1}}, handler(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}}), held)
	end := sync.OnceFunc(func() { close(held.end) })
	t.Cleanup(end)
	first, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	inputtest.Write(t, first, "GET /hold HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	<-held.began
	small, large := request("a"), request(strings.Repeat("x", 4<<20))
	var all sync.WaitGroup
	for i := range 24 {
		client := exporter(t, address)
		for range 1 + i%3 {
			all.Go(func() {
				message := small
				if i%2 == 0 {
					message = large
				}
				_, err := client.CallUnary(t.Context(), connect.NewRequest(message))
				var answered *connect.Error
				if connect.CodeOf(err) != connect.CodeUnavailable || !errors.As(err, &answered) || !strings.Contains(answered.Message(), "too many connections") {
					t.Errorf("call %d: %v, want unavailable with the server's reason", i, err)
				}
			})
		}
	}
	all.Wait()
	if got := s.TakeLines(); len(got) > 0 {
		t.Errorf("taken past the limit: %d records", len(got))
	}
	end()
	client := exporter(t, address)
	await.Until(t, time.Minute, "a call is served", func() bool { // when the server has seen that the first connection ended
		_, err = client.CallUnary(t.Context(), connect.NewRequest(small))
		return connect.CodeOf(err) != connect.CodeUnavailable
	})
	if err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if got := s.TakeLines(); len(got) != 1 {
		t.Errorf("taken: %q", got)
	}
}

// What several services sent in one request is not doubled when it is tried again.
func TestRetryOfSeveralServices(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}, ServiceFromResource: true, Limits: httpserver.Limits{MaxServices: 3}})
	body := marshal(t, request("One", "two", "unknown_service:node", "three", "four"))
	s.Fail("two", input.ErrBusy)
	for range 2 {
		if got := post(t, address, protobuf, "", body); got.Status != 503 {
			t.Fatalf("%+v, want 503", got)
		}
	}
	s.Fail("", nil)
	if got := post(t, address, protobuf, "", body); got.Status != 200 {
		t.Fatalf("%+v, want 200", got)
	}
	var services []string
	for _, l := range s.TakeLines() {
		services = append(services, strings.Fields(l)[0])
	}
	if diff := cmp.Diff([]string{"one", "two", "web", "web", "three"}, services); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
