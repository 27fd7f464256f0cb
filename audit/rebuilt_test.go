package audit_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/audit"
	"logstow/internal/hint"
	"logstow/internal/test/storetest"
	"logstow/store"
	"logstow/store/open"
)

// damagedStore puts two segments and a blob without metadata into a store.
func damagedStore(t *testing.T, s store.Store) (bad string) {
	t.Helper()
	for n, service := range []string{"api", "web"} {
		m := newSegment(t, service, "", hour(), uint64(n+1), 5)
		m.whole(t, s)
	}
	m := newSegment(t, "api", "", hour(), 3, 5)
	m.body = []byte("no segment")
	create(t, s, &m, nil)
	return m.entity.Name.String()
}

// Where the database is found damaged during the comparison, all is compared again, and each remaining
// difference is reported once.
func TestReindexDamagedDatabase(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s, err := open.Store(t.Context(), dir, open.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bad := damagedStore(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".logstow", "store.db"), []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = open.Store(t.Context(), dir, open.Options{Repair: true})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Close(t, s)
	o := audit.Options{Progress: new(audit.Progress)}
	left, report := reindex(t, s, o)
	if diff := cmp.Diff([]string{"bad-metadata " + bad}, left); diff != "" {
		t.Error(diff)
	}
	if report.Written != 2 || report.Blobs != 3 || report.Services != 2 || report.Entities != 2 {
		t.Errorf("%+v", report)
	}
	if p := o.Progress; p.Services.Load() != 2 || p.Compared.Load() != 2 || p.Blobs.Load() != 3 {
		t.Errorf("%d of %d services compared, %d blobs", p.Compared.Load(), p.Services.Load(), p.Blobs.Load())
	}
	if id, err := store.PendingReindex(s); id != "" || err != nil {
		t.Errorf("pending %q, %v", id, err)
	}
}

// replaced is a store whose database is replaced during each of the first comparisons.
type replaced struct {
	store.Store
	times, cleared int
}

func (r *replaced) PendingReindex() (string, error) {
	if r.times == 0 || r.cleared > r.times {
		return "", nil
	}
	return fmt.Sprint("replaced ", r.cleared), nil
}

func (r *replaced) Reindexed(id string) error {
	if now, _ := r.PendingReindex(); now != id {
		return errors.New("not pending: " + id)
	}
	r.cleared++
	return nil
}

// The index of a store whose database is replaced again and again is incomplete, and the error reports it.
func TestReindexNeverComplete(t *testing.T) {
	t.Parallel()
	for times, complete := range []bool{0: true, 1: true, 2: true, 3: false, 4: false} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			t.Parallel()
			r := &replaced{Store: storetest.OpenLocal(t), times: times}
			bad := damagedStore(t, r.Store)
			var got []string
			o := audit.Options{Settle: time.Millisecond, Progress: new(audit.Progress), OnDifference: func(d audit.Difference) {
				got = append(got, string(d.Kind)+" "+d.Object)
			}}
			report, err := audit.Reindex(t.Context(), r, o)
			if complete && err != nil || !complete && (err == nil || !strings.Contains(err.Error(), "incomplete") || !strings.Contains(hint.Of(err), "shipper reindex --store "+r.String())) {
				t.Errorf("%v, hint %q", err, hint.Of(err))
			}
			if want := []string{"bad-metadata " + bad}; !slices.Equal(got, want) || report.Differences != 1 {
				t.Errorf("%d differences %q, want %q", report.Differences, got, want)
			}
			if report.Blobs != 3 || o.Progress.Compared.Load() != 2 {
				t.Errorf("%+v, %d services compared", report, o.Progress.Compared.Load())
			}
			const perRound = 7 // of both containers the services and each of two, and one raw one again
			if want := int64(min(times, 2)+1) * perRound; report.Requests.List != want {
				t.Errorf("%d listings, want %d", report.Requests.List, want)
			}
		})
	}
}
