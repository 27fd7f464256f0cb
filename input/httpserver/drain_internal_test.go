package httpserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// deadlines is a response whose read deadline is being set until it is closed.
type deadlines struct {
	http.ResponseWriter
	began, end chan struct{}
}

func (d deadlines) SetReadDeadline(time.Time) error {
	close(d.began)
	<-d.end
	return nil
}

// A request that ends while the server's end limits its body lasts until that is done: afterwards net/http has freed the
// response of HTTP/2, and setting its deadline panics.
func TestEndOfServerBesideEndOfRequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	w := deadlines{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	h := drainBodies(ctx, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel()
		<-w.began
	}))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("x")))
	}()
	<-w.began
	select {
	case <-ended:
		t.Error("the request ended first")
	case <-time.After(50 * time.Millisecond): // a short time finds it less often, and never what is not there
	}
	close(w.end)
	<-ended
}
