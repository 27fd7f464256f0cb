//go:build unix

package local_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"logstow/store"
	"logstow/store/local"
)

// The bytes of a database's file that every process locks that has it open with a log.
// https://www.sqlite.org/c3ref/c_lock_exclusive.html, os.h of SQLite
const sharedFirst, sharedSize = 0x40000000 + 2, 510

// TestLocksAreKept opens the store again in a process that writes to it. Its lock on the database
// must last: a process that closes the database, finds no lock and does not look at other files, as
// the sqlite3 of most distributions does, removes the log, and later writes are lost with it.
func TestLocksAreKept(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	writer := openStore(t, dir)
	if err := writer.Tables().CreateTable(t.Context(), "kept"); err != nil {
		t.Fatal(err)
	}
	var want []string
	put := func() {
		t.Helper()
		row := fmt.Sprintf("%02d", len(want))
		if err := writer.Tables().Upsert(t.Context(), "kept", []store.Entity{{Key: store.Key{Partition: "p", Row: row}}}); err != nil {
			t.Fatal(err)
		}
		want = append(want, row)
	}
	query := func(s *local.Store) {
		t.Helper()
		for _, err := range s.Tables().Query(t.Context(), "kept", store.Query{Partition: "p"}) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"created", func() {}},
		{"opened again", func() { query(openStore(t, dir)) }},
		{"checked", func() { query(openStore(t, dir, local.Check())) }},
		{"opened again and closed", func() {
			again, err := local.Open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			query(again)
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		step.do()
		if holder := runUntil(t, helper(t, "holder", dir, ""), 0); !slices.Equal(holder, []string{strconv.Itoa(os.Getpid())}) {
			t.Errorf("%s: the lock is held by process %q, want %d", step.name, holder, os.Getpid())
		}
		for range 2 { // before and after another process closed the store
			put()
			if got := runUntil(t, helper(t, "rows", dir, "kept"), 0); !slices.Equal(got, want) {
				t.Fatalf("%s: another process reads %q, want %q", step.name, got, want)
			}
		}
	}
}

// printHolder prints the process that has the store's database open.
func printHolder(dir string) error {
	file, err := os.Open(filepath.Join(dir, ".logstow", "store.db"))
	if err != nil {
		return err
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: sharedFirst, Len: sharedSize}
	if err := errors.Join(unix.FcntlFlock(file.Fd(), unix.F_GETLK, &lock), file.Close()); err != nil {
		return err
	}
	if lock.Type != unix.F_UNLCK {
		fmt.Println(lock.Pid)
	}
	return nil
}
