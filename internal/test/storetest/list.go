package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/effort"
	"logstow/store"
)

func listPages(t *testing.T, open Opener) {
	const count, page = 5001, 5000
	b := openNew(t, open).Blobs()
	want := make([]string, count)
	for i := range want {
		want[i] = fmt.Sprintf("queue/2014/07/31/%02d00/%06d.log", i%24, i)
	}
	createParallel(t, b, want)
	slices.Sort(want)

	var got []string
	pages := 0
	for blobs, err := range b.List(t.Context(), "queue/") {
		if err != nil {
			t.Fatal(err)
		}
		if pages++; len(blobs) > page {
			t.Errorf("a page of %d", len(blobs))
		}
		for _, blob := range blobs {
			got = append(got, blob.Name)
			if m := metadata(blob); len(m) != 1 || m["name"] != blob.Name || blob.Size != int64(len(blob.Name)) {
				t.Fatalf("listed as %+v", blob)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if pages < 2 {
		t.Errorf("%d pages", pages)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var err error
	listed := 0
	for blobs, pageErr := range b.List(ctx, "") {
		listed += len(blobs)
		err = pageErr
		cancel()
	}
	wantIs(t, "list cancelled after its first page", err, context.Canceled)
	if listed == 0 || listed >= count {
		t.Errorf("%d blobs were listed before the end", listed)
	}

	if got := len(collect(t, b.ListPrefixes(t.Context(), "queue/2014/07/31/"))); got != 24 {
		t.Errorf("%d hours, want 24", got)
	}
	// The last: it takes long where requests do.
	if err := b.Delete(t.Context(), store.AnyVersion(want[:300]...)); err != nil {
		t.Fatal(err)
	}
	if left := names(t, b, ""); !slices.Equal(left, want[300:]) {
		t.Errorf("%d left after 300 were deleted", len(left))
	}
}

func listOrder(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	want := []string{
		"A/z", "Z", "a b/x", "a!", "a-b/1", "a-b/2", "a.log", "a/1", "a/10", "a/2", "a/b/c", "a0/x", "a0a", "aa/x", "b",
		"b-1/x", "z/z", "~", "é/x",
	}
	slices.Sort(want)
	shuffled := slices.Clone(want)
	slices.Reverse(shuffled)
	create(t, b, shuffled...)
	if diff := cmp.Diff(want, names(t, b, "")); diff != "" {
		t.Error(diff)
	}
}

func listPrefix(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	all := []string{"a-b/1", "a/1", "a/10", "a/b/1", "ab/1", "b", "queue/2014/07/31/1800/000001.log", "queue/2014/08/01/0000/000001.log", "queue2/x"}
	create(t, b, all...)
	for _, prefix := range []string{
		"", "a", "a-", "a/", "a/1", "a/10", "a/100", "a/b", "a/b/", "a/b/1", "a/b/1/", "a/b/1x", "b", "b/", "c",
		"queue", "queue/", "queue/2014/0", "queue/2014/07", "queue/2014/07/", "queue/2014/07/31/18", "queue/2014/07/31/1800/000001.log",
		"A", "/", "//", "a//", "..", "../", "./", ".", "a/..", "a/../", "x/y/z", "a/1/2/3", "100%", "queue?",
	} {
		var want []string
		for _, name := range all {
			if strings.HasPrefix(name, prefix) {
				want = append(want, name)
			}
		}
		if diff := cmp.Diff(want, names(t, b, prefix)); diff != "" {
			t.Errorf("prefix %q: %s", prefix, diff)
		}
	}
}

func listSays(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	before := time.Now().Add(-2 * time.Minute) // Two machines' clocks.
	tag, err := b.Create(t.Context(), "a/b", []byte("12345"), store.CreateOptions{Metadata: map[string]string{"Key": "v"}})
	if err != nil {
		t.Fatal(err)
	}
	var first store.Blob
	for i := range 2 {
		all := collect(t, b.List(t.Context(), "a/"))
		if len(all) != 1 {
			t.Fatalf("listed %+v", all)
		}
		got := all[0]
		if got.Name != "a/b" || got.Size != 5 || got.ETag != tag || tag == "" || metadata(got)["key"] != "v" {
			t.Errorf("listed %+v, created with ETag %s", got, tag)
		}
		if got.Created.Before(before) || got.Created.After(time.Now().Add(2*time.Minute)) {
			t.Errorf("created at %v", got.Created)
		}
		if i == 0 {
			first = got
		} else if diff := cmp.Diff(first, got); diff != "" {
			t.Errorf("listed otherwise the second time: %s", diff)
		}
	}
}

func listStop(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	create(t, b, "a/1", "b/1")
	for range b.List(t.Context(), "") {
		break
	}
	for range b.ListPrefixes(t.Context(), "") {
		break
	}
	seq := b.List(t.Context(), "")
	for range 2 { // A listing may be begun again.
		if got := collect(t, seq); len(got) != 2 {
			t.Errorf("%d listed, want 2", len(got))
		}
	}
}

func listDuringWrites(t *testing.T, open Opener) {
	container := newContainer()
	writer, lister := open(t, container).Blobs(), open(t, container).Blobs()
	var stay []string
	for i := range 40 {
		stay = append(stay, fmt.Sprintf("d%d/%02d/stay", i%4, i))
	}
	createParallel(t, writer, stay)
	slices.Sort(stay)

	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		for i := range 60 {
			name := fmt.Sprintf("d%d/%02d/go", i%4, i)
			if _, err := writer.Create(t.Context(), name, []byte(name), store.CreateOptions{Metadata: map[string]string{"Name": name}}); err != nil {
				t.Errorf("create: %v", err)
				return
			}
			if i%2 == 0 {
				if err := writer.Delete(t.Context(), store.AnyVersion(name)); err != nil {
					t.Errorf("delete: %v", err)
					return
				}
			}
		}
	})
	defer wg.Wait()
	for running := true; running; {
		select {
		case <-done:
			running = false // Once more, after the last write.
		default:
		}
		var got []string
		for _, blob := range collect(t, lister.List(t.Context(), "")) {
			if strings.HasSuffix(blob.Name, "/stay") {
				got = append(got, blob.Name)
			}
			if metadata(blob)["name"] != blob.Name || blob.Size != int64(len(blob.Name)) {
				t.Fatalf("torn: %+v", blob)
			}
		}
		if diff := cmp.Diff(stay, got); diff != "" {
			t.Fatal(diff)
		}
	}
	if got := len(names(t, lister, "")); got != 40+30 {
		t.Errorf("%d blobs at the end, want 70", got)
	}
}

func listPrefixes(t *testing.T, open Opener) {
	b := openNew(t, open).Blobs()
	create(t, b, "a-b/1", "a/1", "a/2", "a/b/1", "a/b/c/1", "a/d/1", "ab/x", "plain", "queue/2014/07/x", "queue/2014/08/x", "queue2/x")
	for _, c := range []struct {
		prefix string
		want   []string
	}{
		{"", []string{"a-b/", "a/", "ab/", "queue/", "queue2/"}},
		{"a", []string{"a-b/", "a/", "ab/"}},
		{"a/", []string{"a/b/", "a/d/"}},
		{"a/b/", []string{"a/b/c/"}},
		{"a/b", []string{"a/b/"}},
		{"queue", []string{"queue/", "queue2/"}},
		{"queue/", []string{"queue/2014/"}},
		{"queue/2014/0", []string{"queue/2014/07/", "queue/2014/08/"}},
		{"queue/2014/07/", nil},
		{"plain", nil},
		{"nothing", nil},
		{"nothing/at/all/", nil},
		{"/", nil},
		{"../", nil},
	} {
		if diff := cmp.Diff(c.want, collect(t, b.ListPrefixes(t.Context(), c.prefix))); diff != "" {
			t.Errorf("prefix %q: %s", c.prefix, diff)
		}
	}
}

// listMoves lists while blobs are deleted, each after another was created that takes its place: one
// of the two is listed, whichever comes first in the order of names.
func listMoves(t *testing.T, open Opener) {
	const fillers = 400
	moves := effort.Cases{Test: 5, Full: 50}.N()
	container := newContainer()
	writer, lister := open(t, container).Blobs(), open(t, container).Blobs()
	var names []string
	for i := range fillers {
		names = append(names, fmt.Sprintf("m/%02d/filler%04d", i%30, i))
	}
	old := func(i int) string { return fmt.Sprintf("m/%02d/old%02d", i*7%30, i) }
	replacement := func(i int) string { return fmt.Sprintf("m/%02d/new%02d", i*11%30, i) }
	for i := range moves {
		names = append(names, old(i))
	}
	createParallel(t, writer, names)
	done := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		defer close(done)
		for i := range moves {
			if _, err := writer.Create(t.Context(), replacement(i), nil, store.CreateOptions{}); err != nil {
				t.Errorf("create: %v", err)
				return
			}
			if err := writer.Delete(t.Context(), store.AnyVersion(old(i))); err != nil {
				t.Errorf("delete: %v", err)
				return
			}
		}
	})
	for running := true; running; {
		select {
		case <-done:
			running = false // Once more, after the last move.
		default:
		}
		listed := make(map[string]bool)
		for _, blob := range collect(t, lister.List(t.Context(), "m/")) {
			if listed[blob.Name] {
				t.Fatalf("%s is listed twice", blob.Name)
			}
			listed[blob.Name] = true
		}
		for i := range moves {
			if !listed[old(i)] && !listed[replacement(i)] {
				t.Fatalf("%s is not listed, and %s, which was created before it was deleted, neither", old(i), replacement(i))
			}
		}
	}
}
