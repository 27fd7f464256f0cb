package compaction_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"logstow/internal/test/azurite"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/store"
	"logstow/store/open"
)

// Azure's protocol: conditional creates, batches of deletions, entities.
func TestCompactAzurite(t *testing.T) {
	t.Parallel()
	a := azurite.Start(t)
	s, err := open.Store(t.Context(), "azblob://"+a.Container(), open.Options{Getenv: func(name string) string {
		if name == "AZURE_STORAGE_CONNECTION_STRING" {
			return a.ConnectionString()
		}
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	f := newFleet(t, s, testrand.New(t), "web")
	n := int64(effort.Cases{Test: 30, Full: 300}.N())
	f.fill(hour(), 4, int(n))
	want := readAll(t, s)
	o := options(t)
	o.KeepInputs = true
	if r := run(t, s, o); r.Outputs != 1 || r.Inputs != n || r.Requests.Get > n+1 {
		t.Errorf("%+v", r)
	}
	if diff := gocmp.Diff(want, readAll(t, s)); diff != "" {
		t.Fatal(diff)
	}
	o.KeepInputs = false
	if r := run(t, s, o); r.Removed != n || r.Requests.Delete != 1+n/store.MaxDelete {
		t.Errorf("%+v", r)
	}
	if diff := gocmp.Diff(want, readAll(t, s)); diff != "" {
		t.Fatal(diff)
	}
	if all := names(t, s); len(all) != 1 {
		t.Errorf("%q remain", all)
	}
}
