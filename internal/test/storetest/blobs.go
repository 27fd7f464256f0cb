package storetest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/store"
)

func missingContainer(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	_, err := b.Read(t.Context(), store.BlobRef{Name: "a/b"}, 0, 1)
	wantIs(t, "read", err, store.ErrNoContainer)
	_, err = collectErr(b.List(t.Context(), ""))
	wantIs(t, "list", err, store.ErrNoContainer)
	_, err = collectErr(b.List(t.Context(), "a/b"))
	wantIs(t, "list with prefix", err, store.ErrNoContainer)
	_, err = collectErr(b.ListPrefixes(t.Context(), ""))
	wantIs(t, "list prefixes", err, store.ErrNoContainer)
	wantIs(t, "delete", b.Delete(t.Context(), store.AnyVersion("a/b")), store.ErrNoContainer)
	if errors.Is(err, store.ErrNotFound) {
		t.Errorf("%v is also ErrNotFound", err)
	}

	create(t, b, "a/b")
	for _, name := range []string{"a/c", "a", "a/b/c", "x/y"} {
		_, err = b.Read(t.Context(), store.BlobRef{Name: name}, 0, 1)
		wantIs(t, "read "+name, err, store.ErrNotFound)
		if errors.Is(err, store.ErrNoContainer) {
			t.Errorf("%v is also ErrNoContainer", err)
		}
	}
}

// twoHalves: each container has its own names, and is created and missing by itself.
func twoHalves(t *testing.T, open Opener) {
	s := openNew(t, open)
	create(t, s.Blobs(), "a/b", "a/only", "c/d")
	_, err := collectErr(s.Compacted().List(t.Context(), ""))
	wantIs(t, "list the other one", err, store.ErrNoContainer)
	_, err = s.Compacted().Read(t.Context(), store.BlobRef{Name: "a/b"}, 0, 1)
	wantIs(t, "read in the other one", err, store.ErrNoContainer)
	if _, err := s.Compacted().Create(t.Context(), "a/b", []byte("other"), store.CreateOptions{Metadata: map[string]string{"of": "other"}}); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, s.Compacted(), "a/b", 5); got != "other" {
		t.Errorf("read %q", got)
	}
	if got := readAll(t, s.Blobs(), "a/b", 3); got != "a/b" {
		t.Errorf("read %q", got)
	}
	_, err = s.Compacted().Read(t.Context(), store.BlobRef{Name: "a/only"}, 0, 1)
	wantIs(t, "read a blob of the other one", err, store.ErrNotFound)
	if err := s.Compacted().Delete(t.Context(), store.AnyVersion("c/d")); err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string][]string{"": {"a/b", "a/only", "c/d"}, "_": nil, "_compacted/": nil} {
		if diff := cmp.Diff(want, names(t, s.Blobs(), prefix)); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff([]string{"a/", "c/"}, collect(t, s.Blobs().ListPrefixes(t.Context(), ""))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a/b"}, names(t, s.Compacted(), "")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a/"}, collect(t, s.Compacted().ListPrefixes(t.Context(), ""))); diff != "" {
		t.Error(diff)
	}
	if err := s.Blobs().Delete(t.Context(), store.AnyVersion("a/b", "a/only", "c/d")); err != nil {
		t.Fatal(err)
	}
	listed := collect(t, s.Compacted().List(t.Context(), ""))
	if len(listed) != 1 || metadata(listed[0])["of"] != "other" {
		t.Errorf("left: %+v", listed)
	}
	if err := s.Compacted().Delete(t.Context(), []store.BlobRef{listed[0].Ref()}); err != nil {
		t.Fatal(err)
	}
	// A container remains when its last blob is deleted.
	if all := append(names(t, s.Blobs(), ""), names(t, s.Compacted(), "")...); len(all) > 0 {
		t.Errorf("left: %q", all)
	}
}

