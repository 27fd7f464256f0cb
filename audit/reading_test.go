package audit_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"logstow/audit"
	"logstow/blobnaming"
	"logstow/internal/test/storetest"
	"logstow/store"
)

// watched records what is read of blobs.
type watched struct {
	store.Store
	read func(name string, off int64)
}

func (w watched) Blobs() store.Blobs     { return watchedBlobs{w.Store.Blobs(), w.read} }
func (w watched) Compacted() store.Blobs { return watchedBlobs{w.Store.Compacted(), w.read} }

type watchedBlobs struct {
	store.Blobs
	read func(name string, off int64)
}

func (w watchedBlobs) Read(ctx context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	w.read(ref.Name, off)
	return w.Blobs.Read(ctx, ref, off, n)
}

// Days of one service are written at the same time, of each segment its footer is read, once, and a
// second run reads nothing.
func TestReindexReads(t *testing.T) {
	t.Parallel()
	s := storetest.OpenLocal(t)
	const days = 3
	footers := make(map[string]int64)
	for d := range days {
		for n := range uint64(2) {
			m := newSegment(t, "api", "", hour().AddDate(0, 0, d), n+1, 30)
			create(t, s, &m, m.entity.Meta.Encode())
			footers[m.entity.Name.String()] = m.entity.Meta.Footer
		}
	}
	var mu sync.Mutex
	begun := make(map[time.Time]bool)
	all := make(chan struct{})
	w := watched{s, func(name string, off int64) {
		parsed, err := blobnaming.Parse(name)
		if err != nil || off < footers[name] {
			t.Errorf("%s is read from %d on, its footer is at %d: %v", name, off, footers[name], err)
		}
		mu.Lock()
		if begun[parsed.Bucket] = true; len(begun) == days {
			select {
			case <-all:
			default:
				close(all)
			}
		}
		mu.Unlock()
		select {
		case <-all:
		case <-time.After(time.Minute):
			t.Error("days wait for each other")
		}
	}}
	for round, reads := range []int64{int64(len(footers)), 0} {
		report, err := audit.Reindex(t.Context(), w, audit.Options{})
		if err != nil || report.Err() != nil || report.Requests.Get != reads || report.Written != reads {
			t.Errorf("round %d: %v, %+v", round, err, report)
		}
	}
}
