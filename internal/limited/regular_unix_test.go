//go:build unix

package limited_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"logstow/internal/fsutil"
	"logstow/internal/limited"
)

// What stands in place of a program's own file is not waited for.
func TestRegular(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"empty": "", "fits": "abc", "large": "abcd"} {
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(syscall.Mkfifo(path("pipe"), 0o600), os.Mkdir(path("directory"), 0o700), os.Symlink(path("fits"), path("link"))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text string
		err        error
	}{
		{name: "empty"},
		{name: "fits", text: "abc"},
		{name: "link", text: "abc"},
		{"pipe", "", fsutil.ErrNotRegular},
		{"directory", "", fsutil.ErrNotRegular},
		{"missing", "", fs.ErrNotExist},
	} {
		read := make(chan error, 1)
		go func() {
			text, err := limited.Regular(path(c.name), 3)
			if err == nil && string(text) != c.text {
				t.Errorf("%s: %q", c.name, text)
			}
			read <- err
		}()
		select {
		case err := <-read:
			if !errors.Is(err, c.err) {
				t.Errorf("%s: error %v, want %v", c.name, err, c.err)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s: still waiting", c.name)
		}
	}
	if _, err := limited.Regular(path("large"), 3); err == nil || err.Error() != "read "+path("large")+": larger than 3 bytes" {
		t.Errorf("error %v", err)
	}
}
