package spool

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/buffer/disk"
	"logstow/buffer/internal/wait"
	"logstow/buffer/sealed"
	"logstow/buffer/wal"
	"logstow/internal/fsutil"
	"logstow/internal/test/disktest"
	"logstow/record"
)

// world is a spool on a small disk.
type world struct {
	*Spool
	t   *testing.T
	dir string
	fs  *disktest.FS
	log *bytes.Buffer
	// disk is fs, or one around it.
	disk disk.FS
	seq  int64
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir(), fs: disktest.New(), log: new(bytes.Buffer)}
	w.fs.Limit(MinDisk)
	w.disk = w.fs
	return w
}

// open opens the spool.
func (w *world) open() Recovered {
	w.t.Helper()
	s, found, err := Open(w.t.Context(), Options{
		Dir: w.dir, Instance: "i", FS: w.disk, FlushSize: 8 << 20, MaxSize: 1 << 30, RetryInterval: time.Millisecond,
		Now: time.Now, Log: slog.New(slog.NewTextHandler(w.log, nil)), Failure: wait.NewFailure(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.Spool = s
	return found
}

func (w *world) mustClose(empty bool) {
	w.t.Helper()
	if err := w.Close(empty); err != nil {
		w.t.Error(err)
	}
}

var key = wal.Key{Service: "web", Start: 3600e9, Width: 3600e9}

// append appends a record of n random bytes and returns its number.
func (w *world) append(n int) uint64 {
	w.t.Helper()
	records := []record.Record{{Time: key.Start, Source: "s", Message: noise(n)}}
	first, _, err := w.Append(wal.Records{Service: key.Service, Class: key.Class, Parse: key.Parse, Runs: []wal.Run{{Start: key.Start, Width: key.Width, Count: 1}}, Records: records})
	if err != nil {
		w.t.Fatal(err)
	}
	return first
}

// seal seals all records up to a number as a batch of n bytes.
func (w *world) seal(through uint64, n int) *Batch {
	w.t.Helper()
	w.seq++
	head := sealed.Head{
		Key: key, Through: through, First: time.Unix(5, 6),
		Meta: blobnaming.Metadata{
			Start: key.Start, End: key.Start + 1, Records: 1, RawBytes: 300, Levels: record.Counts{record.Info: 1},
			Batch: blobnaming.Batch{1, byte(w.seq)}, Instance: "i", Seq: w.seq, Footer: 40,
		},
	}
	batch, err := w.Seal(head, [][]byte{noise(n)}, int64(n))
	if err != nil {
		w.t.Fatal(err)
	}
	return batch
}

func noise(n int) []byte {
	b := make([]byte, n)
	rnd := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	return b
}

// onSync is a file system that calls a function before a file of a sealed batch is synced.
type onSync struct {
	disk.FS
	call func()
}

type onSyncFile struct {
	disk.File
	call func()
}

func (f onSync) Create(path string) (disk.File, error) {
	file, err := f.FS.Create(path)
	if err != nil || !strings.Contains(path, "/"+sealedDir+"/") {
		return file, err
	}
	return onSyncFile{file, f.call}, nil
}

func (f onSyncFile) Sync() error {
	f.call()
	return f.File.Sync()
}

// The capacity of the disk does not depend on whether a batch is being written: with less of it
// the reserve would be too small for the open batches.
func TestCapacityWhileSealing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var during int64
	w.disk = onSync{w.fs, func() { during = w.Capacity() }}
	w.open()
	number := w.append(1 << 20)
	before := w.Capacity()
	w.seal(number, 1<<20)
	if after := w.Capacity(); min(during, after) < before-8*disktest.Block {
		t.Errorf("capacity %d before sealing, %d during, %d after", before, during, after)
	}
	w.mustClose(true)
}

// The capacity of the disk includes the rest of a recycled log file that is overwritten.
func TestCapacityWithRecycledFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	before := w.Capacity()
	for n := range 20 {
		var last uint64
		for range 4 {
			last = w.append(60 << 10)
		}
		batch := w.seal(last, 1000)
		w.Trim(last+1, true, false)
		if err := batch.Remove(); err != nil {
			t.Fatal(err)
		}
		if after := w.Capacity(); after < before-16*disktest.Block {
			t.Fatalf("capacity %d, %d after %d rounds", before, after, n+1)
		}
	}
	if w.Spool.log.RecycledSize() == 0 {
		t.Error("no log file was recycled")
	}
	if w.log.Len() > 0 {
		t.Errorf("log:\n%s", w.log)
	}
	w.mustClose(true)
}

// An error of the disk, other than that it is full, is that of restoring the reserve.
func TestRestoreReserveFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	w.fs.Limit(2 * MinDisk)
	w.fs.ArmFrom(1, disktest.Fail)
	if err := w.RestoreReserve(); err == nil {
		t.Error("no error")
	}
	w.fs.Arm(0, disktest.Fail)
	if err := w.RestoreReserve(); err != nil {
		t.Error(err)
	}
	w.mustClose(true)
}

