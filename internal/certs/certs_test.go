package certs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logstow/internal/certs"
)

// Files without certificates, and larger ones than any with them, are errors that name the file.
func TestOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"text":  {"hello", "no certificate in "},
		"large": {strings.Repeat("x", 1<<20+1), "larger than 1048576 bytes"},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := certs.Only(file); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v, want %q and the file", name, err, c.want)
		}
	}
}
