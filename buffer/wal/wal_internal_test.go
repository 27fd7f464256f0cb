package wal

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/buffer/disk"
	"logstow/internal/test/disktest"
	"logstow/record"
)

var update = flag.Bool("update", false, "write golden files that are missing")

func sample() ([]Run, []record.Record, []Position) {
	return []Run{{Start: 3600e9, Width: 3600e9, Count: 2}, {Start: 7200e9, Width: 1800e9, Count: 1}},
		[]record.Record{
			{Time: 3600e9 + 5, Level: record.Info, Source: "a.log", Message: []byte("one")},
			{Time: 3600e9 + 1, Level: record.None, Source: "a.log", Message: nil},
			{Time: 7200e9, Level: record.Fatal, Source: "b.log", Message: []byte("three\nlines\xff\r")},
		},
		[]Position{{Input: "file:1", Value: []byte{1, 2}}, {Input: "gone", Value: nil}}
}

func open(t testing.TB, fs *disktest.FS) (*Log, []Damage) {
	t.Helper()
	l, report := openReport(t, fs)
	return l, report.Damage
}

func openReport(t testing.TB, fs *disktest.FS) (*Log, Report) {
	t.Helper()
	l, report, err := Open(t.Context(), Options{Dir: "wal", FS: fs, Log: slog.New(slog.DiscardHandler)}, Sealed{})
	if err != nil {
		t.Fatal(err)
	}
	return l, report
}

