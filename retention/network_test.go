package retention_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/internal/test/azurite"
	"logstow/internal/test/effort"
	"logstow/internal/test/faultproxy"
	"logstow/retention"
	"logstow/store"
	"logstow/store/azure"
)

// network is a container of Azurite, which a test looks at without what is in between.
func network(t *testing.T) (a *azurite.Azurite, s store.Store) {
	t.Helper()
	a = azurite.Start(t)
	return a, openAs(t, a.ConnectionString(), azure.Options{Container: a.Container()})
}

// If each request is once throttled, or its response lost after it was executed, a run has
// the same result.
func TestFaults(t *testing.T) {
	t.Parallel()
	sample := effort.NewSample(t, 5)
	for _, fault := range []faultproxy.Fault{
		faultproxy.Busy, faultproxy.TooMany, faultproxy.InternalError, faultproxy.Timeout,
		faultproxy.LoseResponse, faultproxy.LateError, faultproxy.Truncate, faultproxy.Reset,
	} {
		if !sample.Has() {
			continue
		}
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			a, s := network(t)
			past := firstDay().AddDate(0, 0, -9)
			for age := range 4 {
				put(t, s, "api", "", past.AddDate(0, 0, -age), 1)
				put(t, s, "web", "", past.AddDate(0, 0, -age), 2)
			}
			kept := put(t, s, "web", "", past.AddDate(0, 0, 5), 1)
			p, err := faultproxy.Start(faultproxy.Options{Blob: a.BlobEndpoint, Table: a.TableEndpoint})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}()
			through := azurite.Azurite{BlobEndpoint: p.BlobEndpoint, TableEndpoint: p.TableEndpoint}
			faulty := openAs(t, through.ConnectionString(), azure.Options{Container: s.Container()})
			var seen sync.Map // each request fails at first
			p.SetRules(faultproxy.Rule{Chance: 1, Faults: []faultproxy.Fault{fault}, Match: func(_ faultproxy.Kind, r *http.Request) bool {
				_, known := seen.LoadOrStore(r.Method+r.URL.Path+r.URL.Query().Get("comp")+r.URL.Query().Get("prefix"), true)
				return !known
			}})
			report, err := retain(t.Context(), faulty, retention.Policy{Keep: map[string]time.Duration{"": 5 * day}}, retention.Options{})
			if err != nil || report.Err() != nil || report.Blobs != 8 || report.Late != 0 {
				t.Errorf("%v, %v, %+v", err, report.Err(), report)
			}
			label := "table " + past.AddDate(0, 0, 5).Format(time.DateOnly)
			if diff := cmp.Diff([]string{label, label + " " + kept, kept}, state(t, s)); diff != "" {
				t.Error(diff)
			}
			t.Logf("%v of %v", p.Counts().Faults, p.Counts().Requests)
		})
	}
}

// A blob under a lease, which answers as one under a legal hold does, is reported and stays indexed.
func TestHeldByStorage(t *testing.T) {
	t.Parallel()
	_, s := network(t)
	past := firstDay().AddDate(0, 0, -9)
	held := put(t, s, "api", "", past, 1)
	put(t, s, "api", "", past, 2)
	put(t, s, "web", "", past, 1)
	put(t, s, "web", "", past.AddDate(0, 0, -1), 1)
	changeLease(t, s, held, "acquire")
	policy := retention.Policy{Keep: map[string]time.Duration{"": day}}
	report, err := retain(t.Context(), s, policy, retention.Options{})
	if err != nil || !errors.Is(report.Err(), store.ErrHeld) || report.Blobs != 3 || !slices.Equal(report.StayedNames, []string{held}) {
		t.Errorf("%v, %v, %+v", err, report.Err(), report)
	}
	if !slices.ContainsFunc(report.Problems, func(p string) bool { return strings.Contains(p, held) }) {
		t.Errorf("no problem names %s: %q", held, report.Problems)
	}
	label := "table " + past.Format(time.DateOnly)
	if diff := cmp.Diff([]string{held, label, label + " " + held}, state(t, s)); diff != "" {
		t.Error(diff)
	}
	changeLease(t, s, held, "break")
	if report, err := retain(t.Context(), s, policy, retention.Options{}); err != nil || report.Err() != nil || len(state(t, s)) != 0 {
		t.Errorf("%v, %v, %v", err, report.Err(), state(t, s))
	}
}

// changeLease acquires or breaks an endless lease of a blob.
func changeLease(t *testing.T, s store.Store, name, action string) {
	t.Helper()
	signed := s.(*azure.Store)
	_, blobs, _ := signed.Address()
	sas, err := signed.SignBlobs(t.Context(), signed.Container(), "", "rwdl", time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSuffix(blobs, "/") + "/" + s.Container() + "/" + name + "?comp=lease&" + sas.Reveal()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"X-Ms-Version": {"2023-11-03"}, "X-Ms-Lease-Action": {action}, "X-Ms-Lease-Duration": {"-1"}}
	if action == "break" {
		r.Header.Del("X-Ms-Lease-Duration")
		r.Header.Set("X-Ms-Lease-Break-Period", "0")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s lease of %s: %s, %v", action, name, resp.Status, err)
	}
}

// Where batches are refused, blobs go, and move, one by one.
func TestNoBatches(t *testing.T) {
	t.Parallel()
	a, s := network(t)
	today := world(t, s)
	var batches atomic.Int64
	without := openAs(t, a.ConnectionString(), azure.Options{Container: s.Container(), Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("comp") != "batch" {
			return http.DefaultTransport.RoundTrip(r)
		}
		batches.Add(1)
		return &http.Response{StatusCode: http.StatusNotImplemented, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	})})
	want := keeps(state(t, s), today, worldClass, map[string]int{"": 6})
	policy := retention.Policy{Keep: map[string]time.Duration{"": 6 * day}, CoolAfter: 2 * day}
	report, err := retain(t.Context(), without, policy, retention.Options{})
	if err != nil || report.Err() != nil || report.Blobs != 3*5*2 || batches.Load() == 0 {
		t.Errorf("%v, %v, %d blobs", err, report.Err(), report.Blobs)
	}
	if diff := cmp.Diff(want, state(t, s)); diff != "" {
		t.Error(diff)
	}
	cool := int64(0)
	for page, err := range s.Blobs().List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page {
			if name, err := blobnaming.Parse(b.Name); (b.Tier == store.Cool) != (err == nil && name.Bucket.Before(today.AddDate(0, 0, -2))) {
				t.Errorf("%s is %s", b.Name, b.Tier)
			}
			if b.Tier == store.Cool {
				cool++
			}
		}
	}
	if len(report.Moved) != 1 || report.Moved[0].Blobs != cool {
		t.Errorf("moved %+v, %d blobs are cool", report.Moved, cool)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
