package podmeta

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A part of a token would be refused by the API server without a reason.
func TestTokenTooLarge(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	for size, want := range map[int]string{maxToken: "", maxToken + 1: "read " + path + ": larger than 65536 bytes"} {
		if err := os.WriteFile(path, bytes.Repeat([]byte("x"), size), 0o600); err != nil {
			t.Fatal(err)
		}
		got := ""
		token, err := readToken(path)
		if err != nil {
			got = err.Error()
		}
		if got != want || err == nil && token != strings.Repeat("x", size) {
			t.Errorf("%d bytes: a token of %d, %q, want %q", size, len(token), got, want)
		}
	}
}
