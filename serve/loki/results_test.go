package loki_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"logstow/serve/loki"
)

// caller is the services that the caller of a request may read.
type caller struct{}

// shared is an API over records of several services, with a clock; each service is a scope.
type shared struct {
	*loki.API
	worlds map[string]*fake
	clock  time.Time
}

func newShared() *shared {
	s := &shared{worlds: map[string]*fake{}, clock: now}
	for _, service := range []string{"web", "api"} {
		f := world()
		f.lines = slices.DeleteFunc(f.lines, func(l line) bool { return l.service != service })
		s.worlds[service] = f
	}
	of := func(ctx context.Context) string { service, _ := ctx.Value(caller{}).(string); return service }
	s.API = loki.New(loki.Options{
		View: func(ctx context.Context) loki.Backend { return s.worlds[of(ctx)] }, Scope: of,
		Now: func() time.Time { return s.clock },
	})
	return s
}

// ask asks as a caller; read reports whether anything was read for that.
func (s *shared) ask(t *testing.T, service, path string, params ...string) (body string, read bool) {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(params); i += 2 {
		form.Add(params[i], params[i+1])
	}
	before := len(s.worlds[service].calls)
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/loki/api/v1/"+path+"?"+form.Encode(), nil)
	s.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), caller{}, service)))
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %s", path, w.Body)
	}
	body, _, _ = strings.Cut(w.Body.String(), `,"stats"`)
	return body, len(s.worlds[service].calls) > before
}

const counted = `sum by (service_name) (count_over_time({service_name=~".+"}[1h]))`

// The results of metric queries are kept for those who may read the same, for seconds if the range reaches now, and for
// minutes otherwise.
func TestResultsKept(t *testing.T) {
	t.Parallel()
	seconds := func(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }
	past, recent := seconds(now.Add(-61*time.Minute)), seconds(now)
	for _, c := range []struct {
		name, path string
		params     []string
		lifetime   time.Duration // 0 is not kept
	}{
		{"now", "query_range", []string{"query", counted, "start", past, "end", recent, "step", "60"}, 5 * time.Second},
		{"past", "query_range", []string{"query", counted, "start", seconds(now.Add(-3 * time.Hour)), "end", past, "step", "60"}, 2 * time.Minute},
		{"instant", "query", []string{"query", counted, "time", recent}, 5 * time.Second},
		{"instant of the past", "query", []string{"query", counted, "time", past}, 2 * time.Minute},
		{"behind the range", "query", []string{"query", `count_over_time({service_name=~".+"}[1h] offset  -1h)`, "time", past}, 5 * time.Second},
		{"before the range", "query", []string{"query", `count_over_time({service_name=~".+"}[1h] offset 2h)`, "time", recent}, 2 * time.Minute},
		{"logs", "query_range", []string{"query", all, "start", past, "end", recent}, 0},
	} {
		s := newShared()
		first, read := s.ask(t, "web", c.path, c.params...)
		if !read {
			t.Fatalf("%s: nothing is read", c.name)
		}
		s.clock = now.Add(max(0, c.lifetime-1))
		again, read := s.ask(t, "web", c.path, c.params...)
		if again != first || read != (c.lifetime == 0) {
			t.Errorf("%s: read again is %t\n%s\n%s", c.name, read, first, again)
		}
		s.clock = now.Add(c.lifetime)
		if _, read := s.ask(t, "web", c.path, c.params...); !read {
			t.Errorf("%s: used for more than %v", c.name, c.lifetime)
		}
	}
}

// What determines a result is part of its key: what the caller may read first of all.
func TestResultsDiffer(t *testing.T) {
	t.Parallel()
	s := newShared()
	at := strconv.FormatInt(now.Unix(), 10)
	params := []string{"query", counted, "time", at}
	web, _ := s.ask(t, "web", "query", params...)
	api, read := s.ask(t, "api", "query", params...)
	if !read || !strings.Contains(web, `"web"`) || strings.Contains(web, `"api"`) || !strings.Contains(api, `"api"`) || strings.Contains(api, `"web"`) {
		t.Errorf("two callers share results:\n%s\n%s", web, api)
	}
	for _, other := range [][]string{
		{"query", counted + " > 0", "time", at},
		{"query", counted, "time", strconv.FormatInt(now.Unix()-1, 10)},
	} {
		if _, read := s.ask(t, "web", "query", other...); !read {
			t.Errorf("%q is not read", other)
		}
	}
	ranges := map[string]bool{}
	for _, step := range []string{"60", "30"} {
		body, read := s.ask(t, "web", "query_range", "query", counted, "start", strconv.FormatInt(now.Unix()-3600, 10), "end", at, "step", step)
		if !read || ranges[body] {
			t.Errorf("step %s: read %t", step, read)
		}
		ranges[body] = true
	}
	// Ranges that are equal once they are aligned are one, as those of a dashboard's refreshes.
	if _, read := s.ask(t, "web", "query_range", "query", counted, "start", strconv.FormatInt(now.Unix()-3599, 10), "end", strconv.FormatInt(now.Unix()-1, 10), "step", "60"); read {
		t.Error("an aligned range is read again")
	}
	// A failure is not kept.
	s.clock = now.Add(time.Minute)
	s.worlds["web"].err = context.DeadlineExceeded
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/loki/api/v1/query?"+url.Values{"query": {counted}, "time": {at}}.Encode(), nil)
	s.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), caller{}, "web")))
	if w.Code != http.StatusGatewayTimeout {
		t.Errorf("status %d", w.Code)
	}
	s.worlds["web"].err = nil
	if again, read := s.ask(t, "web", "query", params...); !read || again != web {
		t.Errorf("after a failure: %s", again)
	}
}
