package spill

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"logstow/internal/hint"
	"logstow/internal/test/testrand"
)

func randomRecords(r *rand.Rand, n int) map[string]string {
	records := map[string]string{}
	for range n {
		key := strings.Repeat(string(rune('a'+r.IntN(3))), r.IntN(5)) + fmt.Sprint(r.IntN(10*n))
		records[key] = strings.Repeat("p", r.IntN(50)) + key
		if r.IntN(500) == 0 {
			records[key] += strings.Repeat("x", r.IntN(200_000))
		}
	}
	return records
}

func openFiles(t *testing.T) int {
	t.Helper()
	f, err := os.Open(os.DevNull) // with the first file, the runtime opens some of its own
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}

func TestSorter(t *testing.T) {
	r := testrand.New(t)
	before := openFiles(t)
	for range 60 {
		dir := t.TempDir()
		records := randomRecords(r, 1+r.IntN(3000))
		keys := slices.Sorted(maps.Keys(records))
		r.Shuffle(len(keys), func(i, k int) { keys[i], keys[k] = keys[k], keys[i] })
		limit := 0
		if r.IntN(2) == 0 {
			limit = 1 + r.IntN(2*len(keys))
		}
		s := NewSorter(dir, 1+int64(r.IntN(100_000)), limit)
		for _, key := range keys {
			if err := s.Put([]byte(key), []byte(records[key])); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(keys)
		if limit > 0 {
			keys = keys[:min(limit, len(keys))]
		}
		var got []string
		if err := s.Each(func(key, payload []byte) error {
			if records[string(key)] != string(payload) {
				t.Fatalf("%q has the payload %q", key, payload)
			}
			got = append(got, string(key))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, keys) {
			t.Fatalf("%d records, want %d, limit %d", len(got), len(keys), limit)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Fatal("files remain", left)
		}
	}
	if after := openFiles(t); after > before {
		t.Fatalf("%d files remain open", after-before)
	}
}

// TestMergeOrder merges equal keys of several runs: those of the first run come first.
func TestMergeOrder(t *testing.T) {
	t.Parallel()
	runs := NewRuns(t.TempDir())
	for i := range 130 { // more than are kept
		var records given
		for _, key := range []string{"a", "ab", "b"} {
			records = append(records, [2][]byte{[]byte(key), {byte(i)}})
		}
		if err := runs.Add(&records); err != nil {
			t.Fatal(err)
		}
		if runs.Len() > maxRuns {
			t.Fatal(runs.Len())
		}
	}
	n := 0
	if err := Merge(runs.Cursors(), func(key, payload []byte) error {
		if want := []string{"a", "ab", "b"}[n/130]; string(key) != want || payload[0] != byte(n%130) {
			t.Fatalf("%d: %q %d", n, key, payload)
		}
		n++
		return nil
	}); err != nil || n != 390 {
		t.Fatal(n, err)
	}
	if err := runs.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	if err := NewRuns(missing).Add(); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "cannot create temporary file: ") {
		t.Error(err)
	}
	dir, failure := t.TempDir(), errors.New("failure")
	for _, c := range []Cursor[[]byte]{&failing{next: failure}, &failing{payload: failure}, &failing{good: 1, next: failure}} {
		runs := NewRuns(dir)
		if err := runs.Add(c); !errors.Is(err, failure) || runs.Len() != 0 {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Error("files remain", left)
	}
}

// TestFullDisk writes to /dev/full.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	e := encoder{w: bufio.NewWriterSize(full, 16)}
	if err := e.put([]byte("key"), bytes.Repeat([]byte("x"), 100)); !errors.Is(err, syscall.ENOSPC) || !errors.Is(e.err, syscall.ENOSPC) {
		t.Error(err, e.err)
	}
	for _, size := range []int{10, 10 * writeBuffer} { // written at the end, or before
		f := &file{dir: "the/dir", hint: "make space", file: full}
		m, err := mergerOf(bytewise{}, []Cursor[[]byte]{&given{{[]byte("key"), make([]byte, size)}}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = write(f, m)
		if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "cannot write temporary file in the/dir: ") || hint.Of(err) != "make space" {
			t.Errorf("%d bytes: %v, hint %q", size, err, hint.Of(err))
		}
	}
	m, err := mergerOf(bytewise{}, []Cursor[[]byte]{&given{{[]byte("key"), nil}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := write(&file{dir: os.TempDir(), file: full}, m); !errors.Is(err, syscall.ENOSPC) || hint.Of(err) != "TMPDIR names the directory" {
		t.Errorf("in the system's directory: %v, hint %q", err, hint.Of(err))
	}
}

// TestTruncated reads a run that ends early: that is an error except between records.
func TestTruncated(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	e := encoder{w: bufio.NewWriter(&b)}
	ends := map[int]bool{0: true}
	for _, key := range []string{"a", "abc", "b"} {
		if err := errors.Join(e.put([]byte(key), []byte("payload")), e.w.Flush()); err != nil {
			t.Fatal(err)
		}
		ends[b.Len()] = true
	}
	for n := range b.Len() + 1 {
		err := Merge([]Cursor[[]byte]{newReader(bytewise{}, bytes.NewReader(b.Bytes()[:n]), readBuffer)}, func(_, _ []byte) error { return nil })
		if ends[n] != (err == nil) || err != nil && (!errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasPrefix(err.Error(), "cannot read temporary file: ")) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func FuzzDecoder(f *testing.F) {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	e := encoder{w: w}
	for _, key := range []string{"", "a", "abc", "abd", "b"} {
		if err := e.put([]byte(key), []byte(strings.Repeat(key, 3))); err != nil {
			f.Fatal(err)
		}
	}
	w.Flush()
	f.Add(b.Bytes())
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 3, 0, 'a'})
	f.Fuzz(func(t *testing.T, data []byte) {
		d := newReader(bytewise{}, bytes.NewReader(data), readBuffer)
		var records [][2][]byte
		for {
			key, payload, err := next(d)
			if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				break
			}
			if err != nil {
				return
			}
			records = append(records, [2][]byte{bytes.Clone(key), bytes.Clone(payload)})
		}
		// What was read is written and read again.
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		e := encoder{w: w}
		for _, r := range records {
			if err := e.put(r[0], r[1]); err != nil {
				t.Fatal(err)
			}
		}
		w.Flush()
		d = newReader(bytewise{}, &b, readBuffer)
		for _, r := range records {
			key, payload, err := next(d)
			if err != nil || !bytes.Equal(key, r[0]) || !bytes.Equal(payload, r[1]) {
				t.Fatal(r, key, payload, err)
			}
		}
	})
}

// next returns the next record of a cursor.
func next(c Cursor[[]byte]) (key, payload []byte, err error) {
	if key, err = c.Next(); err == nil {
		payload, err = c.Payload(&[]byte{})
	}
	return key, payload, err
}
