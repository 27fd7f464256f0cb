package storage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"logstow/internal/test/testrand"
	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/logql/storage"
	"logstow/logql/syntax"
	"logstow/query"
	"logstow/record"
	"logstow/store"
)

// faulty is a store's blobs of which some requests fail, and some return damaged bytes.
type faulty struct {
	store.BlobReader
	fail   func(op, object string) error
	damage func(name string, off int64, data []byte)
	reads  *atomic.Int64
}

func (f faulty) failure(op, object string) error {
	if f.fail == nil {
		return nil
	}
	return f.fail(op, object)
}

func (f faulty) Read(ctx context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	if f.reads != nil {
		f.reads.Add(1)
	}
	if err := f.failure("read", ref.Name); err != nil {
		return nil, err
	}
	data, err := f.BlobReader.Read(ctx, ref, off, n)
	if err == nil && f.damage != nil {
		data = bytes.Clone(data)
		f.damage(ref.Name, off, data)
	}
	return data, err
}

func (f faulty) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	if err := f.failure("list", prefix); err != nil {
		return func(yield func([]store.Blob, error) bool) { yield(nil, err) }
	}
	return f.BlobReader.List(ctx, prefix)
}

func (f faulty) ListPrefixes(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	if err := f.failure("list", prefix); err != nil {
		return func(yield func([]string, error) bool) { yield(nil, err) }
	}
	return f.BlobReader.ListPrefixes(ctx, prefix)
}

// failing makes requests to objects with a text in their name fail.
func failing(op, object string, class error) func(op, object string) error {
	return func(o, name string) error {
		if o == op && strings.Contains(name, object) {
			return &store.Error{Op: o, Object: name, Class: class}
		}
		return nil
	}
}

// minuteRecords are n records of successive seconds from a minute of the first hour on.
func minuteRecords(minute, n int, text string) (all []record.Record) {
	for i := range n {
		at := origin().Add(time.Duration(minute)*time.Minute + time.Duration(i)*time.Second)
		all = append(all, record.Record{Time: at.UnixNano(), Level: record.Info, Source: "app", Message: fmt.Appendf(nil, "%s %d", text, i)})
	}
	return all
}

// all of the requests that a view answers, by name.
func requests(from, to int64) map[string]func(ctx context.Context, v *storage.View, t testing.TB) error {
	matchers := func(t testing.TB) []*syntax.Matcher { return parse(t, `{service_name="api"}`).Matchers }
	logs := func(text string, limit int) func(ctx context.Context, v *storage.View, t testing.TB) error {
		return func(ctx context.Context, v *storage.View, t testing.TB) error {
			_, err := answer(ctx, v, parse(t, text), engine.LogParams{From: from, To: to, Newest: true, Limit: limit})
			return err
		}
	}
	metric := func(text string) func(ctx context.Context, v *storage.View, t testing.TB) error {
		return func(ctx context.Context, v *storage.View, t testing.TB) error {
			expr, err := syntax.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			_, err = (&engine.Engine{Source: v}).Metric(ctx, expr.(syntax.SampleExpr), engine.MetricParams{Start: to, End: to})
			return err
		}
	}
	return map[string]func(ctx context.Context, v *storage.View, t testing.TB) error{
		"logs":                logs(`{service_name="api"}`, 0),
		"logs with limit":     logs(`{service_name="api"} |= "line"`, 25),
		"stages with limit":   logs(`{service_name="api"} | logfmt | line_format "x"`, 25),
		"services by pattern": logs(`{service_name=~"a.*"}`, 0),
		"count":               metric(`sum(count_over_time({service_name="api"} [59m]))`),
		"bytes":               metric(`sum(bytes_over_time({service_name="api"} [59m]))`),
		"filter":              metric(`sum(count_over_time({service_name="api"} |= "line" [59m]))`),
		"fields": func(ctx context.Context, v *storage.View, t testing.TB) error {
			_, err := v.Fields(ctx, parse(t, `{service_name="api"} | drop x`), from, to, 25, 10)
			return err
		},
		"patterns": func(ctx context.Context, v *storage.View, t testing.TB) error {
			_, err := v.Patterns(ctx, matchers(t), from, to, time.Minute, 10)
			return err
		},
		"streams": func(ctx context.Context, v *storage.View, t testing.TB) error {
			_, err := streamsOf(ctx, v, [][]*syntax.Matcher{matchers(t)}, from, to)
			return err
		},
		"volumes": func(ctx context.Context, v *storage.View, t testing.TB) error {
			_, err := volumesOf(ctx, v, matchers(t), from, to, time.Minute)
			return err
		},
	}
}

