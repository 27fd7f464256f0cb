package retention_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/await"
	"logstow/internal/test/storetest"
	"logstow/retention"
	"logstow/store"
	"logstow/tableindex"
)

// hooked is a store whose answers a test changes. A nil hook changes nothing.
type hooked struct {
	store.Store
	now    func() (time.Time, error)
	list   func(prefix string) error
	listed func(*store.Blob)
	delete func(ctx context.Context, versions []store.BlobRef) error
	tier   func(names []string) error
}

func (s hooked) Blobs() store.Blobs     { return hookedBlobs{s.Store.Blobs(), s} }
func (s hooked) Compacted() store.Blobs { return hookedBlobs{s.Store.Compacted(), s} }

func (s hooked) Now(ctx context.Context) (time.Time, error) {
	if s.now != nil {
		return s.now()
	}
	return s.Store.Now(ctx)
}

type hookedBlobs struct {
	store.Blobs
	s hooked
}

func (b hookedBlobs) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		if b.s.list != nil {
			if err := b.s.list(prefix); err != nil {
				yield(nil, err)
				return
			}
		}
		for page, err := range b.Blobs.List(ctx, prefix) {
			for i := range page {
				if b.s.listed != nil {
					b.s.listed(&page[i])
				}
			}
			if !yield(page, err) {
				return
			}
		}
	}
}

func (b hookedBlobs) Delete(ctx context.Context, versions []store.BlobRef) error {
	if b.s.delete != nil {
		if err := b.s.delete(ctx, versions); err != nil {
			return err
		}
	}
	return b.Blobs.Delete(ctx, versions)
}

func (b hookedBlobs) SetTier(_ context.Context, names []string, _ store.Tier) error {
	return b.s.tier(names)
}

// A blob written late is late even in the second in which the run began: storage has
// times in whole seconds. One that was found and cannot be deleted stays, however new.
func TestLate(t *testing.T) {
	t.Parallel()
	s := storetest.OpenLocal(t)
	past := firstDay().AddDate(0, 0, -9)
	for number := range uint64(3) {
		put(t, s, "api", "", past, number+1)
	}
	late := newEntity("api", "", past.Add(23*time.Hour), 9) // not only the first hour is looked at
	began := time.Now().Truncate(time.Second)
	h := hooked{
		Store:  s,
		now:    func() (time.Time, error) { return began, nil },
		listed: func(b *store.Blob) { b.Created = began },
		delete: func(ctx context.Context, _ []store.BlobRef) error {
			return putEntities(ctx, s, []tableindex.Entity{late})
		},
	}
	policy := retention.Policy{Keep: map[string]time.Duration{"": day}}
	report, err := retain(t.Context(), h, policy, retention.Options{})
	if err != nil || report.Err() != nil || report.Late != 1 || report.Stayed != 0 || report.Blobs != 3 {
		t.Errorf("%v, %v, %+v", err, report.Err(), report)
	}
	label := "table " + past.Format(time.DateOnly)
	want := []string{late.Name.String(), label, label + " " + late.Name.String()}
	if diff := cmp.Diff(want, state(t, s)); diff != "" {
		t.Error(diff)
	}
	if len(report.Days) != 1 || report.Days[0].Table != "pruned" {
		t.Errorf("days %+v", report.Days)
	}
	h.delete = func(context.Context, []store.BlobRef) error { return &store.Error{Class: store.ErrHeld} }
	report, err = retain(t.Context(), h, policy, retention.Options{})
	if err != nil || report.Err() == nil || report.Late != 0 || report.Stayed != 1 || report.Blobs != 0 || report.Bytes != 0 {
		t.Errorf("%v, %v, %+v", err, report.Err(), report)
	}
}

