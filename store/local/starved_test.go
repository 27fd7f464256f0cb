//go:build unix

package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"logstow/store"
	"logstow/store/local"
)

// TestFewFiles writes to a store in a process that may open few more files: that is a temporary
// failure, and no reason to use the database read-only from then on.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const most = 12
	for n := range most {
		s, err := local.Open(t.Context(), starvedDir(dir, n))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Blobs().Create(t.Context(), "a/1", []byte("x"), store.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	results := map[string]int{}
	for _, line := range runUntil(t, helper(t, "starve", dir, fmt.Sprint(most)), 0) {
		results[line]++
	}
	if len(results) != 2 || results["enough"] == 0 || results["too few"] == 0 {
		t.Errorf("%v, want some with enough files and some with too few", results)
	}
}

func starvedDir(dir string, n int) string { return filepath.Join(dir, fmt.Sprint(n)) }

// starve creates a blob while n more files may be opened, and one without that limit, and prints how
// the first one ended.
func starve(ctx context.Context, dir string, n int) (err error) {
	s, err := local.Open(ctx, starvedDir(dir, n))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	create := func(name string) error {
		_, err := s.Blobs().Create(ctx, name, []byte("x"), store.CreateOptions{})
		return err
	}
	limited := func() (err error) {
		next, err := os.Open(os.DevNull)
		if err != nil {
			return err
		}
		fd := uint64(next.Fd())
		var old syscall.Rlimit
		if err := errors.Join(next.Close(), syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old)); err != nil {
			return err
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: fd + uint64(n), Max: old.Max}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old)) }()
		return create("a/2")
	}
	switch err := limited(); {
	case err == nil:
		fmt.Println("enough")
	case errors.Is(err, store.ErrUnavailable):
		fmt.Println("too few")
	default:
		fmt.Println(n, err)
	}
	if err := create("a/3"); err != nil {
		fmt.Println(n, "without the limit:", err)
	}
	return nil
}