// An error of closing the files of the lock is returned.
func TestLockCloseFails(t *testing.T) {
	t.Parallel()
	l, err := lockDir(t.TempDir(), Holder{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("error %v", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

// A buffer that another process inspects is locked once that ends, which may take a while on a busy machine; one that
// is locked is not waited for.
func TestLockWaitsForInspect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inspecting, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inspecting.Close() }()
	if err := flockDir(inspecting, fsutil.LockShared); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(300*time.Millisecond, func() { _ = inspecting.Close() })
	l, err := lockDir(dir, Holder{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockDir(dir, Holder{}); !errors.Is(err, ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// Sealing never uses the space that delivery needs, however little there is.
func TestSealingLeavesSpace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	for _, left := range []int64{0, 8 * disktest.Block} {
		if left > 0 {
			w.ReleaseReserve(math.MaxInt64)
		}
		w.fs.Occupy(left)
		there := w.reserve.size() + left
		if err := w.releaseReserveFor(there - min(SmallWrites/2, there/4)); !disk.Full(err) {
			t.Errorf("nearly all of %d: %v", there, err)
		}
		if err := w.releaseReserveFor(there / 2); err != nil {
			t.Errorf("half of %d: %v", there, err)
		}
	}
	w.mustClose(true)
}

// A batch that is delivered while not one byte fits on the disk is not missing for the next
// process.
func TestDeliveredWithoutSpace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	batch := w.seal(w.append(100), 1000)
	_, err := w.reserve.shrink(math.MaxInt64)
	if err == nil {
		_, err = w.Spool.log.DropCopy()
	}
	w.fs.Occupy(0)
	for err == nil { // the rest of the log's last block
		_, err = w.Spool.log.Done(77)
	}
	if !errors.Is(err, wal.ErrFull) {
		t.Fatal(err)
	}
	err = errors.Join(batch.SetState(sealed.State{Store: "store", Name: "name"}, false), batch.Remove())
	if err != nil {
		t.Fatal(err)
	}
	left := w.fs.Crash(nil, false)
	w.mustClose(false)
	w.fs, w.disk = left, left
	found := w.open()
	if lost := w.Losses(); lost.Missing != 0 || lost.Damaged != 0 || len(found.Batches) != 0 {
		t.Errorf("%+v, %+v\n%s", lost, found, w.log)
	}
	w.mustClose(true)
	if left := w.fs.Paths("/" + sealedDir + "/"); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

// A spool that closes with no reserve left keeps the copy of its log.
func TestCloseKeepsCopy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	w.append(100)
	if _, err := w.reserve.shrink(math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	w.fs.Occupy(0)
	w.mustClose(true)
	if copies := w.fs.Paths(".copy"); len(copies) != 1 {
		t.Errorf("copies %v, want one", copies)
	}
}

// After Close the lock check returns ErrClosed and is no failure.
func TestLockAfterClose(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	w.mustClose(true)
	if err := w.checkLock(); !errors.Is(err, wait.ErrClosed) || w.opts.Failure.Err() != nil {
		t.Errorf("%v, and the buffer has failed: %v", err, w.opts.Failure.Err())
	}
}

// A chunk has space if it fits besides a complete reserve and what delivery writes.
func TestHasSpace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	if held, want := w.Reserve(); held != want || want < 1<<20 {
		t.Fatalf("%d of %d bytes are reserved", held, want)
	}
	w.fs.Occupy(100<<10 + SmallWrites)
	for _, c := range []struct {
		size ChunkSize
		want error
	}{
		{ChunkSize{Total: 100 << 10, Largest: 1}, nil},
		{ChunkSize{Total: 100<<10 + 1, Largest: 1}, wal.ErrFull},
		{ChunkSize{Total: 1, Largest: 3 << 20}, wal.ErrFull}, // needs a larger reserve
		{ChunkSize{Total: MinDisk, Largest: 1}, ErrTooLarge},
	} {
		if err := w.HasSpace(c.size); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.size, err, c.want)
		}
	}
	w.ReleaseReserve(math.MaxInt64)
	w.fs.Occupy(MinDisk)
	if err := w.HasSpace(ChunkSize{Total: 1, Largest: 3 << 20}); err != nil {
		t.Error(err)
	}
	if held, _ := w.Reserve(); held < 3<<20 {
		t.Errorf("%d bytes are reserved for a record of %d", held, 3<<20)
	}
	w.mustClose(true)
}

// A record that is large for the limit has space in an empty buffer: its reserve counts as a quarter of the limit.
func TestHasSpaceForLargeRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	w.opts.MaxSize = 1 << 20
	if err := w.HasSpace(ChunkSize{Total: 2 << 20, Largest: 2 << 20}); err != nil {
		t.Error(err)
	}
	w.append(700 << 10)
	if err := w.HasSpace(ChunkSize{Total: 2 << 20, Largest: 2 << 20}); !errors.Is(err, wal.ErrFull) {
		t.Errorf("%v, want a full disk", err)
	}
	w.mustClose(true)
}

// Nothing waits any more when the waits have ended.
func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	for range 3 {
		w.Wait(nil, nil, nil) // ends after the retry interval
	}
	if w.Waiting() {
		t.Error("the spool waits for space")
	}
	w.mustClose(true)
}