// What a run that was interrupted reports is what is known to have gone, and why it ended.
func TestInterruptedReport(t *testing.T) {
	t.Parallel()
	s := storetest.OpenLocal(t)
	var entities []tableindex.Entity
	past := firstDay().AddDate(0, 0, -9)
	var size int64
	for number := range uint64(2 * store.MaxDelete) {
		entities = append(entities, newEntity("api", "", past, number+1))
		size = int64(len(entities[0].Name.String()))
	}
	if err := putEntities(t.Context(), s, entities); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var batches atomic.Int64
	first := make(chan struct{})
	h := hooked{Store: s, delete: func(ctx context.Context, _ []store.BlobRef) error {
		if batches.Add(1) == 1 {
			defer close(first)
			return nil
		}
		<-first
		<-ctx.Done()
		return context.Cause(ctx)
	}}
	o := retention.Options{Progress: new(retention.Progress)}
	var report retention.Report
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		policy := retention.Policy{Keep: map[string]time.Duration{"": day}}
		report, err = retain(ctx, h, policy, o)
	}()
	await.Until(t, time.Minute, "the first batch is counted", func() bool { return o.Progress.Deleted.Load() > 0 })
	cancel()
	<-ended
	if !errors.Is(err, context.Canceled) || !errors.Is(report.Err(), context.Canceled) || report.Complete {
		t.Errorf("%v, %v, complete %v", err, report.Err(), report.Complete)
	}
	if report.Blobs != store.MaxDelete || report.Bytes != store.MaxDelete*size {
		t.Errorf("%d blobs, %d bytes of %d each", report.Blobs, report.Bytes, size)
	}
	if !slices.Equal(report.Problems, []string{"interrupted: context canceled"}) {
		t.Errorf("problems %q", report.Problems)
	}
	if n := len(slices.DeleteFunc(state(t, s), func(line string) bool { return strings.HasPrefix(line, "table ") })); n != store.MaxDelete {
		t.Errorf("%d blobs are left", n)
	}
}

