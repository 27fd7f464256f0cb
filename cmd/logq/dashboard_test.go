package main

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/compaction"
	"logstow/internal/test/testrand"
	"logstow/query"
	"logstow/record"
	"logstow/segment"
	"logstow/serve/access"
	"logstow/store"
	"logstow/store/local"
)

// counting counts the listings of a store by what was listed, with their times.
type counting struct {
	store.BlobReader
	now   func() time.Time
	mu    sync.Mutex
	lists map[string][]time.Time
}

// add counts a listing.
func (c *counting) add(prefix string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists[prefix] = append(c.lists[prefix], c.now())
}

func (c *counting) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	c.add(prefix)
	return c.BlobReader.List(ctx, prefix)
}

func (c *counting) ListPrefixes(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	c.add("prefixes of " + prefix)
	return c.BlobReader.ListPrefixes(ctx, prefix)
}

// Six panels that are refreshed every 10 seconds, each at its own time, list each part of storage at most once in 5 seconds, and
// what is past at most once in 2 minutes. The compacted container is listed again after the raw one.
func TestDashboardLists(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	began := time.Date(2026, 11, 20, 15, 20, 0, 0, time.UTC)
	clock := began
	now := func() time.Time { return clock }
	s, err := local.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for hour := range 3 {
		for _, ago := range []int{hour, hour + 24} {
			storeHour(t, s, "shop", began.Truncate(time.Hour).Add(-time.Duration(ago)*time.Hour))
		}
	}
	opened := query.ReadOnly(s)
	lists := &counting{BlobReader: opened.Blobs, now: now, lists: map[string][]time.Time{}}
	compacted := &counting{BlobReader: opened.Compacted, now: now, lists: map[string][]time.Time{}}
	opened.Blobs, opened.Compacted = lists, compacted
	api := newAPI(environment{now: now}, []query.Store{opened}, query.Options{Plan: query.PlanList, TempDir: t.TempDir()}, 0, nil, nil, slog.New(slog.DiscardHandler))
	panels := []string{
		`sum by (level) (count_over_time({service_name="shop"}[1m]))`, `rate({service_name="shop"}[1m])`, `{service_name="shop"}`,
		`sum(rate({service_name=~".+", level="error"}[5m]))`, `bytes_rate({service_name="shop"}[1m])`, `{service_name=~"s.*"} |= "record"`,
	}
	const lasting, every = 10 * time.Minute, 10 * time.Second
	requests := 0
	for clock.Before(began.Add(lasting)) {
		at := clock
		for i, panel := range rnd.Perm(len(panels)) {
			clock = at.Add(time.Duration(i)*time.Second + time.Duration(rnd.Int64N(int64(time.Second))))
			end := clock
			if panel == 0 {
				end = clock.AddDate(0, 0, -1)
			}
			form := url.Values{"query": {panels[panel]}, "step": {"60"}, "start": {fmt.Sprint(end.Add(-2 * time.Hour).UnixNano())}, "end": {fmt.Sprint(end.UnixNano())}}
			r := httptest.NewRequestWithContext(access.NewContext(t.Context(), access.Identity{Unrestricted: true}), "GET", "/loki/api/v1/query_range?"+form.Encode(), nil)
			w := httptest.NewRecorder()
			api.ServeHTTP(w, r)
			if w.Code != 200 || strings.Contains(w.Body.String(), `"result":[]`) {
				t.Fatalf("%s: %d %s", panels[panel], w.Code, w.Body)
			}
			requests++
		}
		clock = at.Add(every)
	}
	listed := 0
	for prefix, times := range lists.lists {
		listed += len(times)
		least := 5 * time.Second
		if strings.HasSuffix(prefix, "/19/1") {
			least = 2 * time.Minute
		}
		for i := 1; i < len(times); i++ {
			if apart := times[i].Sub(times[i-1]); apart < least {
				t.Errorf("%s is listed again after %v", prefix, apart)
			}
		}
	}
	for _, times := range compacted.lists {
		listed += len(times)
	}
	if listed == 0 || listed > requests || lists.lists["shop/2026/11/19/1"] == nil || lists.lists["shop/2026/11/20/1"] == nil {
		t.Errorf("%d listings for %d requests", listed, requests)
	}
}

