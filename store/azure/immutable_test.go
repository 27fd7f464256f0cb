package azure_test

import (
	"errors"
	"net/http"
	"testing"

	"logstow/store"
	"logstow/store/azure"
)

// A container is immutable if it has a legal hold, a retention policy or version-level immutability; without permission to read that the result is no.
func TestImmutable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		code   string
		header http.Header
		want   bool
		err    error
	}{
		"neither":          {200, "", http.Header{"X-Ms-Has-Immutability-Policy": {"false"}, "X-Ms-Has-Legal-Hold": {"false"}}, false, nil},
		"policy":           {200, "", http.Header{"X-Ms-Has-Immutability-Policy": {"true"}}, true, nil},
		"legal hold":       {200, "", http.Header{"X-Ms-Has-Legal-Hold": {"true"}}, true, nil},
		"version level":    {200, "", http.Header{"X-Ms-Has-Immutability-Policy": {"false"}, "X-Ms-Has-Legal-Hold": {"false"}, "X-Ms-Immutable-Storage-With-Versioning-Enabled": {"true"}}, true, nil},
		"no version level": {200, "", http.Header{"X-Ms-Immutable-Storage-With-Versioning-Enabled": {"false"}}, false, nil},
		"forbidden":        {403, "AuthorizationPermissionMismatch", nil, false, nil},
		"no container":     {404, "ContainerNotFound", nil, false, nil},
		"an invalid query": {400, "InvalidQueryParameterValue", nil, false, store.ErrInvalid},
	} {
		s, requests := answering(t, c.status, c.code, c.header)
		if got, err := store.IsImmutable(t.Context(), s); got != c.want || !errors.Is(err, c.err) || *requests != 1 {
			t.Errorf("%s: %v, %v after %d requests", name, got, err, *requests)
		}
	}
}

// Azurite's containers have no policies.
func TestImmutableAzurite(t *testing.T) {
	t.Parallel()
	a, cred := server(t)
	s := openStore(t, azure.Options{Container: a.Container(), Credential: cred})
	if _, err := s.Blobs().Create(t.Context(), "x", []byte("x"), store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, err := store.IsImmutable(t.Context(), s); got || err != nil {
		t.Error(got, err)
	}
}
