package tail_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/input/tail"
	"logstow/internal/test/await"
)

// What a program writes between copying and truncating is in no file. Everything else is
// read once.
func TestCopyTruncateWindow(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	path := filepath.Join(logs, "a.log")
	r := &runner{t: t, dir: t.TempDir(), ledger: newLedger(), opts: tail.Options{Paths: []string{path}, FromStart: true}}
	w := newWriter(t, path)
	w.write(10)
	r.start()
	r.await(10, longest)
	const rotations = 50
	var writing sync.WaitGroup
	stop := make(chan struct{})
	writing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				w.write(1)
				time.Sleep(50 * time.Microsecond) // the pace of the program
			}
		}
	})
	rotator := &writer{t: t, path: path}
	for range rotations {
		time.Sleep(20 * time.Millisecond) // the pace of the rotations: lines are written, and read, in between
		rotator.copyTruncate()
	}
	close(stop)
	writing.Wait()
	kept := make(map[string]bool)
	names, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			kept[strings.TrimRight(lines.Text(), "\x00")] = true
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	await.Until(t, longest, "all that is in a file is read", func() bool {
		for i := range w.lines {
			if kept[line(i)] && r.ledger.lacks(i, i+1) > 0 {
				return false
			}
		}
		return true
	})
	time.Sleep(time.Second) // the polls and searches of this time find nothing that was read already
	r.stop()
	lost, doubled := r.ledger.compare(w.lines)
	keptLost := 0
	for _, i := range lost {
		if kept[line(i)] {
			keptLost++
		}
	}
	t.Logf("%d lines in %d rotations: %d are in no file, %d were not read (%d per rotation), of which %d are in a file; %d doubled",
		w.lines, rotations, w.lines-len(kept), len(lost), len(lost)/rotations, keptLost, len(doubled))
	if keptLost > 0 || len(doubled) > 0 {
		t.Errorf("in a file but not read: %d; doubled: %v", keptLost, head(doubled))
	}
}

// The copy is shorter than what was read: the rest was written, and read, between
// copying and truncating.
func TestReadFurtherThanCopied(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.log")
	r := &runner{t: t, dir: t.TempDir(), ledger: newLedger(), opts: tail.Options{Paths: []string{path}, FromStart: true}}
	w := newWriter(t, path)
	w.write(3)
	copied, err := os.ReadFile(path)
	w.check(err)
	r.start()
	w.write(2)
	r.await(5, longest)
	prepared := filepath.Join(t.TempDir(), "copy")
	w.check(os.WriteFile(prepared, copied, 0o644))
	w.check(os.Truncate(path, 0))
	w.write(1)
	w.check(os.Rename(prepared, w.dated()))
	r.await(6, longest)
	r.stop()
	if lost, doubled := r.ledger.compare(w.lines); len(lost) > 0 || len(doubled) > 0 {
		t.Errorf("lost %v, doubled %v", lost, doubled)
	}
}
