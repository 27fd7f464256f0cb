package audit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/audit"
	"logstow/blobnaming"
	"logstow/internal/test/storetest"
	"logstow/record"
	"logstow/store"
	"logstow/tableindex"
)

// plant is one thing that is made wrong, in a service of its own name.
type plant struct {
	name string
	// make stores and indexes a segment that is right but for one thing.
	make func(t *testing.T, s store.Store, m made)
	// listing, footers and blocks are the kinds found at each depth; "" is nothing.
	listing, footers, blocks audit.Kind
	// remains is what is left by reindex, by listing.
	remains audit.Kind
}

func plants() []plant {
	whole := func(t *testing.T, s store.Store, m *made) {
		create(t, s, m, m.entity.Meta.Encode())
		index(t, s, m.entity)
	}
	const damaged = badBytes
	return []plant{
		{"nothing", func(t *testing.T, s store.Store, m made) { whole(t, s, &m) }, "", "", "", ""},
		{"foreign", func(t *testing.T, s store.Store, m made) {
			whole(t, s, &m)
			if _, err := s.Blobs().Create(t.Context(), "foreign/2026/11/19/notes.txt", []byte("x"), store.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}, "", "", "", ""},
		{"no-entity", func(t *testing.T, s store.Store, m made) { create(t, s, &m, m.entity.Meta.Encode()) }, missing, missing, missing, ""},
		{"no-blob", func(t *testing.T, s store.Store, m made) {
			whole(t, s, &m)
			remove(t, s, m.entity.Name.String())
		}, stray, stray, stray, ""},
		{"second-entity", func(t *testing.T, s store.Store, m made) {
			whole(t, s, &m)
			m.entity.Meta.End++
			index(t, s, m.entity)
		}, stray, stray, stray, ""},
		{"counts", func(t *testing.T, s store.Store, m made) {
			whole(t, s, &m)
			m.entity.Meta.Records++
			m.entity.Meta.Levels[record.Error]++
			m.entity.Minutes = nil
			index(t, s, m.entity)
		}, entityOff, entityOff, entityOff, ""},
		{"odd-counts", func(t *testing.T, s store.Store, m made) {
			whole(t, s, &m)
			tamper(t, s, m.entity, func(e *store.Entity) { e.Properties["Records"] = int64(1) })
		}, entityOff, entityOff, entityOff, ""},
		{"no-blob-name", func(t *testing.T, s store.Store, m made) {
			whole(t, s, &m)
			tamper(t, s, m.entity, func(e *store.Entity) { delete(e.Properties, "Blob") })
		}, entityOff, entityOff, entityOff, ""},
		{"newer-entity", func(t *testing.T, s store.Store, m made) {
			whole(t, s, &m)
			tamper(t, s, m.entity, func(e *store.Entity) { e.Properties["V"] = int64(2) })
		}, entityOff, entityOff, entityOff, entityOff},
		{"etag", func(t *testing.T, s store.Store, m made) {
			whole(t, s, &m)
			m.entity.ETag = "0xAnother"
			index(t, s, m.entity)
		}, entityOff, entityOff, entityOff, ""},
		{"other-class", func(t *testing.T, s store.Store, m made) {
			create(t, s, &m, m.entity.Meta.Encode())
			m.entity.Meta.Class = "audit"
			index(t, s, m.entity)
		}, entityOff, entityOff, entityOff, ""},
		{"minutes", func(t *testing.T, s store.Store, m made) {
			whole(t, s, &m)
			for i := range m.entity.Minutes {
				m.entity.Minutes[i].Start += 60
			}
			index(t, s, m.entity)
		}, "", entityOff, entityOff, ""},
		{"metadata", func(t *testing.T, s store.Store, m made) {
			wrong := m.entity.Meta
			wrong.RawBytes++
			create(t, s, &m, wrong.Encode())
			index(t, s, m.entity)
		}, entityOff, wrongMeta, wrongMeta, wrongMeta},
		{"metadata-and-entity", func(t *testing.T, s store.Store, m made) {
			m.entity.Meta.Seq++
			whole(t, s, &m)
		}, "", wrongMeta, wrongMeta, ""},
		{"footer-elsewhere", func(t *testing.T, s store.Store, m made) {
			m.entity.Meta.Footer--
			whole(t, s, &m)
		}, "", wrongMeta, wrongMeta, ""},
		{"unreadable-metadata", func(t *testing.T, s store.Store, m made) {
			bad := m.entity.Meta.Encode()
			bad["Records"] = "many"
			create(t, s, &m, bad)
			index(t, s, m.entity)
		}, badMeta, badMeta, badMeta, badMeta},
		{"no-metadata", func(t *testing.T, s store.Store, m made) {
			m.body = []byte("text") // or the embedded store would find metadata in it
			create(t, s, &m, nil)
		}, badMeta, badMeta, badMeta, badMeta},
		{"renamed", func(t *testing.T, s store.Store, m made) {
			other := newSegment(t, "original", "", hour(), 1, 20)
			other.entity.Name = m.entity.Name
			whole(t, s, &other)
		}, "", wrongMeta, wrongMeta, ""},
		{"another-bucket", func(t *testing.T, s store.Store, m made) {
			other := newSegment(t, "another-bucket", "", hour().Add(10*time.Minute), 1, 20)
			other.entity.Name = m.entity.Name
			whole(t, s, &other)
		}, "", wrongMeta, wrongMeta, ""},
		{"flipped-footer", func(t *testing.T, s store.Store, m made) {
			m.body = slices.Clone(m.body)
			m.body[m.entity.Meta.Footer+20] ^= 4
			whole(t, s, &m)
		}, "", damaged, damaged, ""},
		{"flipped-block", func(t *testing.T, s store.Store, m made) {
			m.body = slices.Clone(m.body)
			m.body[40] ^= 1
			whole(t, s, &m)
		}, "", "", damaged, ""},
		{"cut-off", func(t *testing.T, s store.Store, m made) {
			m.body = m.body[:len(m.body)-1]
			whole(t, s, &m)
		}, "", damaged, damaged, ""},
		{"flipped-and-no-entity", func(t *testing.T, s store.Store, m made) {
			m.body = slices.Clone(m.body)
			m.body[m.entity.Meta.Footer+20] ^= 4
			create(t, s, &m, m.entity.Meta.Encode())
		}, missing, missing, missing, damaged},
	}
}

// Each planted difference is found, at the depth that can, and nothing else; reindex
// repairs what can be, and then finds nothing more to do.
func TestPlanted(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, s store.Store) {
		want := make(map[audit.Depth][]string)
		var remains []string
		add := func(all []string, kind audit.Kind, p plant) []string {
			if kind == "" {
				return all
			}
			object := blobnaming.Name{Service: p.name, Bucket: hour(), Number: 1}.String()
			return append(all, string(kind)+" "+object)
		}
		for _, p := range plants() {
			p.make(t, s, newSegment(t, p.name, "", hour(), 1, 20))
			want[audit.Listing] = add(want[audit.Listing], p.listing, p)
			want[audit.Footers] = add(want[audit.Footers], p.footers, p)
			want[audit.Blocks] = add(want[audit.Blocks], p.blocks, p)
			remains = add(remains, p.remains, p)
			if p.name == "flipped-and-no-entity" {
				want[audit.Footers], want[audit.Blocks] = add(want[audit.Footers], audit.BadSegment, p), add(want[audit.Blocks], audit.BadSegment, p)
			}
		}
		slices.Sort(remains)
		before := indexed(t, s)
		for depth, all := range want {
			slices.Sort(all)
			if diff := cmp.Diff(all, verify(t, s, audit.Options{Depth: depth})); diff != "" {
				t.Errorf("depth %d: %s", depth, diff)
			}
		}
		if diff := cmp.Diff(before, indexed(t, s)); diff != "" {
			t.Errorf("verify changed the index: %s", diff)
		}
		left, report := reindex(t, s, audit.Options{})
		if diff := cmp.Diff(remains, left); diff != "" {
			t.Errorf("left by reindex: %s", diff)
		}
		if report.Written == 0 || report.Removed == 0 {
			t.Errorf("report %+v", report)
		}
		after := indexed(t, s)
		if _, again := reindex(t, s, audit.Options{}); again.Written != 0 || again.Removed != 0 {
			t.Errorf("a second reindex did %+v", again)
		}
		if diff := cmp.Diff(after, indexed(t, s)); diff != "" {
			t.Errorf("a second reindex changed: %s", diff)
		}
		if _, report := reindex(t, s, audit.Options{Depth: audit.Footers}); report.Written != 1 { // the minutes
			t.Errorf("reindex by footers: %+v", report)
		}
		for _, d := range verify(t, s, audit.Options{Depth: audit.Footers}) {
			if strings.HasPrefix(d, string(audit.StrayEntity)) || strings.HasSuffix(d, "minutes/2026/11/19/1500/000001.log") {
				t.Errorf("not repaired: %s", d)
			}
		}
	})
}

