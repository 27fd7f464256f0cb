package azure_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"logstow/internal/hint"
	"logstow/store"
	"logstow/store/azure"
)

// Whoever may create blobs in the compacted container is found, and no blob is ever created.
func TestMayCompact(t *testing.T) {
	t.Parallel()
	owner := newStore(t)
	if _, known, err := store.MayCompact(t.Context(), owner); known || !errors.Is(err, store.ErrNoContainer) {
		t.Errorf("without the container: known %v, %v", known, err)
	}
	if _, err := owner.Compacted().Create(t.Context(), "an/output", nil, store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	tomorrow := time.Now().Add(24 * time.Hour)
	raw, err := owner.SignBlobs(t.Context(), owner.Container(), "", "rcwdl", tomorrow)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := server(t)
	for name, c := range map[string]struct {
		s   *azure.Store
		may bool
	}{
		"key":                      {owner, true},
		"SAS to create":            {withSAS(t, owner, "c", tomorrow), true},
		"SAS to write":             {withSAS(t, owner, "w", tomorrow), true},
		"SAS for all":              {withSAS(t, owner, "racwdl", tomorrow), true},
		"SAS to read":              {withSAS(t, owner, "rl", tomorrow), false},
		"SAS of the raw container": {openStore(t, azure.Options{Container: owner.Container(), Credential: azure.Credential{Account: "devstoreaccount1", SAS: raw, BlobEndpoint: a.BlobEndpoint, TableEndpoint: a.TableEndpoint}}), false},
	} {
		may, known, err := store.MayCompact(t.Context(), c.s)
		if may != c.may || !known || err != nil {
			t.Errorf("%s: %v, known %v, %v", name, may, known, err)
		}
	}
	for page, err := range owner.Compacted().List(t.Context(), "") {
		if err != nil || len(page) != 1 {
			t.Errorf("listed %+v, %v", page, err)
		}
	}
}

func TestMayCompactRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status     int
		code       string
		may, known bool
		class      error
	}{
		"the condition":       {http.StatusPreconditionFailed, "ConditionNotMet", true, true, nil},
		"an existing blob":    {http.StatusForbidden, "UnauthorizedBlobOverwrite", true, true, nil},
		"no role":             {http.StatusForbidden, "AuthorizationPermissionMismatch", false, true, nil},
		"another container's": {http.StatusForbidden, "AuthenticationFailed", false, true, nil},
		"storage is down":     {http.StatusBadGateway, "", false, false, store.ErrUnavailable},
		"condition ignored":   {http.StatusCreated, "", true, false, store.ErrUnusable},
	} {
		s, _ := answering(t, c.status, c.code, nil)
		may, known, err := store.MayCompact(t.Context(), s)
		if may != c.may || known != c.known || !errors.Is(err, c.class) {
			t.Errorf("%s: %v, known %v, %v; %s", name, may, known, err, hint.Of(err))
		}
	}
}
