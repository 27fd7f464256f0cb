package local_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"logstow/store"
	"logstow/store/local"
)

// nobody is a user id that owns nothing here.
const nobody = 65534

// asNobody runs a helper that may not write to what the test made: as another
// user where this is root, else as this one after taking the permission away.
func asNobody(t *testing.T, mode, dir, arg string) (string, error) {
	t.Helper()
	cmd := helper(t, mode, dir, arg)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		cmd.Path = publicCopy(t, cmd.Path)
		open := filepath.Dir(t.TempDir())
		if err := os.Chmod(open, 0o755); err != nil {
			t.Fatal(err)
		}
	} else {
		t.Cleanup(func() { setMode(t, dir, 0o200, 0) })
		setMode(t, dir, 0, 0o222)
	}
	cmd.Dir = "/"
	cmd.Stderr = nil
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return string(exit.Stderr), err
	}
	return string(out), err
}

// publicCopy is a copy of this test's program that everybody may run.
func publicCopy(t *testing.T, path string) string {
	t.Helper()
	from, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(t.TempDir(), "helper"), os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return to.Name()
}

// setMode sets and clears permission bits of all that is in dir.
func setMode(t *testing.T, dir string, set, clear fs.FileMode) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()&^clear|set)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestReadOnly(t *testing.T) {
	for _, c := range []struct {
		name string
		// prepare is called with the store that wrote, still open.
		prepare func(t *testing.T, s *local.Store)
		// metadata is the number of keys that a reader is to see of a body that
		// does not speak for itself.
		metadata string
	}{
		{"writer is gone", func(t *testing.T, s *local.Store) {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}, "1"},
		{"writer is there", func(*testing.T, *local.Store) {}, "1"},
		{"hidden folder can not be read", func(t *testing.T, s *local.Store) {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			hidden := filepath.Join(s.String(), ".logstow")
			if err := os.Chmod(hidden, 0); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := os.Chmod(hidden, 0o755); err != nil {
					t.Error(err)
				}
			})
		}, "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			s := openStore(t, dir)
			for name, meta := range map[string]map[string]string{"q/self": selfMetadata("q/self"), "q/plain": {"K": "v"}} {
				if _, err := s.Blobs().Create(t.Context(), name, selfBody("q/self"), store.CreateOptions{Metadata: meta}); err != nil {
					t.Fatal(err)
				}
			}
			setMode(t, dir, 0o055, 0)
			setMode(t, dir, 0o044, 0)
			c.prepare(t, s)
			if c.metadata == "0" && os.Geteuid() != 0 {
				t.Skip("needs root to run a program as another user")
			}
			out, err := asNobody(t, "list", dir, "")
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
				fields := strings.Fields(line)
				switch {
				case len(fields) == 3 && fields[0] == "q/self" && fields[2] == "2":
				case len(fields) == 3 && fields[0] == "q/plain" && fields[2] == c.metadata:
				default:
					t.Errorf("listed %q", line)
				}
			}
			if n := strings.Count(out, "\n"); n != 2 {
				t.Errorf("%d listed:\n%s", n, out)
			}
			out, err = asNobody(t, "create", dir, "q/new")
			if err == nil || !strings.Contains(out, "access refused") || !strings.Contains(out, "let this user write") {
				t.Errorf("create: %v: %s", err, out)
			}
		})
	}
}
