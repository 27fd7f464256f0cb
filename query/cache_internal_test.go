package query

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"logstow/internal/test/querytest"

	"github.com/google/go-cmp/cmp"

	"logstow/query/cache"
	"logstow/record"
)

// keep gives the world a cache.
func (w *world) keep() {
	w.t.Helper()
	var err error
	if w.cache, err = cache.Open(w.t.TempDir(), 0); err != nil {
		w.t.Fatal(err)
	}
}

// The same question again costs only the listing, and damage to what was kept
// costs only a request.
func TestCache(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 5))
	w := newWorld(t, rnd, false)
	for i := range 20 {
		records := make([]record.Record, 1+rnd.IntN(60))
		for j := range records {
			records[j] = record.Record{Time: origin().Add(time.Duration(j) * time.Second).UnixNano(), Source: "s", Attributes: querytest.RandomAttributes(rnd), Message: querytest.RandomText(rnd, 20)}
		}
		w.add("svc-1", fmt.Sprint("pod-", i), 100+rnd.IntN(1000), w.salt(), records)
	}
	dir := t.TempDir()
	var err error
	if w.cache, err = cache.Open(dir, 0); err != nil {
		t.Fatal(err)
	}
	sel := querytest.Everything()
	sel.From, sel.To, sel.Patterns = origin(), origin().Add(5*time.Hour), []string{"a"}
	cold := w.query(sel, Options{})
	want := got(t, cold)
	if len(want) < 10 || cold.Report().Requests.Get == 0 {
		t.Fatalf("%d records, %+v", len(want), cold.Report())
	}
	again := func() Report {
		t.Helper()
		q := w.query(sel, Options{})
		if diff := cmp.Diff(want, got(t, q)); diff != "" {
			t.Error(diff)
		}
		if p := q.Report().Problems; len(p) > 0 {
			t.Error(p)
		}
		return q.Report()
	}
	if r := again(); r.Requests.Get != 0 || r.Requests.List != cold.Report().Requests.List || r.BytesCached != cold.Report().BytesStoredRead {
		t.Errorf("warm: %+v, cold: %+v", r, cold.Report())
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(paths) < 10 {
		t.Fatal(len(paths), err)
	}
	for i, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data[rnd.IntN(len(data)-4)] ^= 1
		if i%2 == 0 { // so that the damage is not seen when it is read
			binary.LittleEndian.PutUint32(data[len(data)-4:], crc32.Checksum(data[:len(data)-4], crc32.MakeTable(crc32.Castagnoli)))
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r := again(); r.Requests.Get == 0 {
		t.Error("nothing was read again")
	}
	again() // small blobs of which a block was damaged
	if r := again(); r.Requests.Get != 0 {
		t.Errorf("%d requests for what is kept again", r.Requests.Get)
	}
}
