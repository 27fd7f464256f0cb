package filestore

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"logstow/internal/hint"
	"logstow/record"
)

// A full disk of temporary files is an error of these, with what determines where they are.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	s := newSegments(full, "")
	err = s.append(entry{"api", record.Record{Source: "-", Message: []byte("x")}})
	if err == nil {
		err = s.end()
	}
	if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "cannot write temporary file: ") || hint.Of(err) == "" {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}

// Keys are decoded as they were encoded; other bytes are no key.
func TestKeys(t *testing.T) {
	t.Parallel()
	k := &keys{}
	for _, r := range []entry{
		{"api", record.Record{Time: -5, Source: "-"}},
		{"web", record.Record{Time: 1 << 60, Level: record.Level(record.Levels - 1), Source: "a"}},
		{"api", record.Record{Source: "-"}},
	} {
		encoded := k.Encode(nil, r)
		if got, ok := k.Decode(encoded); !ok || got.Time != r.Time || got.Level != r.Level || got.Source != r.Source || got.service != r.service {
			t.Errorf("%+v is decoded as %+v, %v", r, got, ok)
		}
		if _, ok := k.Decode(encoded[1:]); ok {
			t.Error("a part of a key is decoded")
		}
	}
	if _, ok := (&keys{}).Decode(k.Encode(nil, entry{"api", record.Record{Source: "a"}})); ok {
		t.Error("a source that is none is decoded")
	}
}
