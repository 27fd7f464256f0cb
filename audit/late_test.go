package audit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/audit"
	"logstow/internal/test/storetest"
	"logstow/retention"
	"logstow/segment"
	"logstow/store"
	"logstow/tableindex"
)

// busy is a store whose tables cannot be written until a time: they are being deleted.
type busy struct {
	store.Store
	until time.Time
}

func (b busy) Tables() store.Tables { return busyTables{b.Store.Tables(), b.until} }

type busyTables struct {
	tables
	until time.Time
}

func (b busyTables) CreateTable(ctx context.Context, table string) error {
	if time.Now().Before(b.until) {
		return &store.Error{Op: "create table", Object: table, Class: store.ErrTableBusy, Status: 409}
	}
	return b.tables.CreateTable(ctx, table)
}

// The name of a table that was dropped cannot be used for 40 s and more: reindex waits for it, and
// where that takes too long reports it and continues with the other days.
func TestBusyTable(t *testing.T) {
	t.Parallel()
	for blocked, whole := range map[time.Duration]bool{50 * time.Second: true, time.Hour: false} {
		t.Run(blocked.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := storetest.OpenLocal(t)
				for d := range 3 {
					m := newSegment(t, "api", "", hour().AddDate(0, 0, d), 1, 5)
					create(t, s, &m, m.entity.Meta.Encode())
					if d == 0 {
						index(t, s, m.entity)
						unindex(t, s, m.entity) // its table is there
					}
				}
				report, err := audit.Reindex(t.Context(), busy{s, time.Now().Add(blocked)}, audit.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if whole && (report.Err() != nil || report.Written != 3) {
					t.Errorf("%v, %+v", report.Err(), report)
				}
				if !whole && (!errors.Is(report.Err(), store.ErrTableBusy) || len(report.Problems) == 0 || report.Written != 1) {
					t.Errorf("%v, %+v", report.Err(), report)
				}
			})
		})
	}
}

// Late records of a day that was dropped make its table again; verify reports nothing of that, and
// the next retention run drops it.
func TestLateDay(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, s store.Store) {
		past := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -9)
		policy := retention.Policy{Keep: map[string]time.Duration{"": 48 * time.Hour}}
		for n := range uint64(2) {
			m := newSegment(t, "api", "", past, n+1, 5)
			m.whole(t, s)
			if got := verify(t, s, audit.Options{Depth: audit.Blocks}); len(got) != 0 {
				t.Errorf("round %d: %v", n, got)
			}
			report, err := retention.Run(t.Context(), s, policy, retention.Options{})
			if err != nil || report.Err() != nil || report.Blobs != 1 {
				t.Errorf("round %d: %v, %+v", n, err, report)
			}
			if tables, err := tableindex.Tables(t.Context(), s.Tables(), s.Container()); len(tables) != 0 || err != nil {
				t.Errorf("round %d: tables %v, %v", n, tables, err)
			}
			_, after := reindex(t, s, audit.Options{})
			if after.Blobs+after.Entities+after.Written != 0 {
				t.Errorf("round %d: %+v", n, after)
			}
		}
	})
}

// unreadable fails to read some blobs, each with its error.
type unreadable struct {
	store.Store
	errs map[string]error
}

func (u unreadable) Blobs() store.Blobs     { return unreadableBlobs{u.Store.Blobs(), u.errs} }
func (u unreadable) Compacted() store.Blobs { return unreadableBlobs{u.Store.Compacted(), u.errs} }

type unreadableBlobs struct {
	store.Blobs
	errs map[string]error
}

func (u unreadableBlobs) Read(ctx context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	if err := u.errs[ref.Name]; err != nil {
		return nil, &store.Error{Op: "read blob", Object: ref.Name, Class: err}
	}
	return u.Blobs.Read(ctx, ref, off, n)
}

// What cannot be read is reported, by name and a bounded number of times, and hides nothing else; storage that
// is gone for minutes ends everything.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.OpenLocal(t)
		u := unreadable{s, make(map[string]error)}
		for n := range uint64(120) {
			m := newSegment(t, "api", "", hour(), n+1, 2)
			m.whole(t, s)
			u.errs[m.entity.Name.String()] = store.ErrAccessDenied
		}
		odd := newSegment(t, "api", "", hour(), 500, 2)
		create(t, s, &odd, odd.entity.Meta.Encode())
		damaged := newSegment(t, "api", "", hour(), 501, 2)
		damaged.body = slices.Clone(damaged.body)
		damaged.body[damaged.entity.Meta.Footer+20] ^= 1
		damaged.whole(t, s)
		var got []string
		o := audit.Options{Depth: audit.Footers, OnDifference: func(d audit.Difference) { got = append(got, string(d.Kind)+" "+d.Object) }}
		report, err := audit.Verify(t.Context(), u, o)
		want := []string{"missing-entity " + odd.entity.Name.String(), "bad-segment " + damaged.entity.Name.String()}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v, %s", err, diff)
		}
		if p := report.Problems; len(p) != 101 || p[100] != "and 20 more" || !strings.HasPrefix(p[0], "api/2026/11/19/1500/000") || !errors.Is(report.Err(), store.ErrAccessDenied) {
			t.Errorf("%d problems: %q", len(p), p)
		}

		// reindex writes the others, and reports which it could not.
		u.errs = map[string]error{odd.entity.Name.String(): store.ErrAccessDenied}
		other := newSegment(t, "api", "", hour(), 502, 2)
		create(t, s, &other, other.entity.Meta.Encode())
		got = nil
		o.Depth = audit.Listing
		report, err = audit.Reindex(t.Context(), u, o)
		if diff := cmp.Diff(want[:1], got); diff != "" || err != nil || report.Written != 1 || fmt.Sprint(report.Problems) != fmt.Sprintf("[%[1]s: read segment footer: cannot read blob %[1]s: access denied]", odd.entity.Name) {
			t.Errorf("%v, %+v, %s", err, report, diff)
		}

		u.errs = map[string]error{odd.entity.Name.String(): store.ErrUnavailable}
		began := time.Now()
		_, err = audit.Reindex(t.Context(), u, o)
		if took := time.Since(began); !errors.Is(err, store.ErrUnavailable) || took < time.Minute || took > 3*time.Minute {
			t.Errorf("gone: %v after %v", err, took)
		}
	})
}

// What reading a segment may answer is damage, that it is gone meanwhile, or a problem.
func TestAnswers(t *testing.T) {
	t.Parallel()
	s := storetest.OpenLocal(t)
	u := unreadable{s, make(map[string]error)}
	var want []string
	for n, c := range []struct {
		err  error
		kind audit.Kind
	}{
		{store.ErrRange, badBytes},
		{segment.ErrUnsupported, badBytes},
		{&segment.CorruptError{Part: "footer", Reason: "odd"}, badBytes},
		{store.ErrNotFound, ""},
		{store.ErrNoContainer, ""},
	} {
		m := newSegment(t, "api", "", hour(), uint64(n+1), 2)
		m.whole(t, s)
		u.errs[m.entity.Name.String()] = c.err
		if c.kind != "" {
			want = append(want, string(c.kind)+" "+m.entity.Name.String())
		}
	}
	for _, depth := range []audit.Depth{audit.Footers, audit.Blocks} {
		if diff := cmp.Diff(want, lines(t, u, audit.Verify, audit.Options{Depth: depth})); diff != "" {
			t.Errorf("depth %d: %s", depth, diff)
		}
	}
}
