package sealed

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/buffer/wal"
	"logstow/internal/test/disktest"
	"logstow/record"
	"logstow/segment"
)

func head(seq int64) Head {
	return Head{
		Key: wal.Key{Service: "web", Class: "audit", Start: 3600e9, Width: 3600e9}, Through: 7, First: time.Unix(5, 6),
		Meta: blobnaming.Metadata{
			Start: 3600e9, End: 3601e9, Records: 3, RawBytes: 300, Levels: record.Counts{record.Info: 3},
			Batch: blobnaming.Batch{1, 2}, Instance: "pod", Seq: seq, Class: "audit", Footer: 40,
		},
	}
}

// segmentOf returns a segment of one record and its metadata.
func segmentOf(t *testing.T) ([]byte, blobnaming.Metadata) {
	t.Helper()
	var b bytes.Buffer
	w := segment.NewWriter(&b, segment.Options{Service: "web", Instance: "pod", Class: "audit", Salt: [16]byte{1, 2}, BucketStart: 3600, BucketWidth: 3600})
	if err := w.Append(record.Record{Time: 3600e9, Message: []byte("message")}); err != nil {
		t.Fatal(err)
	}
	meta, err := w.Close(1)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), meta
}

func dir(t testing.TB, fs *disktest.FS) *Dir {
	t.Helper()
	d, err := Open(fs, "sealed", "quarantine")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestWriteListRead(t *testing.T) {
	t.Parallel()
	fs := disktest.New()
	d := dir(t, fs)
	parsed := func(seq int64) Head {
		h := head(seq)
		h.Key.Parse = "none/1"
		return h
	}
	for _, seq := range []int64{9, 3} {
		if _, err := d.Write(parsed(seq), [][]byte{[]byte("seg"), []byte("ment")}); err != nil {
			t.Fatal(err)
		}
	}
	heads, damaged, err := d.List(t.Context())
	if err != nil || len(damaged) > 0 || len(heads) != 2 || heads[0].Meta.Seq != 3 {
		t.Fatalf("%v, %v, %v", heads, damaged, err)
	}
	want := parsed(3)
	want.Size = 7
	got := heads[0]
	got.offset = 0
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Head{})); diff != "" {
		t.Error(diff)
	}
	if b, err := d.Read(&heads[0], 2, 3); err != nil || string(b) != "gme" {
		t.Errorf("%q, %v", b, err)
	}
	for _, r := range [][2]int64{{-1, 2}, {0, 8}, {7, 1}, {1 << 62, 1 << 62}} {
		if _, err := d.Read(&heads[0], r[0], r[1]); !errors.Is(err, ErrDamaged) {
			t.Errorf("read %v: %v", r, err)
		}
	}
}

