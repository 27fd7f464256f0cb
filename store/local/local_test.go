package local_test

import (
	"path/filepath"
	"testing"

	"logstow/internal/test/effort"
	"logstow/internal/test/storetest"
	"logstow/store"
	"logstow/store/local"
)

func openStore(t testing.TB, dir string, opts ...local.Option) *local.Store {
	t.Helper()
	s, err := local.Open(t.Context(), dir, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	storetest.Run(t, func(t testing.TB, container string) store.Store {
		return openStore(t, filepath.Join(dir, container))
	})
}

func TestConformanceCounted(t *testing.T) {
	effort.Need(t, effort.Full, "the cases of TestConformance")
	t.Parallel()
	dir := t.TempDir()
	var counter store.Counter
	t.Cleanup(func() {
		if n := counter.Requests(); n.List == 0 || n.Get == 0 || n.Table == 0 || n.Create == 0 || n.Delete == 0 {
			t.Errorf("requests %+v", n)
		}
	})
	storetest.Run(t, func(t testing.TB, container string) store.Store {
		return counter.Store(openStore(t, filepath.Join(dir, container)))
	})
}
