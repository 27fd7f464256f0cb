package local_test

import (
	"path/filepath"
	"testing"

	"logstow/store"
	"logstow/store/local"
)

// A blob that is deleted right after its creation, and its directory with it, was created nevertheless; one
// that is deleted while its name is found taken is created anew.
func TestDeletedBeforeSync(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	var other store.Store
	armed := false
	s := openStore(t, dir, local.Faults(func(step string) error {
		if step == "sync directory" && armed {
			armed = false
			return other.Blobs().Delete(t.Context(), store.AnyVersion("day/a"))
		}
		return nil
	}))
	other = openStore(t, dir)
	create := func(name string) error {
		_, err := s.Blobs().Create(t.Context(), name, []byte("x"), store.CreateOptions{})
		return err
	}
	if err := create("z"); err != nil { // makes the database
		t.Fatal(err)
	}
	for _, exists := range []bool{false, true} {
		armed = false
		if exists {
			if err := create("day/a"); err != nil {
				t.Fatal(err)
			}
		}
		armed = true
		if err := create("day/a"); err != nil || armed {
			t.Errorf("exists %v: %v, armed %v", exists, err, armed)
		}
		_, err := other.Blobs().Read(t.Context(), store.BlobRef{Name: "day/a"}, 0, 1)
		if got := err == nil; got != exists {
			t.Errorf("exists %v: %v", exists, err)
		}
	}
}