// The last intact state counts, a torn one does not; a state without a batch is removed.
func TestState(t *testing.T) {
	t.Parallel()
	fs := disktest.New()
	d := dir(t, fs)
	if _, err := d.Write(head(1), [][]byte{[]byte("x")}); err != nil {
		t.Fatal(err)
	}
	if s, err := d.State(1); err != nil || s != (State{}) {
		t.Errorf("%v, %v", s, err)
	}
	first, second := State{Store: "a", Name: "n"}, State{Store: "a", Name: "m"}
	for _, s := range []State{first, second} {
		if err := d.SetState(1, s); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := d.State(1); err != nil || s != second {
		t.Errorf("%v, %v", s, err)
	}
	path := fs.Paths(".state")[0]
	fs.Change(path, func(b []byte) []byte { return b[:len(b)-1] })
	if s, err := d.State(1); !errors.Is(err, ErrTorn) || s != first {
		t.Errorf("torn: %v, %v", s, err)
	}
	if err := d.SetState(1, second); err != nil {
		t.Fatal(err)
	}
	if s, err := d.State(1); err != nil || s != second {
		t.Errorf("over a torn one: %v, %v", s, err)
	}
	fs.Change(path, func([]byte) []byte { return nil })
	if err := d.SetState(1, first); err != nil {
		t.Fatal(err)
	}
	if s, err := d.State(1); err != nil || s != first {
		t.Errorf("over an empty one: %v, %v", s, err)
	}
	if err := d.removeFile(1, suffix); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.List(t.Context()); err != nil || len(fs.Paths("sealed/")) > 0 {
		t.Errorf("left: %v, %v", fs.Paths("sealed/"), err)
	}
}

// A flipped bit in the head and any truncation quarantine the batch.
func TestDamaged(t *testing.T) {
	t.Parallel()
	fs := disktest.New()
	if _, err := dir(t, fs).Write(head(1), [][]byte{[]byte("segment")}); err != nil {
		t.Fatal(err)
	}
	var whole []byte
	fs.Change(fs.Paths(".seg")[0], func(b []byte) []byte { whole = bytes.Clone(b); return b })
	for i := range whole {
		for name, data := range map[string][]byte{"cut": whole[:i], "flipped": bytes.Clone(whole)} {
			if name == "flipped" {
				if i >= len(whole)-len("segment") {
					continue // the segment has checksums of its own
				}
				data[i] ^= 0x20
			}
			fs := disktest.New()
			f, err := fs.Create("sealed/0000000000000001.seg")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt(data, 0); err != nil {
				t.Fatal(err)
			}
			heads, damaged, err := dir(t, fs).List(t.Context())
			if err != nil || len(heads) > 0 || len(damaged) != 1 || len(fs.Paths("quarantine/0000000000000001.seg")) != 2 {
				t.Fatalf("%s at %d: %v, %v, %v, %v", name, i, heads, damaged, err, fs.Paths(""))
			}
		}
	}
}

// List quarantines a batch that a failing disk cannot read and returns the others; an error
// such as too many open files quarantines nothing.
func TestListUnreadable(t *testing.T) {
	t.Parallel()
	for errno, quarantined := range map[syscall.Errno]bool{syscall.EIO: true, syscall.EMFILE: false} {
		fs := disktest.New()
		d := dir(t, fs)
		for seq := range int64(3) {
			if _, err := d.Write(head(seq+1), [][]byte{[]byte("segment")}); err != nil {
				t.Fatal(err)
			}
		}
		fs.FailOpen("0002.seg", errno)
		heads, damaged, err := d.List(t.Context())
		if !quarantined {
			if !errors.Is(err, errno) || len(fs.Paths("quarantine/")) > 0 {
				t.Errorf("%v: %v, %v", errno, err, fs.Paths("quarantine/"))
			}
			continue
		}
		if err != nil || len(heads) != 2 || len(damaged) != 1 {
			t.Errorf("%v: %v, %v, %v", errno, heads, damaged, err)
		}
		fs.FailOpen("", nil)
		if q := d.Quarantined("0000000000000002.seg"); q.Err != nil || q.Head.Meta.Seq != 2 || !strings.Contains(q.Reason, errno.Error()) {
			t.Errorf("%+v", q)
		}
	}
}

// A batch that can be read at the second attempt is not quarantined.
func TestListReadsAgain(t *testing.T) {
	t.Parallel()
	fs := disktest.New()
	d := dir(t, fs)
	if _, err := d.Write(head(1), [][]byte{[]byte("segment")}); err != nil {
		t.Fatal(err)
	}
	fs.Arm(1, disktest.Fail)
	heads, damaged, err := d.List(t.Context())
	if err != nil || len(heads) != 1 || len(damaged) > 0 {
		t.Errorf("%v, %v, %v", heads, damaged, err)
	}
}

// A quarantined batch whose state is damaged or torn is listed and can be requeued; other files
// are listed with their problem.
func TestQuarantinedState(t *testing.T) {
	t.Parallel()
	data, meta := segmentOf(t)
	for what, change := range map[string]func([]byte) []byte{
		"torn":    func(b []byte) []byte { return b[:len(b)-1] },
		"damaged": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
	} {
		fs := disktest.New()
		d := dir(t, fs)
		h := head(1)
		h.Meta = meta
		h.Meta.Seq = 1
		_, err := d.Write(h, [][]byte{data})
		if err = errors.Join(err, d.SetState(1, State{Store: "s", Name: "a"}), d.SetState(1, State{Store: "s", Name: "b"})); err != nil {
			t.Fatal(err)
		}
		fs.Change(fs.Paths(".state")[0], change)
		if err := d.Quarantine(1, "because"); err != nil {
			t.Fatal(err)
		}
		name := FileName(1)
		if q := d.Quarantined(name); q.Err != nil || q.Head.Meta.Batch != meta.Batch || q.State.Name != "a" {
			t.Errorf("%s: %+v", what, q)
		}
		if err := d.Requeue(t.Context(), name); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if q := d.Quarantined("0000000000000001.log"); !errors.Is(q.Err, errLogFile) {
			t.Errorf("log file: %+v", q)
		}
	}
}

// A batch moves to the quarantine and back with its state; a damaged batch is not requeued. A
// crash or a failing step in between loses nothing.
func TestQuarantineAndBack(t *testing.T) {
	t.Parallel()
	data, meta := segmentOf(t)
	h := head(1)
	h.Meta = meta
	h.Meta.Seq = 1
	state := State{Store: "s", Name: "x/1"}
	name := "0000000000000001.seg"
	for n := range 80 {
		fault, step := disktest.Fault(n%2), n/2 // disktest.Fail and Full
		fs := disktest.New()
		d := dir(t, fs)
		if _, err := d.Write(h, [][]byte{data}); err != nil {
			t.Fatal(err)
		}
		if err := d.SetState(1, state); err != nil {
			t.Fatal(err)
		}
		fs.Arm(step, fault)
		errs := []error{d.Quarantine(1, "because"), d.Requeue(t.Context(), name), d.Quarantine(1, "again")}
		fs.Arm(0, disktest.Fail)
		all := slices.Concat(fs.Paths("sealed/"), fs.Paths("quarantine/"))
		if n := len(slices.DeleteFunc(slices.Clone(all), func(p string) bool { return !strings.HasSuffix(p, ".seg") })); n != 1 {
			t.Fatalf("step %d: %v; files %v", step, errs, all)
		}
		if len(fs.Paths("sealed/"+name)) == 1 {
			continue // a step failed
		}
		if err := d.Requeue(t.Context(), name); err != nil {
			t.Fatalf("step %d: %v, then %v", step, errs, err)
		}
		heads, damaged, err := d.List(t.Context())
		if err != nil || len(heads) != 1 || len(damaged) > 0 || heads[0].Meta.Batch != meta.Batch {
			t.Errorf("step %d: %v, %v, %v", step, heads, damaged, err)
		}
		if got, err := d.State(1); errors.Join(errs...) == nil && (got != state || err != nil) {
			t.Errorf("step %d: state %+v, %v", step, got, err)
		}
	}

	fs := disktest.New()
	d := dir(t, fs)
	if _, err := d.Write(h, [][]byte{data}); err != nil {
		t.Fatal(err)
	}
	if err := d.Quarantine(1, "because"); err != nil {
		t.Fatal(err)
	}
	fs.Change("quarantine/"+name, func(b []byte) []byte { b[len(b)-len(data)/2] ^= 4; return b })
	if err := d.Requeue(t.Context(), name); !errors.Is(err, ErrDamaged) || len(fs.Paths("quarantine/")) != 2 {
		t.Errorf("damaged: %v, %v", err, fs.Paths(""))
	}
	if err := d.Discard(name); err != nil || len(fs.Paths("quarantine/")) != 0 {
		t.Errorf("discard: %v, %v", err, fs.Paths(""))
	}
}

// FuzzHead and FuzzState assert that no input causes a panic or an invalid result.
func FuzzHead(f *testing.F) {
	h := head(1)
	b, err := encodeHead(&h)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:20])
	f.Fuzz(func(t *testing.T, b []byte) {
		// Without a correct checksum the decoder would not be reached.
		if len(b) > len(magic)+8 && string(b[:len(magic)]) == magic {
			b = wal.AppendFrame([]byte(magic), b[len(magic)+8:])
		}
		if h, err := decodeHead(b); err == nil && h.offset > int64(len(b)) {
			t.Errorf("the segment begins at %d of %d", h.offset, len(b))
		}
	})
}

func FuzzState(f *testing.F) {
	f.Add(append([]byte(stateMagic), encodeState(State{Store: "a", Name: "b"})...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > len(stateMagic)+8 && string(b[:len(stateMagic)]) == stateMagic {
			b = wal.AppendFrame([]byte(stateMagic), b[len(stateMagic)+8:])
		}
		_, _ = decodeState(b)
	})
}
