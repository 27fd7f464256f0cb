package relay

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"logstow/store"
)

// Only the relay itself can reject a segment for good: what a proxy responds does not tell that the relay does not have it.
func TestResponseOfProxy(t *testing.T) {
	t.Parallel()
	for refused, want := range map[string]error{"1": store.ErrInvalid, "": store.ErrUnavailable} {
		r := &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("no"))}
		r.Header.Set(RefusedHeader, refused)
		if err := responseError("send", "x", r); !errors.Is(err, want) {
			t.Errorf("refused %q: %v", refused, err)
		}
	}
}
