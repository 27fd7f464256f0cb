package compaction_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"logstow/internal/test/azurite"
	"logstow/internal/test/testrand"
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
	f.fill(hour(), 4, 300)
	want := readAll(t, s)
	o := options(t)
	o.KeepInputs = true
	if r := run(t, s, o); r.Outputs != 1 || r.Inputs != 300 || r.Requests.Get > 301 {
		t.Errorf("%+v", r)
	}
	if diff := gocmp.Diff(want, readAll(t, s)); diff != "" {
		t.Fatal(diff)
	}
	o.KeepInputs = false
	if r := run(t, s, o); r.Removed != 300 || r.Requests.Delete != 2 {
		t.Errorf("%+v", r)
	}
	if diff := gocmp.Diff(want, readAll(t, s)); diff != "" {
		t.Fatal(diff)
	}
	if all := names(t, s); len(all) != 1 {
		t.Errorf("%q remain", all)
	}
}
