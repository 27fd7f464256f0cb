package local_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/hint"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/store"
	"logstow/store/local"
)

// keptBlobs are those of keptStore.
const keptBlobs = 6

// keptStore makes a store with some blobs and a few pages of rows. Without clean
// it is as a killed writer leaves it: with a log that is not in the database yet.
func keptStore(t *testing.T, clean bool) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s, err := local.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range keptBlobs {
		name := fmt.Sprintf("a/%d", i)
		body := fmt.Appendf(nil, "%-80s", name)
		if _, err := s.Blobs().Create(t.Context(), name, body, store.CreateOptions{Metadata: selfMetadata(name)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Tables().CreateTable(t.Context(), "kept"); err != nil {
		t.Fatal(err)
	}
	for p := range 4 {
		var rows []store.Entity
		for r := range 60 {
			rows = append(rows, store.Entity{Key: store.Key{Partition: fmt.Sprint(p), Row: fmt.Sprint(r)}, Properties: map[string]any{"Text": strings.Repeat("x", 80)}})
		}
		if err := s.Tables().Upsert(t.Context(), "kept", rows); err != nil {
			t.Fatal(err)
		}
	}
	if !clean {
		killed := t.TempDir()
		copyTree(t, dir, killed)
		dir = killed
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// A damaging changes one of the database's files, of which it gets the bytes.
type damaging struct {
	name string
	do   func(path string, data []byte) error
	// content means that the content of rows may differ afterwards undetected.
	content bool
}

// database is what SQLite's files begin with.
const database = "SQLite format 3\x00"

// damagings are the ways in which a file is damaged.
func damagings(data []byte, random *rand.Rand) []damaging {
	n := len(data)
	put := func(path string, data []byte) error { return os.WriteFile(path, data, 0o666) }
	all := []damaging{
		{"a directory", func(path string, _ []byte) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o777)) }, false},
		{"text", func(path string, _ []byte) error { return put(path, []byte("no database\n")) }, false},
	}
	if bytes.HasPrefix(data, []byte(database)) {
		all = append(all, damaging{"a value of over 1 GB", hugeValue, true})
	}
	lengths := []int{0, 1, 16, 99, 100, 101, 511, 512, 2048, n - 3333, n - 2048, n - 1}
	for at := 4096; at < n; at += 4096 {
		lengths = append(lengths, at-1, at, at+1)
	}
	flips, rounds := 40, 6
	header := []int{18, 19, 47, 62} // of which SQLite reports a flip as something else, or not
	if effort.Of() == effort.Long {
		flips, rounds = 2000, 300
		header = header[:0]
		for at := range 100 {
			header = append(header, at)
		}
	}
	for range rounds {
		lengths = append(lengths, random.IntN(n))
	}
	for _, length := range lengths {
		if length < 0 || length >= n {
			continue
		}
		garbage := make([]byte, n-length)
		for i := range garbage {
			garbage[i] = byte(random.Uint32())
		}
		all = append(all,
			damaging{fmt.Sprintf("truncated to %d", length), func(path string, data []byte) error { return put(path, data[:length]) }, false},
			damaging{fmt.Sprintf("zeros from %d", length), func(path string, data []byte) error {
				return put(path, append(data[:length:length], make([]byte, n-length)...))
			}, true},
			damaging{fmt.Sprintf("garbage from %d", length), func(path string, data []byte) error {
				return put(path, append(data[:length:length], garbage...))
			}, true})
	}
	flip := func(at int, bit byte) {
		all = append(all, damaging{fmt.Sprintf("bit %#x of byte %d flipped", bit, at), func(path string, data []byte) error {
			data = bytes.Clone(data)
			data[at] ^= bit
			return put(path, data)
		}, true})
	}
	for _, at := range header {
		for bit := range 8 {
			flip(at, 1<<bit)
		}
	}
	if bytes.HasPrefix(data, []byte(database)) {
		for page := 4096; page <= n; page += 4096 {
			for at := page - 8; at < page; at++ { // of its first row
				flip(at, 0x10)
			}
		}
	}
	for range flips {
		flip(random.IntN(n), 1<<random.IntN(8))
	}
	return all
}

// hugeValue overwrites the first cell of a database's schema by one whose text is longer than SQLite
// allows (https://sqlite.org/fileformat2.html, section 1.6, and section 2.1 for its record).
func hugeValue(path string, data []byte) error {
	const (
		cells  = 100 + 8 // the first page's array of offsets of cells
		length = 1_100_000_000
	)
	cell := varint(length + 10)
	cell = append(cell, 1 /* row */, 10 /* length of the header */, 0, 0, 0, 0 /* columns without a value */)
	cell = append(cell, varint(length*2+13)...)
	data = bytes.Clone(data)
	copy(data[binary.BigEndian.Uint16(data[cells:]):], cell)
	return os.WriteFile(path, data, 0o666)
}

// varint is a number in SQLite's five bytes.
func varint(n uint64) []byte {
	var b []byte
	for shift := 28; shift >= 0; shift -= 7 {
		b = append(b, byte(n>>shift)&0x7F|0x80)
	}
	b[len(b)-1] &= 0x7F
	return b
}

// TestLongDamage damages each file of the database in many ways: a reader finds
// every blob and changes nothing; a writer repairs and continues, and nothing is lost by it.
// make long damages them in more ways.
func TestLongDamage(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "damages many positions")
	random := testrand.New(t)
	moved, whole := 0, 0
	for _, clean := range []bool{true, false} {
		kept := keptStore(t, clean)
		for _, file := range []string{"store.db", "store.db-wal", "store.db-shm"} {
			data, err := os.ReadFile(filepath.Join(kept, ".logstow", file))
			if errors.Is(err, os.ErrNotExist) && clean && file != "store.db" {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			all, sample := damagings(data, random), effort.NewSample(t, 8)
			for i := sample.Next(-1); i < len(all); i = sample.Next(i) {
				d := all[i]
				if strings.Contains(d.name, " of byte 63 ") && file == "store.db" {
					continue // the version's last byte: TestNewerDatabase
				}
				dir := filepath.Join(t.TempDir(), "s")
				copyTree(t, kept, dir)
				if err := d.do(filepath.Join(dir, ".logstow", file), data); err != nil {
					t.Fatal(err)
				}
				what := fmt.Sprintf("%s (closed %t), %s", file, clean, d.name)
				if checkDamaged(t, what, dir, d.content) {
					moved++
				} else {
					whole++
				}
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	t.Logf("%d databases moved aside, %d used as they were", moved, whole)
	if least := (effort.Cases{Test: 3, Full: 20}).N(); moved < least || whole < least {
		t.Errorf("%d databases moved aside, %d used as they were: want some of both", moved, whole)
	}
}

// checkDamaged uses a store whose database may be damaged, and reports whether it was moved aside.
func checkDamaged(t *testing.T, what, dir string, content bool) (moved bool) {
	t.Helper()
	reader, err := local.Open(t.Context(), dir, local.Adopt(adoptSelf))
	if err != nil {
		t.Fatal(err)
	}
	checkKept(t, what+", read", reader, content)
	if _, err := reader.Blobs().Create(t.Context(), "b/new", nil, store.CreateOptions{}); err != nil && !errors.Is(err, store.ErrUnusable) {
		t.Errorf("%s: create without repairing: %v", what, err)
	}
	_ = reader.Close()
	if broken, _ := filepath.Glob(filepath.Join(dir, ".logstow", "*broken*")); len(broken) > 0 {
		t.Errorf("%s: a reader moved %q", what, broken)
	}

	var log bytes.Buffer
	writer, err := local.Open(t.Context(), dir, local.Adopt(adoptSelf), local.Repair(slog.New(slog.NewTextHandler(&log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	checkKept(t, what+", repaired", writer, content)
	try := func(what string, f func() error) {
		for tries := 1; ; tries++ {
			err := f()
			if err == nil {
				return
			}
			if !store.Retryable(err) || tries == 3 {
				t.Errorf("%s, try %d: %v", what, tries, err)
				return
			}
		}
	}
	name := "c/after"
	try(what+": create", func() error {
		_, err := writer.Blobs().Create(t.Context(), name, fmt.Appendf(nil, "%-80s", name), store.CreateOptions{Metadata: selfMetadata(name)})
		if errors.Is(err, store.ErrExists) {
			return nil
		}
		return err
	})
	try(what+": create table", func() error { return writer.Tables().CreateTable(t.Context(), "after") })
	rows := []store.Entity{{Key: store.Key{Partition: "p", Row: "r"}, Properties: map[string]any{"N": int64(1)}}}
	try(what+": upsert", func() error { return writer.Tables().Upsert(t.Context(), "after", rows) })
	try(what+": read a table", func() error {
		for _, err := range writer.Tables().Query(t.Context(), "kept", store.Query{Partition: "0", PartitionTo: "9"}) {
			if err != nil && !errors.Is(err, store.ErrNoTable) && (!content || !errors.Is(err, store.ErrInvalid)) {
				return err
			}
		}
		return nil
	})
	checkKept(t, what+", after repair", writer, content)
	if err := writer.Close(); err != nil {
		t.Errorf("%s: close: %v", what, err)
	}
	broken, _ := filepath.Glob(filepath.Join(dir, ".logstow", "store.db.broken-*"))
	moved = len(broken) > 0
	if id, err := writer.PendingReindex(); (id != "") != moved || err != nil {
		t.Errorf("%s: moved %q, pending %q, %v", what, broken, id, err)
	}
	if said := strings.Contains(log.String(), "level=ERROR") && strings.Contains(log.String(), "quarantined"); said != moved {
		t.Errorf("%s: moved %q, log %q", what, broken, log.String())
	}

	again, err := local.Open(t.Context(), dir, local.Check())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := list(t, again)[name].Metadata; moved && !cmp.Equal(got, selfMetadata(name)) {
		t.Errorf("%s: after the repair %s has metadata %v", what, name, got)
	}
	n := 0
	for page, err := range again.Tables().Query(t.Context(), "after", store.Query{Partition: "p"}) {
		if err != nil {
			t.Errorf("%s: query: %v", what, err)
		}
		n += len(page)
	}
	if n != 1 {
		t.Errorf("%s: %d rows, want 1", what, n)
	}
	return moved
}

// checkKept checks that the blobs of keptStore are listed.
func checkKept(t *testing.T, what string, s *local.Store, content bool) {
	t.Helper()
	var names []string
	for page, err := range s.Blobs().List(t.Context(), "a/") {
		if err != nil {
			t.Errorf("%s: list: %v", what, err)
			return
		}
		for _, b := range page {
			names = append(names, b.Name)
			if !content && !cmp.Equal(b.Metadata, selfMetadata(b.Name)) {
				t.Errorf("%s: %s has metadata %v", what, b.Name, b.Metadata)
			}
		}
	}
	want := make([]string, keptBlobs)
	for i := range want {
		want[i] = fmt.Sprintf("a/%d", i)
	}
	if !slices.Equal(names, want) {
		t.Errorf("%s: listed %q", what, names)
	}
}

// TestDamageWhileOpen damages the database under a store that uses it: it is moved
// aside, and the same call succeeds when it is made again.
func TestDamageWhileOpen(t *testing.T) {
	t.Parallel()
	dir := keptStore(t, true)
	s := openStore(t, dir, local.Adopt(adoptSelf), local.Repair(slog.New(slog.DiscardHandler)))
	other := openStore(t, dir, local.Adopt(adoptSelf))
	checkKept(t, "before", s, false)
	// A write by another store empties the cache of this one's connection.
	if err := other.Tables().CreateTable(t.Context(), "before"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, ".logstow", "store.db")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, len(data)-100), 100); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	row := []store.Entity{{Key: store.Key{Partition: "p", Row: "r"}}}
	for tries := 1; ; tries++ {
		var err error
		for _, err = range s.Tables().Query(t.Context(), "kept", store.Query{Partition: "0", PartitionTo: "9"}) {
		}
		if errors.Is(err, store.ErrNoTable) {
			break // of the new database
		}
		if !errors.Is(err, store.ErrUnavailable) || tries == 4 {
			t.Fatalf("try %d: %v", tries, err)
		}
	}
	if err := s.Tables().CreateTable(t.Context(), "after"); err != nil {
		t.Fatal(err)
	}
	if err := s.Tables().Upsert(t.Context(), "after", row); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*local.Store{s, other} { // the other one finds the new database by itself
		checkKept(t, "after", s, false)
		for page, err := range s.Tables().Query(t.Context(), "after", store.Query{Partition: "p"}) {
			if err != nil || len(page) != 1 {
				t.Errorf("query: %v, %v", page, err)
			}
		}
	}
	id, err := s.PendingReindex()
	if err != nil || id == "" {
		t.Fatalf("pending %q, %v", id, err)
	}
	if err := s.Reindexed("another"); err != nil {
		t.Error(err)
	}
	if now, _ := s.PendingReindex(); now != id {
		t.Errorf("pending %q, want %q", now, id)
	}
	if err := s.Reindexed(id); err != nil {
		t.Error(err)
	}
	if now, _ := s.PendingReindex(); now != "" {
		t.Errorf("pending %q after the reindex", now)
	}
}

// TestDamageIsNoticed lists with a damaged database without permission to repair it.
func TestDamageIsNoticed(t *testing.T) {
	t.Parallel()
	dir := keptStore(t, true)
	if err := os.Truncate(filepath.Join(dir, ".logstow", "store.db"), 5000); err != nil {
		t.Fatal(err)
	}
	var noticed []error
	s := openStore(t, dir, local.Adopt(adoptSelf), local.Notice(func(err error) { noticed = append(noticed, err) }))
	checkKept(t, "listed", s, false)
	checkKept(t, "listed", s, false)
	if len(noticed) != 1 || !errors.Is(noticed[0], store.ErrUnusable) || !strings.Contains(hint.Of(noticed[0]), "shipper reindex --store "+dir) {
		t.Errorf("noticed %v", noticed)
	}
	if id, err := s.PendingReindex(); id != "" || err != nil {
		t.Errorf("pending %q, %v", id, err)
	}
}