// One service that cannot be listed keeps nothing else from going, but all tables.
func TestNotListed(t *testing.T) {
	t.Parallel()
	s := storetest.OpenLocal(t)
	today := world(t, s)
	before := state(t, s)
	failed := &store.Error{Op: "list", Object: "api-b/", Class: store.ErrInvalid}
	var again atomic.Bool
	h := hooked{Store: s, list: func(prefix string) error {
		if prefix == "api-b/" && !again.Load() {
			return failed
		}
		return nil
	}}
	policy := retention.Policy{Keep: map[string]time.Duration{"": 5 * day, "audit": 5 * day, "other": 5 * day}}
	report, err := retain(t.Context(), h, policy, retention.Options{})
	if err != nil || !errors.Is(report.Err(), store.ErrInvalid) || len(report.Problems) != 1 || !strings.Contains(report.Problems[0], "api-b/") {
		t.Errorf("%v, %v", err, report.Err())
	}
	if report.Blobs != 6*2*2+4 {
		t.Errorf("%d blobs went", report.Blobs)
	}
	for _, d := range report.Days {
		if d.Table != "kept" {
			t.Errorf("%+v", d)
		}
	}
	names := func(state []string) []string {
		return slices.DeleteFunc(slices.Clone(state), func(line string) bool { return strings.HasPrefix(line, "table ") })
	}
	first := map[string]int{"": 5, "audit": 5, "other": 5}
	want := keeps(names(before), today, worldClass, first)
	for _, name := range names(before) {
		if strings.HasPrefix(name, "api-b/") && !slices.Contains(want, name) {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	after := state(t, s)
	if diff := cmp.Diff(want, names(after)); diff != "" {
		t.Error(diff)
	}
	if len(after)-len(names(after)) != len(before)-len(names(before)) {
		t.Error("tables or entities are gone")
	}
	again.Store(true)
	if report, err := retain(t.Context(), h, policy, retention.Options{}); err != nil || report.Err() != nil {
		t.Fatal(err, report.Err())
	}
	if diff := cmp.Diff(keeps(before, today, worldClass, first), state(t, s)); diff != "" {
		t.Error(diff)
	}
}

// What could not be moved is not reported as moved.
func TestNotMoved(t *testing.T) {
	t.Parallel()
	s := storetest.OpenLocal(t)
	world(t, s)
	refused := &store.Error{Op: "set tier", Class: store.ErrInvalid}
	h := hooked{
		Store:  s,
		listed: func(b *store.Blob) { b.Tier = store.Hot },
		tier:   func([]string) error { return refused },
	}
	policy := retention.Policy{CoolAfter: 3 * day}
	report, err := retain(t.Context(), h, policy, retention.Options{})
	if err != nil || !errors.Is(report.Err(), store.ErrInvalid) || len(report.Moved) != 0 || report.Requests.Tier != 1 || len(report.Kept) != 0 {
		t.Errorf("%v, %v, %+v", err, report.Err(), report)
	}
	dry, err := retain(t.Context(), h, policy, retention.Options{DryRun: true})
	if err != nil || dry.Err() != nil || len(dry.Moved) != 1 || dry.Moved[0].Blobs != 3*2*8+2*2 {
		t.Errorf("%v, %v, %+v", err, dry.Err(), dry.Moved)
	}
}

// Where it cannot be seen that all is gone, tables stay, and what went is what deletions reported.
func TestNotVerified(t *testing.T) {
	t.Parallel()
	s := storetest.OpenLocal(t)
	past := firstDay().AddDate(0, 0, -9)
	for _, service := range []string{"api", "web"} {
		put(t, s, service, "", past, 1)
	}
	held := put(t, s, "web", "", past, 2)
	var lists atomic.Int64
	h := hooked{Store: holding{s, map[string]bool{held: true}}, list: func(prefix string) error {
		if (prefix == "web/" || prefix == "") && lists.Add(1) > 1 || prefix == "" {
			return &store.Error{Op: "list", Object: prefix, Class: store.ErrInvalid}
		}
		return nil
	}}
	policy := retention.Policy{Keep: map[string]time.Duration{"": day}}
	report, err := retain(t.Context(), h, policy, retention.Options{})
	if err != nil || !errors.Is(report.Err(), store.ErrInvalid) || !errors.Is(report.Err(), store.ErrHeld) {
		t.Errorf("%v, %v", err, report.Err())
	}
	if report.Blobs != 0 || len(report.Days) != 1 || report.Days[0].Table != "kept" {
		t.Errorf("%+v", report)
	}
	label := "table " + past.Format(time.DateOnly)
	after := state(t, s)
	if len(after) != 1+1+3 || !slices.Contains(after, held) || !slices.Contains(after, label+" "+held) {
		t.Errorf("left: %v", after)
	}
}

// A run that may not delete ends at once, and leaves the index as it is.
func TestAccessDenied(t *testing.T) {
	t.Parallel()
	filled := storetest.OpenLocal(t)
	today := world(t, filled)
	before := state(t, filled)
	for _, s := range []store.Store{filled, &synthetic{services: 1, perService: 40 * store.MaxDelete, today: today}} {
		var tried atomic.Int64
		h := hooked{Store: s, delete: func(context.Context, []store.BlobRef) error {
			tried.Add(1)
			return &store.Error{Op: "delete", Class: store.ErrAccessDenied}
		}}
		report, err := retain(t.Context(), h, retention.Policy{Keep: map[string]time.Duration{"": day}}, retention.Options{})
		if !errors.Is(err, store.ErrAccessDenied) || !errors.Is(report.Err(), store.ErrAccessDenied) || report.Complete || report.Blobs != 0 {
			t.Errorf("%v, %v, %+v", err, report.Err(), report)
		}
		if tried.Load() > 12 { // those under way at the time
			t.Errorf("%d batches were tried", tried.Load())
		}
	}
	if diff := cmp.Diff(before, state(t, filled)); diff != "" {
		t.Error(diff)
	}
}
