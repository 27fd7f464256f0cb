package buffer_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logstow/buffer"
	"logstow/buffer/spool"
	"logstow/buffer/wal"
)

// losePositions damages a closed buffer's log files and removes their copies.
func losePositions(t *testing.T, dir string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "wal", "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	for _, path := range logs {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data[len("LOGSTOWL")+20] ^= 1
		if err := errors.Join(os.WriteFile(path, data, 0o600), os.Remove(strings.TrimSuffix(path, ".log")+".copy")); err != nil {
			t.Fatal(err)
		}
	}
}

// A process that reads no inputs leaves the decision on lost positions to the next: until then
// the buffer is reported as damaged, and the one that decides logs it.
func TestUndecidedLostPositions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := buffer.Open(t.Context(), buffer.Options{Dir: dir, Instance: "i"})
	if err != nil {
		t.Fatal(err)
	}
	c := chunk(rec(noon, "one"))
	c.Positions = []buffer.Position{{Input: "file:1:1", Value: []byte("here")}}
	mustAppend(t, b, c)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	losePositions(t, dir)
	reopen := func(policy buffer.LostPositions) (*buffer.Buffer, string) {
		t.Helper()
		var log bytes.Buffer
		b, err := buffer.Open(t.Context(), buffer.Options{Dir: dir, Instance: "i", OnLostPositions: policy, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		return b, log.String()
	}
	for range 2 {
		if b, log := reopen(buffer.UndecidedLost); !b.Stats().LostPositions || !strings.Contains(log, "the next shipper run on this buffer decides") {
			t.Fatalf("not left undecided: %+v\n%s", b.Stats(), log)
		}
		s, err := spool.Inspect(t.Context(), dir)
		if err != nil || !errors.Is(s.LostPositions, buffer.ErrLostPositions) || !strings.Contains(strings.Join(s.Damage, "\n"), "positions of the inputs are lost") {
			t.Errorf("inspected: %+v, %v", s, err)
		}
	}
	if _, err := buffer.Open(t.Context(), buffer.Options{Dir: dir, Instance: "i", OnLostPositions: buffer.StopLost}); !errors.Is(err, buffer.ErrLostPositions) {
		t.Errorf("stop: %v", err)
	}
	b, log := reopen(buffer.SkipLost)
	if b.LostPositions() != buffer.SkipLost || b.Stats().DamageLoss() == "" || !strings.Contains(log, "files are read from their ends on") {
		t.Errorf("skip: %v, %q\n%s", b.LostPositions(), b.Stats().DamageLoss(), log)
	}
	if b, log := reopen(buffer.RereadLost); b.LostPositions() != buffer.SkipLost || b.Stats().LostPositions || strings.Contains(log, "are lost") {
		t.Errorf("decided twice: %v\n%s", b.LostPositions(), log)
	}
	if s, err := spool.Inspect(t.Context(), dir); err != nil || s.LostPositions != nil {
		t.Errorf("inspected after the decision: %+v, %v", s, err)
	}
}

// If the last log file is missing, a record of its last write counts as lost unless an input reads it again: it may have been
// acknowledged to its sender.
func TestLastWriteOfMissingLog(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		position buffer.Position
		lost     uint64
	}{
		"sender":            {lost: 1},
		"sender with a key": {position: buffer.Position{Input: wal.KeyPrefix + "1", Value: []byte{1}}, lost: 1},
		"file":              {position: buffer.Position{Input: "file:1:1", Value: []byte("here")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, left := t.TempDir(), t.TempDir()
			b := open(t, buffer.Options{Dir: dir, Sync: buffer.SyncAlways})
			last := chunk(rec(noon, "last"))
			if c.position.Input != "" {
				last.Positions = []buffer.Position{c.position}
			}
			if err := b.Synced(t.Context(), mustAppend(t, b, last)); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(left, os.DirFS(dir)); err != nil { // as a kill leaves it
				t.Fatal(err)
			}
			logs, err := filepath.Glob(filepath.Join(left, "wal", "*.log"))
			if err != nil || len(logs) != 1 {
				t.Fatal(logs, err)
			}
			if err := os.Remove(logs[0]); err != nil {
				t.Fatal(err)
			}
			if s := open(t, buffer.Options{Dir: left}).Stats(); s.LostRecords != c.lost {
				t.Errorf("%d records are lost, want %d", s.LostRecords, c.lost)
			}
		})
	}
}
