package storetest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/store"
)

// createFrom is Create with a body of a reader.
func createFrom(t *testing.T, open Opener) {
	b := open(t, newContainer()).Blobs()
	if _, ok := b.(store.Streamer); !ok {
		t.Error("no store.Streamer")
	}
	body := bytes.Repeat([]byte("0123456789abcdef"), 100_000)
	tag, err := store.CreateFrom(t.Context(), b, "a/b", bytes.NewReader(body), int64(len(body)),
		store.CreateOptions{Metadata: map[string]string{"k": "v"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.CreateFrom(t.Context(), b, "a/b", strings.NewReader("other"), 5, store.CreateOptions{})
	wantIs(t, "create again", err, store.ErrExists)
	if got := readAll(t, b, "a/b", len(body)); got != string(body) {
		t.Error("another body")
	}
	all := collect(t, b.List(t.Context(), ""))
	if len(all) != 1 || all[0].ETag != tag || metadata(all[0])["k"] != "v" {
		t.Errorf("listed as %+v", all)
	}
}

// prefixedPart is a part of a container, which has its names without the prefix and nothing of other parts.
func prefixedPart(t *testing.T, open Opener) {
	whole := open(t, newContainer()).Blobs()
	part := store.Prefixed(whole, "lake/logs/")
	if _, err := whole.Create(t.Context(), "lake/logs-2/x", []byte("other"), store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := part.Create(t.Context(), "a/1", []byte("one"), store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.CreateFrom(t.Context(), part, "a/2", strings.NewReader("two"), 3, store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := part.Create(t.Context(), "a/1", []byte("again"), store.CreateOptions{})
	wantIs(t, "create again", err, store.ErrExists)
	_, err = part.Create(t.Context(), "", []byte("no name"), store.CreateOptions{})
	wantIs(t, "create without a name", err, store.ErrInvalid)
	names := func(b store.Blobs, prefix string) (names []string) {
		for _, blob := range collect(t, b.List(t.Context(), prefix)) {
			names = append(names, blob.Name)
		}
		return names
	}
	if diff := cmp.Diff([]string{"a/1", "a/2"}, names(part, "")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"lake/logs-2/x", "lake/logs/a/1", "lake/logs/a/2"}, names(whole, "")); diff != "" {
		t.Error(diff)
	}
	for page, err := range part.ListPrefixes(t.Context(), "") {
		if err != nil || len(page) != 1 || page[0] != "a/" {
			t.Errorf("directories %q, error %v", page, err)
		}
	}
	if got := readAll(t, part, "a/2", 3); got != "two" {
		t.Errorf("%q", got)
	}
	if err := part.Delete(t.Context(), store.AnyVersion("a/1", "x")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"lake/logs-2/x", "lake/logs/a/2"}, names(whole, "")); diff != "" {
		t.Error(diff)
	}
}
