package compaction_test

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"logstow/compaction"
	"logstow/store"
)

// Who knows the batch of a segment before it is stored, and stores a blob with that batch which is never eligible, does not keep the
// segment from being merged.
func TestEarlierTwin(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*plain){
		"class":  func(p *plain) { p.meta.Class = "audit" },
		"parser": func(p *plain) { p.meta.Parse = "none/1" },
		"bytes":  func(p *plain) { p.body = append([]byte{p.body[0] + 1}, p.body[1:]...) },
		"hour":   func(p *plain) { p.name.Bucket = p.name.Bucket.Add(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t)
			f := newFleet(t, s, rand.New(rand.NewPCG(5, 6)), "api")
			a, b := f.segment("a", hour(), time.Hour, 60), f.segment("b", hour(), time.Hour, 60)
			twin := a
			change(&twin)
			twin.name.Number = 9
			if _, err := s.Blobs().Create(t.Context(), twin.name.String(), twin.body, store.CreateOptions{Metadata: twin.meta.Encode()}); err != nil {
				t.Fatal(err)
			}
			f.store(a)
			f.store(b)
			report, err := compaction.Run(t.Context(), s, options(t))
			if err != nil || report.Inputs != 2 || len(report.Damaged) != 1 || report.Damaged[0] != twin.name.String() {
				t.Errorf("report %+v, error %v", report, err)
			}
		})
	}
}

// A blob with the batch of a segment that storage does not return, as one in the archive tier, keeps nothing from being merged.
func TestUnreadableTwin(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	f := newFleet(t, s, rand.New(rand.NewPCG(7, 8)), "api")
	a, b := f.segment("a", hour(), time.Hour, 60), f.segment("b", hour(), time.Hour, 60)
	twin := a
	twin.name.Number = 9
	if _, err := s.Blobs().Create(t.Context(), twin.name.String(), twin.body, store.CreateOptions{Metadata: twin.meta.Encode()}); err != nil {
		t.Fatal(err)
	}
	f.store(a)
	f.store(b)
	archived := &store.Error{Op: "read", Object: twin.name.String(), Class: store.ErrInvalid, Code: "BlobArchived", Status: http.StatusConflict}
	unreadable := &faulty{Store: s, read: func(name string, do func() ([]byte, error)) ([]byte, error) {
		if name == twin.name.String() {
			return nil, archived
		}
		return do()
	}}
	archived.Status = http.StatusBadRequest // not because of the blob's state
	if _, err := compaction.Run(t.Context(), unreadable, options(t)); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("invalid request: %v", err)
	}
	archived.Status = http.StatusConflict
	report, err := compaction.Run(t.Context(), unreadable, options(t))
	if err != nil || report.Inputs != 2 || len(report.Damaged) != 1 || report.Damaged[0] != twin.name.String() {
		t.Errorf("report %+v, error %v", report, err)
	}
}