// readVersion: a blob that took the name of the listed one is not read.
func readVersion(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	create(t, b, "a/b")
	listed := collect(t, b.List(t.Context(), ""))[0].Ref()
	if got, err := b.Read(t.Context(), listed, 1, 2); err != nil || string(got) != "/b" {
		t.Errorf("read %q, %v", got, err)
	}
	if err := b.Delete(t.Context(), []store.BlobRef{listed}); err != nil {
		t.Fatal(err)
	}
	_, err := b.Read(t.Context(), listed, 0, 3)
	wantIs(t, "read a deleted blob", err, store.ErrNotFound)
	etag, err := b.Create(t.Context(), "a/b", []byte("a/b"), store.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Read(t.Context(), listed, 0, 3)
	wantIs(t, "read a replaced blob", err, store.ErrNotFound)
	for _, ref := range []store.BlobRef{{Name: "a/b"}, {Name: "a/b", ETag: etag}} {
		if got, err := b.Read(t.Context(), ref, 0, 3); err != nil || string(got) != "a/b" {
			t.Errorf("read %+v: %q, %v", ref, got, err)
		}
	}
}

func twoContainers(t *testing.T, open Opener) {
	one, two := openNew(t, open).Blobs(), openNew(t, open).Blobs()
	create(t, one, "a/b")
	create(t, two, "a/b", "a/c")
	if err := two.Delete(t.Context(), store.AnyVersion("a/b")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a/b"}, names(t, one, "")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a/c"}, names(t, two, "")); diff != "" {
		t.Error(diff)
	}
}

func blobsContext(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	create(t, b, "a/b")
	cause := errors.New("the reason")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	canceled, cancel2 := context.WithCancel(t.Context())
	cancel2()
	past, cancel3 := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel3()

	for _, c := range []struct {
		ctx  context.Context
		want error
	}{{ctx, cause}, {canceled, context.Canceled}, {past, context.DeadlineExceeded}} {
		_, err := b.Read(c.ctx, store.BlobRef{Name: "a/b"}, 0, 1)
		wantIs(t, "read", err, c.want)
		_, err = collectErr(b.List(c.ctx, ""))
		wantIs(t, "list", err, c.want)
		_, err = collectErr(b.ListPrefixes(c.ctx, ""))
		wantIs(t, "list prefixes", err, c.want)
		_, err = b.Create(c.ctx, "a/never", []byte("x"), store.CreateOptions{})
		wantIs(t, "create", err, c.want)
		err = b.Delete(c.ctx, store.AnyVersion("a/b"))
		wantIs(t, "delete", err, c.want)
		if store.Retryable(err) {
			t.Errorf("%v is retryable", err)
		}
	}
	if diff := cmp.Diff([]string{"a/b"}, names(t, b, "")); diff != "" {
		t.Errorf("changed after cancel: %s", diff)
	}
}

func ownClock(t *testing.T, open Opener) {
	s := openNew(t, open)
	create(t, s.Blobs(), "a/b")
	now, err := s.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if off := time.Since(now); off > time.Minute || off < -time.Minute { // one machine's clock in tests
		t.Errorf("the time of storage is %v", now)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Now(ctx)
	wantIs(t, "now", err, context.Canceled)
}

func readRanges(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	const name, body = "a/b.log", "0123456789"
	if _, err := b.Create(t.Context(), name, []byte(body), store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		off, n int64
		want   error
	}{
		{0, 10, nil},
		{0, 1, nil},
		{9, 1, nil},
		{3, 4, nil},
		{0, 11, store.ErrRange},
		{9, 2, store.ErrRange},
		{10, 1, store.ErrRange},
		{11, 1, store.ErrRange},
		{1 << 40, 1, store.ErrRange},
		{5, math.MaxInt64, store.ErrRange},
		{0, 0, store.ErrInvalid},
		{10, 0, store.ErrInvalid},
		{0, -1, store.ErrInvalid},
		{-1, 1, store.ErrInvalid},
		{-1, 20, store.ErrInvalid},
	} {
		got, err := b.Read(t.Context(), store.BlobRef{Name: name}, c.off, c.n)
		what := fmt.Sprintf("read %d bytes from %d", c.n, c.off)
		if c.want != nil {
			wantIs(t, what, err, c.want)
			continue
		}
		if want := body[c.off : c.off+c.n]; err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", what, got, err, want)
		}
	}
	_, err := b.Read(t.Context(), store.BlobRef{Name: name}, 5, 6)
	if errors.Is(err, store.ErrNotFound) || store.Retryable(err) {
		t.Errorf("a range not in the blob reads as missing or retryable: %v", err)
	}
}