func replay(t testing.TB, l *Log) (all []Records) {
	t.Helper()
	err := l.Replay(func(r Records) error {
		for i := range r.Records {
			r.Records[i].Message = bytes.Clone(r.Records[i].Message)
		}
		all = append(all, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func messages(all []Records) (out []string) {
	for _, r := range all {
		for i, rec := range r.Records {
			out = append(out, fmt.Sprintf("%d %s", r.First+uint64(i), rec.Message))
		}
	}
	return out
}

// Replay returns all appended records that are not covered; numbers and positions are recovered.
func TestReplay(t *testing.T) {
	t.Parallel()
	fs := disktest.New()
	l, _ := open(t, fs)
	runs, records, positions := sample()
	for range 2 {
		if _, _, err := l.Append(Records{Service: "web", Class: "audit", Parse: "none/1", Runs: runs, Records: records, Positions: positions}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Cover(Key{"web", "audit", "none/1", 3600e9, 3600e9}, 4, 77); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, damage := open(t, fs)
	if len(damage) > 0 || l.Next() != 7 || l.Seq() != 77 {
		t.Errorf("damage %v, next %d, seq %d", damage, l.Next(), l.Seq())
	}
	want := []string{"3 three\nlines\xff\r", "5 ", "6 three\nlines\xff\r"}
	if diff := cmp.Diff(want, messages(replay(t, l))); diff != "" {
		t.Error(diff)
	}
	if p, ok := l.Position("file:1"); !ok || !bytes.Equal(p, []byte{1, 2}) {
		t.Errorf("position %v", p)
	}
	if _, ok := l.Position("gone"); ok {
		t.Error("a forgotten input has a position")
	}
	// When everything is sealed the old files are removed and their state is kept.
	if err := l.Trim(l.Next(), true); err != nil {
		t.Fatal(err)
	}
	if n := len(fs.Paths("wal/")); n != 2 {
		t.Errorf("%d files, want a log file and its copy", n)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, _ = open(t, fs)
	if p, ok := l.Position("file:1"); !ok || len(p) != 2 || l.Next() != 7 || l.Seq() != 77 || len(replay(t, l)) > 0 {
		t.Errorf("after trimming: position %v, next %d, seq %d", p, l.Next(), l.Seq())
	}
}

// Any single damage loses at most the entry it hits, and is distinguished from a torn write.
func TestDamage(t *testing.T) {
	t.Parallel()
	fs := disktest.New()
	l, _ := open(t, fs)
	path := fs.Paths(suffix)[0]
	ends := []int{int(l.files[0].size)}
	for i := range 4 {
		rec := []record.Record{{Time: 3600e9, Source: "s", Message: fmt.Appendf(nil, "m%d", i)}}
		if _, _, err := l.Append(Records{Service: "web", Runs: []Run{{3600e9, 3600e9, 1}}, Records: rec}); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, int(l.files[0].size))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func([]byte) []byte
		want   string
		torn   bool
	}{
		"flipped in the second": {func(b []byte) []byte { b[ends[1]+12] ^= 1; return b }, "1 m0|3 m2|4 m3", false},
		"length of the third":   {func(b []byte) []byte { b[ends[2]+2] = 0xff; return b }, "1 m0|2 m1|4 m3", false},
		"cut in the last":       {func(b []byte) []byte { return b[:ends[4]-1] }, "1 m0|2 m1|3 m2", true},
		"cut between":           {func(b []byte) []byte { return b[:ends[2]] }, "1 m0|2 m1", false},
		"begun behind":          {func(b []byte) []byte { return append(b, b[ends[3]:ends[4]-1]...) }, "1 m0|2 m1|3 m2|4 m3", true},
		"garbage at the end":    {func(b []byte) []byte { return append(b[:ends[3]], "0123456789"...) }, "1 m0|2 m1|3 m2", true},
		"end marker":            {func(b []byte) []byte { return append(append(b, endMarker...), "old"...) }, "1 m0|2 m1|3 m2|4 m3", false},
		"zeroed in the middle":  {func(b []byte) []byte { clear(b[ends[1]:ends[2]]); return b }, "1 m0|3 m2|4 m3", false},
		"magic":                 {func(b []byte) []byte { b[0] = 'X'; return b }, "1 m0|2 m1|3 m2|4 m3", false},
		"empty":                 {func([]byte) []byte { return nil }, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			copied := disktest.New()
			f, err := copied.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			var data []byte
			fs.Change(path, func(b []byte) []byte { data = bytes.Clone(b); return b })
			if _, err := f.WriteAt(c.change(data), 0); err != nil {
				t.Fatal(err)
			}
			l, damage := open(t, copied)
			if got := strings.Join(messages(replay(t, l)), "|"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			whole := name == "cut between" || name == "end marker"
			if whole != (len(damage) == 0) || !whole && damage[len(damage)-1].Torn != c.torn {
				t.Errorf("damage %+v", damage)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if _, again := open(t, copied); c.torn && len(again) > 0 {
				t.Errorf("reported again: %+v", again)
			}
		})
	}
}

// A file of coverage alone is replaced by its snapshot, and no state is lost whichever step
// fails or is the last.
func TestReplace(t *testing.T) {
	t.Parallel()
	key := Key{Service: "web", Start: 3600e9, Width: 3600e9}
	for n := 0; ; n++ {
		fs := disktest.New()
		l, _ := open(t, fs)
		all := make([]record.Record, 3)
		if _, _, err := l.Append(Records{Service: "web", Runs: []Run{{3600e9, 3600e9, 3}}, Records: all, Positions: []Position{{Input: "in", Value: []byte("x")}}}); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l, _ = open(t, fs)
		for range 200 {
			if _, err := l.Cover(key, 2, 7); err != nil {
				t.Fatal(err)
			}
		}
		size := l.Size()
		fs.Arm(n, disktest.Die)
		err := l.Trim(0, true)
		reached := fs.Steps() >= n
		if n == 0 && (err != nil || l.Size() > size-maxCoverage) {
			t.Errorf("%d bytes of %d are left: %v", l.Size(), size, err)
		}
		if n > 0 && reached && err == nil {
			t.Errorf("step %d: no error", n)
		}
		for _, lose := range []bool{false, true} {
			after := fs.Crash(rand.New(rand.NewPCG(uint64(n), 1)), lose)
			l, damage := open(t, after)
			v, _ := l.Position("in")
			if len(damage) > 0 && !lose || string(v) != "x" {
				t.Errorf("step %d, lose %v: damage %+v, position %q", n, lose, damage, v)
			}
			if left := replay(t, l); !lose && (l.Seq() != 7 || len(left) != 1 || left[0].First != 3) {
				t.Errorf("step %d: Seq %d, replayed %+v", n, l.Seq(), left)
			}
		}
		if n > 0 && !reached {
			return
		}
	}
}

// The old content of a recycled file is never replayed, whenever the process or the machine
// crashes, and at most maxRecycled files are kept.
func TestRecycle(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	fs := disktest.New()
	l, _, err := Open(t.Context(), Options{Dir: "wal", FS: fs, FileSize: 2000, Log: slog.New(slog.DiscardHandler)}, Sealed{})
	if err != nil {
		t.Fatal(err)
	}
	first := uint64(1) // number of the first record that is needed
	reused, number := 0, uint64(0)
	for i := range 400 {
		rec := []record.Record{{Time: 3600e9, Source: "s", Message: bytes.Repeat([]byte("x"), rnd.IntN(400))}}
		number, _, err = l.Append(Records{Service: "web", Runs: []Run{{3600e9, 3600e9, 1}}, Records: rec})
		if err != nil {
			t.Fatal(err)
		}
		synced := uint64(0)
		if rnd.IntN(4) == 0 {
			written, _ := l.LSN()
			if err := l.Sync(written); err != nil {
				t.Fatal(err)
			}
			synced = number
		}
		if rnd.IntN(8) == 0 {
			first = max(first, number-uint64(rnd.IntN(int(min(number, 30)))))
		}
		recycled := l.RecycledSize()
		if err := l.Trim(first, rnd.IntN(20) == 0); err != nil {
			t.Fatal(err)
		}
		if l.RecycledSize() < recycled {
			reused++
		}
		lose := i%2 == 0
		after, damage := open(t, fs.Crash(rnd, lose))
		for _, d := range damage {
			if !d.Torn || !lose {
				t.Fatalf("append %d: damage %+v", i, d)
			}
		}
		found := map[uint64]bool{}
		for _, r := range replay(t, after) {
			if r.First > number {
				t.Fatalf("append %d: record %d came back", i, r.First)
			}
			found[r.First] = true
		}
		through := number
		if lose {
			through = synced
		}
		for n := first; n <= through; n++ {
			if !found[n] {
				t.Fatalf("append %d: record %d is lost", i, n)
			}
		}
		if after.Next() <= through {
			t.Fatalf("append %d: next is %d", i, after.Next())
		}
	}
	if reused < 10 {
		t.Errorf("%d files used again", reused)
	}
	if n := len(fs.Paths(".spare")); n > maxRecycled {
		t.Errorf("%d recycled files", n)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if paths := fs.Paths(tempSuffix); len(paths) > 0 {
		t.Errorf("left behind: %v", paths)
	}
}

// A failed write leaves no trace; a failed sync is final.
func TestFailures(t *testing.T) {
	t.Parallel()
	runs, records, _ := sample()
	fs := disktest.New()
	l, _ := open(t, fs)
	fs.Arm(1, disktest.Full)
	if _, _, err := l.Append(Records{Service: "web", Runs: runs, Records: records}); !errors.Is(err, ErrFull) {
		t.Errorf("full: %v", err)
	}
	first, _, err := l.Append(Records{Service: "web", Runs: runs, Records: records})
	if err != nil || first != 1 {
		t.Errorf("after full: number %d, %v", first, err)
	}
	fs.Arm(1, disktest.Fail)
	written, _ := l.LSN()
	for range 2 {
		if err := l.Sync(written); !errors.Is(err, syscall.EIO) {
			t.Errorf("sync: %v", err)
		}
	}
	if _, _, err := l.Append(Records{Service: "web", Runs: runs, Records: records}); !errors.Is(err, syscall.EIO) {
		t.Errorf("append after a failed sync: %v", err)
	}
	if err := l.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("close after a failed sync: %v", err)
	}
}

// TestGolden pins the bytes of a log file and its copy.
func TestGolden(t *testing.T) {
	t.Parallel()
	fs := disktest.New()
	l, _ := open(t, fs)
	runs, records, positions := sample()
	if _, _, err := l.Append(Records{Service: "web", Class: "audit", Runs: runs, Records: records, Positions: positions}); err != nil {
		t.Fatal(err)
	}
	for seq := range int64(2) {
		if _, err := l.Cover(Key{"web", "audit", "", 3600e9, 3600e9}, 2, 9+seq); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Done(9); err != nil {
		t.Fatal(err)
	}
	if err := l.Trim(1, true); err != nil { // writes a snapshot with all state
		t.Fatal(err)
	}
	checkGolden(t, fs, map[string]string{
		"log.hex": fs.Paths(suffix)[0], "copy.hex": fs.Paths(copySuffix)[0], "next.hex": fs.Paths(suffix)[1],
	})
	written, _ := l.LSN()
	if err := errors.Join(l.Sync(written), l.WriteDurable()); err != nil {
		t.Fatal(err)
	}
	checkGolden(t, fs, map[string]string{"durable.hex": fs.Paths(suffix)[1], "durable-copy.hex": fs.Paths(copySuffix)[1]})
}

// checkGolden compares files, by the name of the golden file.
func checkGolden(t *testing.T, fs *disktest.FS, files map[string]string) {
	t.Helper()
	for name, path := range files {
		var got string
		fs.Change(path, func(b []byte) []byte { got = hex.Dump(b); return b })
		golden := filepath.Join("..", "..", "testdata", "buffer", "v1", name)
		want, err := os.ReadFile(golden)
		if errors.Is(err, os.ErrNotExist) && *update {
			if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
				t.Fatal(err)
			}
			want, err = []byte(got), os.WriteFile(golden, []byte(got), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// An entry may have MaxRecords records, in its copy too, and no more.
func TestMaxRecords(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]error{MaxRecords: nil, MaxRecords + 1: ErrEntry} {
		w := newEncoder()
		w.encodeCopied(8, 100)
		err := w.encodeOutline(&Records{First: 1, Service: "web", Runs: []Run{{3600e9, 3600e9, MaxRecords - 1}, {7200e9, 3600e9, n - MaxRecords + 1}}})
		if _, _, ferr := w.frame(0, 0); err != nil || ferr != nil {
			t.Fatal(err, ferr)
		}
		d, err := decode(w.payload())
		if !errors.Is(err, want) || err == nil && count(d.copied.outline.Runs) != n {
			t.Errorf("%d records: %v", n, err)
		}
	}
	if err := newEncoder().encodeRecords(&Records{First: 1, Service: "web", Records: make([]record.Record, MaxRecords+1)}); err == nil {
		t.Error("more than MaxRecords are encoded")
	}
}

// A file that cannot be read is not a missing one: Open fails, and nothing is lost when it can be read again.
func TestUnreadableFile(t *testing.T) {
	t.Parallel()
	for _, name := range []string{suffix, copySuffix} {
		fs := disktest.New()
		l, _ := open(t, fs)
		runs, records, positions := sample()
		_, _, err := l.Append(Records{Service: "web", Runs: runs, Records: records, Positions: positions})
		if err = errors.Join(err, l.Close()); err != nil {
			t.Fatal(err)
		}
		fs.FailOpen(name, syscall.EMFILE)
		if _, report, err := Open(t.Context(), Options{Dir: "wal", FS: fs, Log: slog.New(slog.DiscardHandler)}, Sealed{}); !errors.Is(err, syscall.EMFILE) {
			t.Errorf("%s: %v, %+v", name, err, report)
		}
		fs.FailOpen("", nil)
		l, report := openReport(t, fs)
		if diff := cmp.Diff(Report{}, report); diff != "" || len(messages(replay(t, l))) != len(records) {
			t.Errorf("%s: %s, %q", name, diff, messages(replay(t, l)))
		}
	}
}

// TestOtherVersion reports a log of another version.
func TestOtherVersion(t *testing.T) {
	t.Parallel()
	w := newEncoder()
	w.begin(6, kindSnapshot)
	for _, v := range []uint64{Version + 1, 1, 0} {
		w.uint(v)
	}
	for range 3 {
		w.array(0)
	}
	if _, err := decode(w.buf.Bytes()[frameHead:]); !errors.Is(err, ErrEntry) || !strings.Contains(err.Error(), "version 2, this program reads 1") {
		t.Error(err)
	}
}

// BenchmarkAppend measures the log alone, with chunks of JSON lines.
func BenchmarkAppend(b *testing.B) {
	dir := b.TempDir()
	records := make([]record.Record, 900)
	size := 0
	for i := range records {
		records[i] = record.Record{Time: 3600e9 + int64(i)*1e6, Level: record.Info, Source: "api.log", Message: bytes.Repeat([]byte("x"), 280)}
		size += 280
	}
	l, _, err := Open(b.Context(), Options{Dir: dir, FS: disk.OS{}, Log: slog.New(slog.DiscardHandler)}, Sealed{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := l.Append(Records{Service: "web", Runs: []Run{{3600e9, 3600e9, len(records)}}, Records: records}); err != nil {
			b.Fatal(err)
		}
		if err := l.Trim(l.Next(), false); err != nil {
			b.Fatal(err)
		}
	}
}
