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
	for _, c := range []struct {
		status  int
		refused string
		want    error
	}{
		{http.StatusBadRequest, "1", store.ErrInvalid},
		{http.StatusBadRequest, "", store.ErrUnavailable},
		{http.StatusConflict, "1", ErrForgotten},
		{http.StatusConflict, "", store.ErrUnavailable},
		{http.StatusServiceUnavailable, "1", ErrRefused},
		{http.StatusServiceUnavailable, "", store.ErrThrottled},
	} {
		r := &http.Response{StatusCode: c.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("no"))}
		r.Header.Set(RefusedHeader, c.refused)
		if err := responseError("send", "x", r); !errors.Is(err, c.want) || c.refused == "" && (errors.Is(err, ErrForgotten) || errors.Is(err, ErrRefused)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
