package azure_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"logstow/internal/hint"
	"logstow/store"
	"logstow/store/azure"
)

func TestCompactedContainer(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.Repeat("x", n) }
	for name, want := range map[string]string{
		"logs":                "logs-compacted",
		x(53):                 x(53) + "-compacted",
		x(54):                 x(44) + "-45f316e1-compacted",
		x(63):                 x(44) + "-75220b47-compacted",
		x(43) + "-" + x(19):   x(43) + "-99502962-compacted",
		x(42) + "-ab" + x(18): x(42) + "-a-7af5f52b-compacted",
	} {
		if got := store.CompactedContainer(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestOpenCompacted(t *testing.T) {
	t.Parallel()
	_, cred := server(t)
	_, err := azure.Open(t.Context(), azure.Options{Container: "logs-compacted", Credential: cred})
	if !errors.Is(err, store.ErrInvalid) || !strings.HasSuffix(err.Error(), "name that one, probably logs") {
		t.Errorf("open a compacted container: %v", err)
	}
}

// $logs has no compacted container, which needs no request to know.
func TestCompactedOfLogs(t *testing.T) {
	t.Parallel()
	_, cred := server(t)
	s := openStore(t, azure.Options{Container: azure.LogsContainer, Credential: cred, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		return nil, fmt.Errorf("unexpected request %s", r.URL)
	})})
	for page, err := range s.Compacted().List(t.Context(), "") {
		if !errors.Is(err, store.ErrNoContainer) {
			t.Errorf("list: %v, %v", page, err)
		}
	}
	if _, err := s.Compacted().Create(t.Context(), "a", nil, store.CreateOptions{}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("create: %v", err)
	}
}

// Errors name the container of the request.
func TestCompactedInErrors(t *testing.T) {
	t.Parallel()
	a, cred := server(t)
	s := openStore(t, azure.Options{Container: a.Container(), Credential: cred})
	for _, err := range s.Compacted().List(t.Context(), "web/") {
		if want := store.CompactedContainer(s.Container()); !strings.Contains(hint.Of(err), want) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; %s", err, hint.Of(err))
		}
	}
}

// A conditional read fails with 412, which says that the blob was replaced.
func TestReadReplaced(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	etag := mustCreate(t, s, "a", "x", store.CreateOptions{})
	_, err := s.Blobs().Read(t.Context(), store.BlobRef{Name: "a", ETag: etag + "0"}, 0, 1)
	var e *store.Error
	if !errors.As(err, &e) || !errors.Is(err, store.ErrNotFound) || e.Status != http.StatusPreconditionFailed || !strings.Contains(err.Error(), "replaced since it was listed") {
		t.Errorf("read: %v", err)
	}
}

// Only storage's own ContainerNotFound means that nothing was compacted: a refusal is an error.
func TestCompactedMissing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		code   string
		class  error
	}{
		"missing":    {http.StatusNotFound, "ContainerNotFound", store.ErrNoContainer},
		"refused":    {http.StatusForbidden, "AuthorizationPermissionMismatch", store.ErrAccessDenied},
		"hidden":     {http.StatusNotFound, "ResourceNotFound", store.ErrAccessDenied},
		"of a proxy": {http.StatusNotFound, "", store.ErrUnavailable},
	} {
		s, _ := answering(t, c.status, c.code, nil)
		for _, err := range s.Compacted().List(t.Context(), "") {
			if !errors.Is(err, c.class) || c.code != "ContainerNotFound" && errors.Is(err, store.ErrNoContainer) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
