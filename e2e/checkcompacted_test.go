package e2e

import (
	"strings"
	"testing"
	"time"

	"logstow/internal/test/azurite"
	"logstow/store"
)

// TestCheckCompacted checks credentials of shippers, some of which could write outputs of compaction. None of them is a failure, and
// nothing is written there.
func TestCheckCompacted(t *testing.T) {
	t.Parallel()
	s := azuriteTarget(t)
	check := func(s target, want string) {
		t.Helper()
		r := s.command(t, nil, "shipper", "check", "--index", "off", "--service", "api", "-")
		if r.status != 0 || !strings.Contains(string(r.out), want) {
			t.Errorf("status %d, output %q without %q, standard error:\n%s", r.status, r.out, want, r.errs)
		}
	}
	check(s, "note    "+s.store+": it has no compacted container yet")
	owner := ownerOf(t, s)
	if _, err := owner.Compacted().Create(t.Context(), "an/output", nil, store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	check(s, "note    "+s.store+": the account key can also write outputs of compaction")
	raw, err := owner.SignBlobs(t.Context(), owner.Container(), "", "cd", time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	_, blobs, tables := owner.Address()
	limited := s
	limited.env = []string{
		"AZURE_STORAGE_ACCOUNT=" + azurite.Account, "AZURE_STORAGE_SAS_TOKEN=" + raw.Reveal(),
		"AZURE_STORAGE_BLOB_ENDPOINT=" + blobs, "AZURE_STORAGE_TABLE_ENDPOINT=" + tables,
	}
	check(limited, "store   "+s.store+": this credential cannot write outputs of compaction")
	for page, err := range owner.Compacted().List(t.Context(), "") {
		if err != nil || len(page) != 1 {
			t.Errorf("listed %+v, %v", page, err)
		}
	}
}