func readEncoded(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write([]byte(strings.Repeat("log ", 1000))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for encoding, body := range map[string][]byte{
		"gzip": zipped.Bytes(),
		"zstd": {0x28, 0xB5, 0x2F, 0xFD, 0x04, 0x00, 0x01, 0x00, 0x00, 0x99, 0xE9, 0xD8, 0x51},
		"":     {0x1F, 0x8B, 0x00, 0xFF},
	} {
		name := "enc/" + encoding + "x"
		opts := store.CreateOptions{ContentEncoding: encoding, ContentType: "text/plain; charset=utf-8"}
		if _, err := b.Create(t.Context(), name, body, opts); err != nil {
			t.Fatal(err)
		}
		if got := readAll(t, b, name, len(body)); got != string(body) {
			t.Errorf("%s: %x, want %x", encoding, got, body)
		}
		half := int64(len(body) / 2)
		got, err := b.Read(t.Context(), store.BlobRef{Name: name}, half, int64(len(body))-half)
		if err != nil || !bytes.Equal(got, body[half:]) {
			t.Errorf("%s from %d: %x, %v, want %x", encoding, half, got, err, body[half:])
		}
	}
}

func readLarge(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	body := make([]byte, 9<<20)
	source := rand.NewChaCha8([32]byte{1})
	if _, err := source.Read(body); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Create(t.Context(), "large", body, store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, b, "large", len(body)); got != string(body) {
		t.Error("other bytes came back")
	}
}

func createTaken(t *testing.T, open Opener) {
	container := newContainer()
	b, other := open(t, container).Blobs(), open(t, container).Blobs()
	opts := store.CreateOptions{Metadata: map[string]string{"Batch": "one"}}
	tag, err := b.Create(t.Context(), "a/b", []byte("first"), opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, handle := range []store.Blobs{b, other} {
		_, err := handle.Create(t.Context(), "a/b", []byte("second"), store.CreateOptions{Metadata: map[string]string{"Batch": "two"}})
		wantIs(t, "create again", err, store.ErrExists)
		if store.Retryable(err) {
			t.Errorf("%v is retryable", err)
		}
	}
	if got := readAll(t, b, "a/b", 5); got != "first" {
		t.Errorf("the blob is now %q", got)
	}
	all := collect(t, other.List(t.Context(), ""))
	if len(all) != 1 || all[0].ETag != tag || metadata(all[0])["batch"] != "one" || all[0].Size != 5 {
		t.Errorf("listed as %+v", all)
	}
}

func createRace(t *testing.T, open Opener) {
	container := newContainer()
	const racers, rounds = 8, 20
	type win struct{ racer, etag string }
	var (
		mu   sync.Mutex
		wins = map[string][]win{}
		wg   sync.WaitGroup
	)
	for r := range racers {
		b := open(t, container).Blobs()
		racer := fmt.Sprintf("racer%d", r)
		wg.Go(func() {
			for i := range rounds {
				name := fmt.Sprintf("race/%02d", i)
				tag, err := b.Create(t.Context(), name, []byte(racer), store.CreateOptions{Metadata: map[string]string{"Racer": racer}})
				switch {
				case err == nil:
					mu.Lock()
					wins[name] = append(wins[name], win{racer, tag})
					mu.Unlock()
				case !errors.Is(err, store.ErrExists):
					t.Errorf("%s %s: %v", racer, name, err)
				}
			}
		})
	}
	wg.Wait()
	b := open(t, container).Blobs()
	all := collect(t, b.List(t.Context(), "race/"))
	if len(all) != rounds {
		t.Errorf("%d blobs, want %d", len(all), rounds)
	}
	for _, blob := range all {
		won := wins[blob.Name]
		if len(won) != 1 {
			t.Errorf("%s was won by %v", blob.Name, won)
			continue
		}
		if body := readAll(t, b, blob.Name, len(won[0].racer)); body != won[0].racer || metadata(blob)["racer"] != body ||
			blob.ETag != won[0].etag {
			t.Errorf("%s was won by %v but holds %q and is listed as %+v", blob.Name, won[0], body, blob)
		}
	}
}

func createOddNames(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	odd := []string{
		"a b/c d.log", "plus+plus", "100%", "%41", "%2F/%20", "til~de", "ha#sh", "que?ry", "amp&amp=1",
		"co,mm;a", "quo'te\"s", "br[ack](et){s}", "<x>", "ünïcödé/日本語/😀", "-dash", "--", "_", "$logs/x",
		".hidden/x", "..dots/..x", "x...y", "a:b", "a*b|c", "@", "!", "`", "^", " lead", "trail ",
		strings.Repeat("long/", 100) + "name", "c/" + strings.Repeat("x", 250),
		strings.Repeat(strings.Repeat("y", 203)+"/", 5) + "1234", // 1,024 bytes
	}
	for _, name := range odd {
		create(t, b, name)
		if got := readAll(t, b, name, len(name)); got != name {
			t.Errorf("%q holds %q", name, got)
		}
		if got := names(t, b, name); len(got) != 1 || got[0] != name {
			t.Errorf("%q as prefix lists %q", name, got)
		}
	}
	got := map[string]bool{}
	for _, name := range names(t, b, "") {
		got[name] = true
	}
	for _, name := range odd {
		if !got[name] {
			t.Errorf("%q is not listed", name)
		}
	}
	if err := b.Delete(t.Context(), store.AnyVersion(odd...)); err != nil {
		t.Fatal(err)
	}
	if left := names(t, b, ""); len(left) != 0 {
		t.Errorf("left after delete: %q", left)
	}
}

func createInvalidNames(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	create(t, b, "ok")
	for _, name := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/../b", "a/./b", "a.", "a./b", "a\x00b", "a\nb", "a\x7fb",
		"a\u0085b", `a\b`, "a\xffb", strings.Repeat("x/", 512) + "x", strings.Repeat("x/", 254) + "x",
	} {
		_, err := b.Create(t.Context(), name, []byte("x"), store.CreateOptions{})
		wantIs(t, fmt.Sprintf("create %q", name), err, store.ErrInvalid)
	}
	if diff := cmp.Diff([]string{"ok"}, names(t, b, "")); diff != "" {
		t.Error(diff)
	}
}

// metadata is a blob's metadata with its keys in lower case.
func metadata(b store.Blob) map[string]string {
	lower := make(map[string]string, len(b.Metadata))
	for key, value := range b.Metadata {
		lower[strings.ToLower(key)] = value
	}
	return lower
}

func createMetadata(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	var printable strings.Builder
	for c := byte('!'); c <= '~'; c++ {
		printable.WriteByte(c)
	}
	want := map[string]map[string]string{
		"m/1": {"starttime": "2026-11-20T15:04:05.123456789Z", "logversion": "logstow/1"},
		"m/2": {"printable": printable.String()},
		"m/3": {"spaces": "a b  c", "eq": "a=b", "pct": "100%25", "comma": "a,b;c", "_x1": "1"},
		"m/4": {},
		"m/5": {"long": strings.Repeat("v", 7000)},
	}
	for name, meta := range want {
		if _, err := b.Create(t.Context(), name, []byte("x"), store.CreateOptions{Metadata: maps.Clone(meta)}); err != nil {
			t.Fatal(err)
		}
	}
	mixed := store.CreateOptions{Metadata: map[string]string{"StartTime": "x", "RawBytes": "7"}}
	if _, err := b.Create(t.Context(), "m/6", []byte("x"), mixed); err != nil {
		t.Fatal(err)
	}
	want["m/6"] = map[string]string{"starttime": "x", "rawbytes": "7"}
	got := map[string]map[string]string{}
	for _, blob := range collect(t, b.List(t.Context(), "m/")) {
		got[blob.Name] = metadata(blob)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func createInvalidMetadata(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	create(t, b, "ok")
	for _, meta := range []map[string]string{
		{"": "x"},
		{"a-b": "x"},
		{"a b": "x"},
		{"1a": "x"},
		{"ä": "x"},
		{"a": ""},
		{"a": "x\ny"},
		{"a": "ü"},
		{"a": " x"},
		{"a": "x "},
		{"a": "x", "A": "y"},
		{"a": strings.Repeat("x", 8192)},
	} {
		_, err := b.Create(t.Context(), "bad", []byte("x"), store.CreateOptions{Metadata: meta})
		wantIs(t, fmt.Sprintf("create with %.40q", meta), err, store.ErrInvalid)
	}
	if diff := cmp.Diff([]string{"ok"}, names(t, b, "")); diff != "" {
		t.Error(diff)
	}
}

func createEmpty(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	if _, err := b.Create(t.Context(), "empty", nil, store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := b.Read(t.Context(), store.BlobRef{Name: "empty"}, 0, 1)
	wantIs(t, "read", err, store.ErrRange)
	if all := collect(t, b.List(t.Context(), "")); len(all) != 1 || all[0].Size != 0 {
		t.Errorf("listed as %+v", all)
	}
}

// createParallel creates blobs, many at once, to be done sooner.
func createParallel(t testing.TB, b store.Blobs, names []string) {
	t.Helper()
	work := make(chan string)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for name := range work {
				if _, err := b.Create(t.Context(), name, []byte(name), store.CreateOptions{Metadata: map[string]string{"Name": name}}); err != nil {
					t.Errorf("create %q: %v", name, err)
				}
			}
		})
	}
	for _, name := range names {
		work <- name
	}
	close(work)
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}