// A quarantined batch is listed with its reason until it is discarded.
func TestQuarantineList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.disk = disk.OS{}
	w.open()
	batch := w.seal(w.append(100), 1000)
	if err := batch.SetState(sealed.State{Store: "store", Name: "name"}, false); err != nil {
		t.Fatal(err)
	}
	file, err := batch.Quarantine("the reason")
	if err != nil || file != sealed.FileName(1) || w.InQuarantine() != 1 {
		t.Errorf("file %q, %d files, %v", file, w.InQuarantine(), err)
	}
	all, err := ListQuarantine(w.dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	got := all[0]
	if got.Bytes <= 1000 || time.Since(got.Since) > time.Minute {
		t.Errorf("%d bytes, since %v", got.Bytes, got.Since)
	}
	want := Quarantined{
		File: file, Bytes: got.Bytes, Since: got.Since, Reason: "the reason", Batch: batch.Meta.Batch.String(),
		Service: "web", Bucket: time.Unix(3600, 0).UTC(), Records: 1, Store: "store", Name: "name",
	}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if s, err := Inspect(t.Context(), w.dir); err != nil || s.Quarantined != 1 || s.Sealed != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if err := Discard(w.dir, all); err != nil || w.InQuarantine() != 0 {
		t.Errorf("%d files are left, %v", w.InQuarantine(), err)
	}
	w.mustClose(true)
}
