package local

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/store"
)

// FuzzDecodeProperties: no bytes make it panic, and what it reads it writes so
// that it reads the same.
func FuzzDecodeProperties(f *testing.F) {
	for _, p := range []map[string]any{
		{},
		{"S": "text", "N": int64(-5), "B": []byte{0, 255}},
		{"N": int64(1 << 40), "Long": string(make([]byte, 300))},
	} {
		stored, err := encodeProperties(p, time.Unix(0, 1))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(stored)
	}
	f.Add([]byte{0xDF, 0xFF, 0xFF, 0xFF, 0xFF})
	f.Add([]byte{0x81, 0xC6, 0xFF, 0xFF, 0xFF, 0xFF})
	f.Add([]byte{0x81, 0xA0, 0xC6, 0xFF, 0xFF, 0xFF, 0xFF})
	all := func(name string) bool { return name != writtenAt }
	f.Fuzz(func(t *testing.T, stored []byte) {
		first, err := decodeProperties(stored, all)
		if err != nil {
			return
		}
		again, err := encodeProperties(first, time.Unix(0, 1))
		if err != nil {
			t.Fatal(err)
		}
		second, err := decodeProperties(again, all)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Error(diff)
		}
		if _, _, _, err := selectProperties(stored, store.Query{Columns: []store.Column{{Name: "S"}}}); err != nil {
			t.Skip() // Of another kind.
		}
	})
}

func TestMetadataEntities(t *testing.T) {
	t.Parallel()
	for _, want := range []map[string]string{
		{},
		{"A": "1"},
		{"A": "a=b=", "B": "with space ~", "StartTime": "2026-11-20T15:04:05.123456789Z"},
	} {
		if diff := cmp.Diff(want, decodeMetadata(encodeMetadata(want))); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff(map[string]string{"A": "1"}, decodeMetadata("A=1\n\ngarbage")); diff != "" {
		t.Error(diff)
	}
}
