package wal

import (
	"bytes"
	"log/slog"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/disktest"
)

// FuzzDecode asserts that decoding fails or that the entry is the same after encoding it again.
func FuzzDecode(f *testing.F) {
	w := newEncoder()
	runs, records, positions := sample()
	_ = w.encodeRecords(&Records{First: 5, Service: "web", Class: "audit", Parse: "none/1", Runs: runs, Records: records, Positions: positions})
	f.Add(bytes.Clone(w.buf.Bytes()[frameHead:]))
	_ = w.encodeRecords(blocksSample())
	f.Add(bytes.Clone(w.buf.Bytes()[frameHead:]))
	_ = w.encodeSnapshot(&state{next: 9, seq: math.MaxInt64, positions: map[string][]byte{"a": {1}}, coverage: map[Key]uint64{{Service: "x"}: 3}})
	f.Add(bytes.Clone(w.buf.Bytes()[frameHead:]))
	_ = w.encodeCovered(Key{"x", "", "auto/2", -1, 2}, 4, 5)
	f.Add(bytes.Clone(w.buf.Bytes()[frameHead:]))
	w.encodeCopied(8, 100)
	_ = w.encodeOutline(&Records{First: 5, Service: "web", Class: "audit", Parse: "none/1", Runs: runs, Positions: positions})
	f.Add(bytes.Clone(w.buf.Bytes()[frameHead:]))
	f.Fuzz(func(t *testing.T, payload []byte) {
		d, err := decode(payload)
		if err != nil || d.records == nil {
			return
		}
		e := d.records
		w := newEncoder()
		if err := w.encodeRecords(e); err != nil {
			t.Fatal(err)
		}
		again, err := decode(w.buf.Bytes()[frameHead:])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d.records, again.records); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzOpen asserts that a log with any bytes in a log file and its copy can be opened and replayed.
func FuzzOpen(f *testing.F) {
	fs := disktest.New()
	l, _ := open(f, fs)
	runs, records, positions := sample()
	for range 3 {
		if _, _, err := l.Append(Records{Service: "web", Runs: runs, Records: records, Positions: positions}); err != nil {
			f.Fatal(err)
		}
	}
	if _, _, err := l.Append(*blocksSample()); err != nil {
		f.Fatal(err)
	}
	var whole []byte
	fs.Change(fs.Paths(suffix)[0], func(b []byte) []byte { whole = bytes.Clone(b); return b })
	fs.Change(fs.Paths(copySuffix)[0], func(b []byte) []byte { f.Add(whole, bytes.Clone(b)); return b })
	f.Fuzz(func(t *testing.T, data, copied []byte) {
		fs := disktest.New()
		for path, data := range map[string][]byte{"wal/0000000000000001.log": data, "wal/0000000000000001.copy": copied} {
			file, err := fs.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.WriteAt(data, 0); err != nil {
				t.Fatal(err)
			}
		}
		l, _, err := Open(t.Context(), Options{Dir: "wal", FS: fs, Log: slog.New(slog.DiscardHandler)}, Sealed{})
		if err != nil {
			return
		}
		_ = l.Replay(func(Records) error { return nil })
		if err := l.Repair(); err != nil {
			t.Error(err)
		}
	})
}