// Requests for metadata of a month, this one included, list nothing for some seconds after the first, whatever they ask for.
func TestMetadataIsListedOnce(t *testing.T) {
	t.Parallel()
	began := time.Now().UTC().AddDate(0, 0, -1).Truncate(24 * time.Hour).Add(15*time.Hour + 20*time.Minute)
	clock := began
	now := func() time.Time { return clock }
	s, err := local.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const services, days = 3, 30
	for day := range days {
		for service := range services {
			storeHour(t, s, fmt.Sprint("service-", service), began.Truncate(time.Hour).AddDate(0, 0, -day))
		}
	}
	o := compaction.DefaultOptions()
	o.TempDir, o.MaxAge, o.Grace = t.TempDir(), (days+2)*24*time.Hour, 0
	if report, err := compaction.Run(t.Context(), s, o); err != nil || report.Outputs < services*(days-2) {
		t.Fatal(report, err)
	}
	opened := query.ReadOnly(s)
	raw := &counting{BlobReader: opened.Blobs, now: now, lists: map[string][]time.Time{}}
	compacted := &counting{BlobReader: opened.Compacted, now: now, lists: map[string][]time.Time{}}
	opened.Blobs, opened.Compacted = raw, compacted
	api := newAPI(environment{now: now}, []query.Store{opened}, query.Options{Plan: query.PlanList, TempDir: t.TempDir()}, 0, nil, nil, slog.New(slog.DiscardHandler))
	all := `{service_name=~".+"}`
	listed := 0
	for i, request := range []url.Values{
		{"": {"labels"}},
		{"": {"series"}, "match[]": {"{}"}},
		{"": {"index/volume"}, "query": {all}},
		{"": {"index/volume_range"}, "query": {all}, "step": {"86400"}},
		{"": {"labels"}},
	} {
		request.Set("start", fmt.Sprint(began.AddDate(0, 0, -days).UnixNano()))
		request.Set("end", fmt.Sprint(began.Add(-2*time.Hour).UnixNano()))
		r := httptest.NewRequestWithContext(access.NewContext(t.Context(), access.Identity{Unrestricted: true}), "GET", "/loki/api/v1/"+request.Get("")+"?"+request.Encode(), nil)
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		if w.Code != 200 || strings.Contains(w.Body.String(), `"result":[]`) {
			t.Fatalf("%v: %d %s", request, w.Code, w.Body)
		}
		lists := 0
		for _, c := range []*counting{raw, compacted} {
			for _, times := range c.lists {
				lists += len(times)
			}
		}
		if i == 0 {
			listed = lists
		}
		if i == 0 && (lists == 0 || lists > 2+2*2*services) || lists != listed {
			t.Errorf("%d listings until %s: %v, %v", lists, request.Get(""), raw.lists, compacted.lists)
		}
		clock = clock.Add(time.Second)
	}
}

// storeHour stores a segment of an hour, with a record every ten minutes.
func storeHour(t *testing.T, s store.Store, service string, hour time.Time) {
	t.Helper()
	var body bytes.Buffer
	salt := [16]byte{byte(hour.Hour())}
	w := segment.NewWriter(&body, segment.Options{Service: service, Instance: "vm-1", Salt: salt, BucketStart: hour.Unix(), BucketWidth: 3600})
	for at := hour; at.Before(hour.Add(time.Hour)); at = at.Add(10 * time.Minute) {
		if err := w.Append(record.Record{Time: at.UnixNano(), Level: record.Error, Message: []byte("a record")}); err != nil {
			t.Fatal(err)
		}
	}
	meta, err := w.Close(1)
	if err != nil {
		t.Fatal(err)
	}
	name := blobnaming.Name{Service: service, Bucket: hour, Number: 1}
	if _, err := s.Blobs().Create(t.Context(), name.String(), body.Bytes(), store.CreateOptions{Metadata: meta.Encode()}); err != nil {
		t.Fatal(err)
	}
}
