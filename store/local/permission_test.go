//go:build unix

package local_test

import (
	"bufio"
	"errors"
	"fmt"
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

// asNobody is a helper that may not write to what the test made: another user
// where this is root, else this one after taking the permission away.
func asNobody(t *testing.T, mode, dir, arg string) *exec.Cmd {
	t.Helper()
	cmd := helper(t, mode, dir, arg)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		cmd.Path = publicCopy(t, cmd.Path)
		if err := os.Chmod(filepath.Dir(t.TempDir()), 0o755); err != nil {
			t.Fatal(err)
		}
	} else {
		t.Cleanup(func() { setMode(t, dir, 0o200, 0) })
		setMode(t, dir, 0, 0o222)
	}
	cmd.Dir = "/"
	return cmd
}

// output runs a command; where it fails the output is its error.
func output(cmd *exec.Cmd) (string, error) {
	cmd.Stderr = nil
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return string(exit.Stderr), err
	}
	return string(out), err
}

// publicCopy is a copy of this test's program that everybody may run. Another
// process writes it: a file that this one had open for writing could still be open in
// a process that it is starting at the time, and then cannot be run ("text file busy").
func publicCopy(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "helper")
	if out, err := exec.CommandContext(t.Context(), "cp", path, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Chmod(to, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
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
		{"hidden folder cannot be read", func(t *testing.T, s *local.Store) {
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
			out, err := output(asNobody(t, "list", dir, ""))
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
			out, err = output(asNobody(t, "create", dir, "q/new"))
			if err == nil || !strings.Contains(out, "access denied") || !strings.Contains(out, "let this user write") {
				t.Errorf("create: %v: %s", err, out)
			}
		})
	}
}

// TestReadOnlyLog reads a database with the log of a killed writer, but without its shared memory, as
// a backup may leave it. Without permission to create that, the log cannot be read, and is not ignored.
func TestReadOnlyLog(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to run a program as another user")
	}
	dir := keptStore(t, false)
	setMode(t, dir, 0o055, 0)
	setMode(t, dir, 0o044, 0o022)
	if err := os.Remove(filepath.Join(dir, ".logstow", "store.db-shm")); err != nil {
		t.Fatal(err)
	}
	out, err := output(asNobody(t, "rows", dir, "kept"))
	if err == nil || !strings.Contains(out, "storage unavailable") || !strings.Contains(out, "let this user write") {
		t.Errorf("query: %v: %s", err, out)
	}
	if out, err = output(asNobody(t, "list", dir, "")); err != nil || strings.Count(out, "\n") != keptBlobs {
		t.Errorf("list: %v: %s", err, out)
	}
	if rows := runUntil(t, helper(t, "rows", dir, "kept"), 0); len(rows) == 0 {
		t.Error("with permission there are no entities: this test shows nothing")
	}
	if out, err = output(asNobody(t, "rows", dir, "kept")); err != nil || out == "" {
		t.Errorf("query, without a log: %v: %s", err, out)
	}
}

// TestReadOnlyDamage reads, without permission to write, a database that ends within a page, which SQLite does not report.
func TestReadOnlyDamage(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to run a program as another user")
	}
	dir := keptStore(t, true)
	setMode(t, dir, 0o055, 0)
	setMode(t, dir, 0o044, 0o022)
	if out, err := output(asNobody(t, "rows", dir, "kept")); err != nil || out == "" {
		t.Fatalf("undamaged: %v: %s", err, out)
	}
	path := filepath.Join(dir, ".logstow", "store.db")
	file, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, file.Size()-100); err != nil {
		t.Fatal(err)
	}
	out, err := output(asNobody(t, "rows", dir, "kept"))
	if err == nil || !strings.Contains(out, "no whole number of pages") || !strings.Contains(out, "shipper reindex --store "+dir) {
		t.Errorf("%v: %s", err, out)
	}
}

// TestReadOnlyFollows reads without permission to write while writers come and go.
func TestReadOnlyFollows(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to run a program as another user")
	}
	dir := filepath.Join(t.TempDir(), "store")
	written := 0
	create := func(s *local.Store, n int) {
		for range n {
			written++
			name := fmt.Sprintf("q/%d", written)
			if _, err := s.Blobs().Create(t.Context(), name, []byte("x"), store.CreateOptions{Metadata: map[string]string{"K": "v"}}); err != nil {
				t.Fatal(err)
			}
		}
		setMode(t, dir, 0o055, 0)
	}
	writer := func() *local.Store {
		s, err := local.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	end := func(s *local.Store) {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := writer()
	create(s, 1)
	end(s)

	cmd := asNobody(t, "follow", dir, "")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewScanner(out)
	check := func(when string) {
		t.Helper()
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Fatal(err)
		}
		n := 0
		for answers.Scan() && answers.Text() != "" {
			n++
			if fields := strings.Fields(answers.Text()); fields[2] != "1" {
				t.Errorf("%s: listed %q", when, answers.Text())
			}
		}
		if n != written {
			t.Errorf("%s: %d listed, want %d", when, n, written)
		}
	}
	check("writer is gone")
	s = writer()
	create(s, 3)
	check("a writer came")
	end(s)
	check("it went")
	s = writer()
	create(s, 500)
	end(s)
	check("another came and went")
	if err := os.Remove(filepath.Join(dir, ".logstow", "store.db")); err != nil {
		t.Fatal(err)
	}
	s = writer()
	if err := s.Blobs().Delete(t.Context(), store.AnyVersion("q/1")); err != nil {
		t.Fatal(err)
	}
	written = 1
	create(s, 0)
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	for answers.Scan() && answers.Text() != "" {
		if fields := strings.Fields(answers.Text()); fields[2] != "0" {
			t.Errorf("after the database was removed: %q", answers.Text())
		}
	}
	end(s)
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
