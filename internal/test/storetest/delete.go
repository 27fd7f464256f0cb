package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/store"
)

func deleteMissing(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	if err := b.Delete(t.Context(), nil); err != nil {
		t.Errorf("delete nothing: %v", err)
	}
	create(t, b, "a/1", "a/2", "a/3")
	for range 2 {
		if err := b.Delete(t.Context(), store.AnyVersion("a/2", "a/never", "a/3", "b/c/d")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"a/1"}, names(t, b, "")); diff != "" {
			t.Error(diff)
		}
	}
	_, err := b.Read(t.Context(), store.BlobRef{Name: "a/2"}, 0, 1)
	wantIs(t, "read a deleted blob", err, store.ErrNotFound)
	if err := b.Delete(t.Context(), store.AnyVersion("a/1")); err != nil {
		t.Fatal(err)
	}
	if left := names(t, b, ""); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
	if dirs := collect(t, b.ListPrefixes(t.Context(), "")); len(dirs) != 0 {
		t.Errorf("directories left: %q", dirs)
	}
}

func deleteMany(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	many := make([]string, 2*store.MaxDelete+3)
	for i := range many {
		many[i] = fmt.Sprintf("many/%04d", i)
	}
	createParallel(t, b, many)
	create(t, b, "other")
	if err := b.Delete(t.Context(), store.AnyVersion(many...)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"other"}, names(t, b, "")); diff != "" {
		t.Error(diff)
	}
}

func deleteTriesAll(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	create(t, b, "a", "b")
	err := b.Delete(t.Context(), store.AnyVersion("a", "x/../y", "", "b"))
	wantIs(t, "delete with invalid names", err, store.ErrInvalid)
	var e *store.Error
	if !errors.As(err, &e) {
		t.Errorf("%v is no *store.Error", err)
	}
	if n := store.Failed(err, store.ErrInvalid); n != 2 {
		t.Errorf("%d have failed, want 2: %v", n, err)
	}
	if left := names(t, b, ""); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

func deleteThenCreate(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	var tags []string
	for _, body := range []string{"one", "two"} {
		tag, err := b.Create(t.Context(), "a/b/c", []byte(body), store.CreateOptions{Metadata: map[string]string{"Body": body}})
		if err != nil {
			t.Fatal(err)
		}
		tags = append(tags, tag)
		all := collect(t, b.List(t.Context(), ""))
		if len(all) != 1 || metadata(all[0])["body"] != body || all[0].ETag != tag {
			t.Errorf("listed as %+v", all)
		}
		if got := readAll(t, b, "a/b/c", len(body)); got != body {
			t.Errorf("read %q, want %q", got, body)
		}
		if err := b.Delete(t.Context(), store.AnyVersion("a/b/c")); err != nil {
			t.Fatal(err)
		}
	}
	if tags[0] == tags[1] || tags[0] == "" {
		t.Errorf("ETags %q of two blobs", tags)
	}
}

// deleteVersion: a blob that took the name of the listed one is kept.
func deleteVersion(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	create(t, b, "a/1", "a/2", "a/3")
	listed := collect(t, b.List(t.Context(), ""))
	if err := b.Delete(t.Context(), []store.BlobRef{listed[1].Ref()}); err != nil {
		t.Fatal(err)
	}
	create(t, b, "a/2")
	var versions []store.BlobRef
	for _, blob := range listed {
		versions = append(versions, blob.Ref())
	}
	if err := b.Delete(t.Context(), append(versions, store.BlobRef{Name: "a/never", ETag: listed[0].ETag})); err != nil {
		t.Fatal(err)
	}
	left := collect(t, b.List(t.Context(), ""))
	if len(left) != 1 || left[0].Name != "a/2" || left[0].ETag == listed[1].ETag {
		t.Fatalf("left: %+v", left)
	}
	if got := readAll(t, b, "a/2", 3); got != "a/2" {
		t.Errorf("read %q", got)
	}
	if err := b.Delete(t.Context(), []store.BlobRef{left[0].Ref()}); err != nil {
		t.Fatal(err)
	}
	if left := names(t, b, ""); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

// removeDirectories: where directories are not objects, nothing happens.
func removeDirectories(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	create(t, b, "a/1/2", "a/3")
	if err := b.RemoveDirectories(t.Context(), "a/", "a/9"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a/1/2", "a/3"}, names(t, b, "")); diff != "" {
		t.Error(diff)
	}
}

// createTier: a blob is in the tier of its options, which is not inferred. A store without tiers ignores Hot.
func createTier(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	create(t, b, "default")
	account := collect(t, b.List(t.Context(), ""))[0]
	for _, tier := range []store.Tier{store.Hot, store.Cool, store.Cold} {
		_, err := b.Create(t.Context(), string(tier), []byte("x"), store.CreateOptions{Tier: tier})
		if account.Tier == "" && tier != store.Hot {
			wantIs(t, "a store without tiers", err, store.ErrInvalid)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got := collect(t, b.List(t.Context(), string(tier)))[0]
		if account.Tier != "" && got.Tier != tier || got.TierInferred {
			t.Errorf("created in %s, listed %+v", tier, got)
		}
	}
	if account.TierInferred != (account.Tier != "") {
		t.Errorf("without a tier: %+v", account)
	}
	_, err := b.Create(t.Context(), "unknown", nil, store.CreateOptions{Tier: "Warm"})
	wantIs(t, "an unknown tier", err, store.ErrInvalid)
	if got := names(t, b, "unknown"); len(got) > 0 {
		t.Errorf("written: %q", got)
	}
}

// setTier runs if there are tiers, as shown by a listing.
func setTier(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	create(t, b, "a/1", "a/2", "a/3")
	before := collect(t, b.List(t.Context(), ""))
	if before[0].Tier == "" {
		wantIs(t, "a store without tiers", b.SetTier(t.Context(), []string{"a/1"}, store.Cool), store.ErrInvalid)
		return
	}
	wantIs(t, "an unknown tier", b.SetTier(t.Context(), []string{"a/1"}, "Warm"), store.ErrInvalid)
	if err := b.SetTier(t.Context(), []string{"a/1", "a/missing"}, store.Cool); err != nil {
		t.Fatal(err)
	}
	if err := b.SetTier(t.Context(), []string{"a/3"}, store.Cold); err != nil {
		t.Fatal(err)
	}
	for i, tier := range map[int]store.Tier{0: store.Cool, 2: store.Cold} {
		before[i].Tier, before[i].TierInferred = tier, false
	}
	if diff := cmp.Diff(before, collect(t, b.List(t.Context(), ""))); diff != "" {
		t.Error(diff)
	}
	if got := readAll(t, b, "a/3", 3); got != "a/3" {
		t.Errorf("read %q", got)
	}
	if err := b.Delete(t.Context(), store.AnyVersion("a/1", "a/2", "a/3")); err != nil {
		t.Fatal(err)
	}
}
