package compaction_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"logstow/compaction"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/store"
)

// faultAt is a store whose nth request fails: it is not applied, or it is and the response is lost.
func faultAt(s store.Store, n int64, applied bool) (f *faulty, requests *atomic.Int64) {
	requests = new(atomic.Int64)
	try := func(do func() error) error {
		if requests.Add(1) != n {
			return do()
		}
		if applied {
			return errors.Join(do(), errFault)
		}
		return errFault
	}
	return &faulty{
		Store: s,
		create: func(_ string, do func() (string, error)) (etag string, err error) {
			err = try(func() (err error) { etag, err = do(); return err })
			return etag, err
		},
		read: func(_ string, do func() ([]byte, error)) (data []byte, err error) {
			err = try(func() (err error) { data, err = do(); return err })
			return data, err
		},
		list:   func(string) error { return try(func() error { return nil }) },
		delete: func(_ []store.BlobRef, do func() error) error { return try(do) },
		upsert: try,
		remove: try,
	}, requests
}

// Whatever request fails, applied or not, the answer is the same, and the next run comes to the
// same end.
func TestLongFaultAtEachRequest(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	s := openStore(t)
	segments, step := 4, 1+rnd.Int64N(int64(effort.Cases{Test: 8, Full: 3, Long: 1}.N()))
	if effort.Of() == effort.Long {
		segments = 12
	}
	failed := 0
	for _, applied := range []bool{false, true} {
		for n := int64(1); ; n += step {
			newFleet(t, s, rnd, "web").fill(hour(), 2, segments)
			want := readAll(t, s)
			f, requests := faultAt(s, n, applied)
			report, err := compaction.Run(t.Context(), f, options(t))
			if err := errors.Join(err, report.Err()); err != nil && !errors.Is(err, errFault) {
				t.Fatal(err)
			}
			what := fmt.Sprintf("request %d, applied %v", n, applied)
			if diff := gocmp.Diff(want, readAll(t, s)); diff != "" {
				t.Fatalf("%s (-before +after):\n%s", what, diff)
			}
			run(t, s, options(t))
			if diff := gocmp.Diff(want, readAll(t, s)); diff != "" {
				t.Fatalf("%s, run again (-before +after):\n%s", what, diff)
			}
			all := names(t, s)
			if len(all) != 1 {
				t.Fatalf("%s: %q remain", what, all)
			}
			if err := deleteAll(t.Context(), s, all...); err != nil {
				t.Fatal(err)
			}
			if requests.Load() < n {
				break // there is no such request
			}
			failed++
		}
	}
	t.Logf("%d faults", failed)
	if failed < 5 {
		t.Errorf("only %d faults", failed)
	}
}
