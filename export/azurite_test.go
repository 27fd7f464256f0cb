package export_test

import (
	"testing"

	"logstow/export"
	"logstow/internal/test/azurite"
	"logstow/internal/test/testrand"
	"logstow/store"
	"logstow/store/open"
)

// Azure's protocol: conditional creates, a table in a part of a container, and a checkpoint.
func TestExportAzurite(t *testing.T) {
	t.Parallel()
	a := azurite.Start(t)
	openAzure := func() (store.Store, string) {
		name := "azblob://" + a.Container()
		s, err := open.Store(t.Context(), name, open.Options{Getenv: func(name string) string {
			if name == "AZURE_STORAGE_CONNECTION_STRING" {
				return a.ConnectionString()
			}
			return ""
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s, name
	}
	w := &world{tb: t, rnd: testrand.New(t)}
	w.s, _ = openAzure()
	lake, name := openAzure()
	w.table = export.Destination{Blobs: store.Prefixed(lake.Blobs(), "a/logs/"), Name: name + "/a/logs"}
	for range 3 {
		w.ship("web", "pod-0", "", dayBefore(1), 5)
		w.compact()
		w.export()
		w.skipTo(8)
	}
	w.check("at the end", dayBefore(9))
	if s := w.load(); s.Version != 10 || s.Checkpoint != 9 {
		t.Errorf("version %d, checkpoint %d", s.Version, s.Checkpoint)
	}
}
