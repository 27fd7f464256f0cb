package wal

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"

	"logstow/internal/test/disktest"
	"logstow/record"
)

// Keys of requests stay when positions are lost, and count as one position.
func TestKeysStay(t *testing.T) {
	t.Parallel()
	p := Positions{"file:1": {1}, KeyPrefix + "0": {2}, KeyPrefix + "1": {3}}
	if err := p.applyLost(Skip); err != nil {
		t.Fatal(err)
	}
	if len(p) != 3 || p["file:1"] != nil || !bytes.Equal(p[KeyPrefix+"1"], []byte{3}) {
		t.Errorf("%v", p)
	}
	fs := disktest.New()
	l, _ := open(t, fs)
	if _, _, err := l.Append(Records{Positions: []Position{{"file:1", []byte{1}}, {KeyPrefix + "0", []byte{2}}, {KeyPrefix + "1", []byte{3}}}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Peek(t.Context(), fs, "wal", Sealed{})
	if err != nil || s.Positions != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

// Records that came with keys cannot be read again: damage loses them.
func TestKeysDamage(t *testing.T) {
	t.Parallel()
	for input, reread := range map[string]uint64{"file:1": 1, KeyPrefix + "0": 0} {
		fs := disktest.New()
		l, _ := open(t, fs)
		path := fs.Paths(suffix)[0]
		at := int(l.files[0].size)
		for i := range 2 {
			rec := []record.Record{{Time: 3600e9, Source: "s", Message: fmt.Appendf(nil, "m%d", i)}}
			var positions []Position
			if i == 0 {
				positions = []Position{{input, []byte{1}}}
			}
			if _, _, err := l.Append(Records{Service: "web", Runs: []Run{{3600e9, 3600e9, 1}}, Records: rec, Positions: positions}); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		fs.Change(path, func(b []byte) []byte { b[at+12] ^= 1; return b })
		_, report, err := Open(t.Context(), Options{Dir: "wal", FS: fs, Log: slog.New(slog.DiscardHandler)}, Sealed{})
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Losses) != 1 || report.Losses[0].Reread != reread || report.Losses[0].Lost != 1-reread {
			t.Errorf("%s: %+v", input, report.Losses)
		}
	}
}