// After every table is gone, reindex writes exactly the same entities.
func TestRebuild(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, s store.Store) {
		var entities []tableindex.Entity
		for _, service := range []string{"api", "api-b", "web"} {
			for h := range 60 { // three days
				class := []string{"", "audit"}[h%2]
				m := newSegment(t, service, class, hour().Add(time.Duration(h)*time.Hour), 1, 1+h)
				create(t, s, &m, m.entity.Meta.Encode())
				entities = append(entities, m.entity)
			}
		}
		index(t, s, entities...)
		want := indexed(t, s)
		if got := verify(t, s, audit.Options{Depth: audit.Blocks}); len(got) != 0 {
			t.Fatal(got)
		}
		dropTables(t, s)
		left, report := reindex(t, s, audit.Options{})
		if len(left) != 0 || report.Written != int64(len(entities)) || report.Blobs != int64(len(entities)) {
			t.Errorf("left %v, %+v", left, report)
		}
		if diff := cmp.Diff(want, indexed(t, s)); diff != "" {
			t.Error(diff)
		}

		// A range is whole days of it, and only the selected services.
		dropTables(t, s)
		second := hour().Truncate(24*time.Hour).AddDate(0, 0, 1)
		o := audit.Options{Services: []string{"api*"}, From: second.Add(5 * time.Hour), To: second.Add(6 * time.Hour)}
		if got := verify(t, s, o); len(got) != 48 {
			t.Errorf("%d differences in a day of two services", len(got))
		}
		for want, o := range map[int]audit.Options{
			27:  {To: second},
			99:  {To: second.Add(1)},
			153: {From: second},
			180: {From: second.Add(-1)},
			72:  {From: second, To: second.AddDate(0, 0, 1)},
			0:   {From: second.AddDate(0, 0, 5)},
		} {
			if got := verify(t, s, o); len(got) != want {
				t.Errorf("from %v to %v: %d differences, want %d", o.From, o.To, len(got), want)
			}
		}
		reindex(t, s, o)
		if got := indexed(t, s); len(got) != 48 {
			t.Errorf("%d entities", len(got))
		}
		if got := verify(t, s, audit.Options{Services: []string{"web"}}); len(got) != 60 {
			t.Errorf("%d differences of one service", len(got))
		}
		reindex(t, s, audit.Options{})
		if diff := cmp.Diff(want, indexed(t, s)); diff != "" {
			t.Error(diff)
		}
	})
}