// What could not be read is an error, of queries that end at their limit too.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	w.ship("api", "a-0", minuteRecords(0, 60, "line")...)
	damaged := w.ship("api", "a-0", minuteRecords(10, 60, "line")...)
	w.ship("api", "a-0", minuteRecords(20, 20, "line")...)
	from, to := origin().UnixNano(), origin().Add(59*time.Minute).UnixNano()
	blobs := w.reading.Blobs
	readsOnly := map[string]bool{"read": true, "damaged": true} // counts are in the metadata of listings
	for name, ask := range requests(from, to) {
		if err := ask(t.Context(), w.view(storage.Access{}), t); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for what, f := range map[string]faulty{
		"read":     {fail: failing("read", damaged.Name, store.ErrAccessDenied)},
		"list":     {fail: failing("list", "api/", store.ErrAccessDenied)},
		"services": {fail: failing("list", "", store.ErrAccessDenied)},
		"damaged": {damage: func(name string, off int64, data []byte) {
			for i := range data {
				if name == damaged.Name {
					data[i] ^= 0x55
				}
			}
		}},
	} {
		f.BlobReader = blobs
		w.reading.Blobs = f
		for name, ask := range requests(from, to) {
			err := ask(t.Context(), w.view(storage.Access{}), t)
			if counted := err == nil && name == "count" && readsOnly[what]; !counted && !errors.Is(err, storage.ErrIncomplete) {
				t.Errorf("%s: %s: the error is %v", what, name, err)
			}
		}
	}
}

// Limits of bytes end every request with their error, and what is asked of the view afterwards too.
func TestBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	for i := range 50 {
		w.ship("api", "a-0", minuteRecords(i, 50, "line")...)
	}
	from, to := origin().UnixNano()+1, origin().Add(59*time.Minute).UnixNano()
	for name, ask := range requests(from, to) {
		v := w.view(storage.Access{MaxBytes: 600})
		err := ask(t.Context(), v, t)
		for range 10 { // metadata may have been enough for the first
			err = errors.Join(err, requests(from, to)["stages with limit"](t.Context(), v, t))
		}
		if !errors.Is(err, query.ErrBudget) || v.Report().BytesStoredRead > 600 {
			t.Errorf("%s: %v; %d bytes read", name, err, v.Report().BytesStoredRead)
		}
	}
	v := w.view(storage.Access{MaxBytes: 600})
	if _, err := volumesOf(t.Context(), v, parse(t, `{service_name="api"}`).Matchers, from, to, 0); !errors.Is(err, query.ErrBudget) {
		t.Errorf("volumes past the limit: %v", err)
	}
}

// The end of the context ends every request with its cause.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	w.ship("api", "a-0", minuteRecords(0, 60, "line")...)
	blobs, gone := w.reading.Blobs, errors.New("the client is gone")
	from, to := origin().UnixNano()+1, origin().Add(59*time.Minute).UnixNano()
	for name, ask := range requests(from, to) {
		for _, op := range []string{"list", "read"} {
			ctx, cancel := context.WithCancelCause(t.Context())
			w.reading.Blobs = faulty{BlobReader: blobs, fail: func(o, _ string) error {
				if o == op {
					cancel(gone)
					return ctx.Err()
				}
				return nil
			}}
			if err := ask(ctx, w.view(storage.Access{}), t); !errors.Is(err, gone) && ctx.Err() != nil {
				t.Errorf("%s: %s: %v", name, op, err)
			}
			cancel(nil)
		}
	}
}

// Of what a request may not read, nothing is found, listed or read.
func TestAccess(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	w := newWorld(t, rnd)
	w.fill(40, 20)
	var mine []*written
	for _, r := range w.all {
		if r.service == "api" {
			mine = append(mine, r)
		}
	}
	access := storage.Access{Services: []string{"ap*", "other"}}
	reference := &plain{mine, map[string]*pipeline.Stream{}}
	from, to := origin().UnixNano(), origin().Add(4*time.Hour).UnixNano()
	for range 200 {
		log := parse(t, randomQuery(rnd))
		p := engine.LogParams{From: from, To: to}
		want, err := answer(t.Context(), reference, log, p)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := answer(t.Context(), w.view(access), log, p); err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: %v\n%q\nwant %q", log, err, got, want)
		}
	}
	streams, err := streamsOf(t.Context(), w.view(access), nil, from, to)
	if err != nil || len(streams) == 0 {
		t.Fatal(err, streams)
	}
	for _, s := range streams {
		if s.Labels.Get(labels.Service) != "api" {
			t.Errorf("stream %s", s.Labels)
		}
	}
	// What a query of another service costs does not depend on whether that exists.
	var asked []string
	for _, service := range []string{"web", "none", "*", "{api,web}", "w?b"} {
		var requests []string
		w.reading.Blobs = faulty{BlobReader: w.store.Blobs(), fail: func(op, object string) error {
			requests = append(requests, op+" "+object)
			return nil
		}}
		for _, a := range []storage.Access{access, {Services: []string{}}} {
			got, err := answer(t.Context(), w.view(a), parse(t, fmt.Sprintf(`{service_name=%q}`, service)), engine.LogParams{From: from, To: to})
			if err != nil || len(got) > 0 {
				t.Errorf("%s: %v, %d records", service, err, len(got))
			}
		}
		asked = append(asked, strings.Join(requests, ","))
	}
	if strings.Join(asked, "") != "" {
		t.Errorf("requests: %q", asked)
	}
}
