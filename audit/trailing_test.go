package audit_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"logstow/audit"
	"logstow/store/local"
)

// Bytes after the end of a segment in a directory, whose listing has the size of the stored blob, are found by a full check.
func TestVerifyFindsBytesAfterTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := local.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	longer, whole := newSegment(t, "api", "", hour(), 1, 30), newSegment(t, "api", "", hour(), 2, 30)
	for _, m := range []made{longer, whole} {
		m.whole(t, s)
	}
	if got := verify(t, s, audit.Options{Depth: audit.Blocks}); len(got) != 0 {
		t.Fatalf("before: %q", got)
	}
	path := filepath.Join(dir, filepath.FromSlash(longer.entity.Name.String()))
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"bad-segment " + longer.entity.Name.String()}
	if got := verify(t, s, audit.Options{Depth: audit.Blocks}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