// Entities without blobs are of the selected services and days too, and a key of any content
// is printable.
func TestStrayRange(t *testing.T) {
	t.Parallel()
	s := storetest.OpenLocal(t)
	for _, service := range []string{"api", "web"} {
		for d := range 3 {
			index(t, s, newSegment(t, service, "", hour().AddDate(0, 0, d), 1, 5).entity)
		}
	}
	odd := store.Entity{Key: store.Key{Partition: "a\u202e|00", Row: "\u202e"}, Properties: map[string]any{"Type": "segment"}}
	if err := s.Tables().Upsert(t.Context(), tableindex.TableName(s.Container(), "", hour()), []store.Entity{odd}); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[int]audit.Options{
		7: {},
		3: {Services: []string{"a*"}},
		2: {Services: []string{"api", "[w-z]*"}, From: hour().AddDate(0, 0, 2)},
		1: {Services: []string{"web"}, From: hour(), To: hour().Add(time.Second)},
		0: {Services: []string{"api"}, To: hour().AddDate(0, 0, -1)},
	} {
		if got := lines(t, s, audit.Verify, o); len(got) != want {
			t.Errorf("%+v: %v, want %d", o, got, want)
		}
	}
	report, err := audit.Verify(t.Context(), s, audit.Options{Settle: time.Millisecond, OnDifference: func(d audit.Difference) {
		if strings.ContainsFunc(d.String(), func(r rune) bool { return r > '~' }) {
			t.Errorf("%q is for a terminal", d)
		}
	}})
	if err != nil || report.Differences != 7 || report.Entities != 7 || report.Services != 2 {
		t.Errorf("%v, %+v", err, report)
	}
	if left, report := reindex(t, s, audit.Options{}); len(left) != 0 || report.Removed != 7 {
		t.Errorf("%v, %+v", left, report)
	}
}

func TestEnded(t *testing.T) {
	t.Parallel()
	s := storetest.OpenLocal(t)
	if _, err := audit.Verify(t.Context(), s, audit.Options{}); !errors.Is(err, store.ErrNoContainer) {
		t.Errorf("a store that is not there: %v", err)
	}
	m := newSegment(t, "api", "", hour(), 1, 5)
	create(t, s, &m, m.entity.Meta.Encode())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := audit.Verify(ctx, s, audit.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
}
