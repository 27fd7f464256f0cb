package layout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/layout"
	"logstow/store"
	"logstow/store/local"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestMatch(t *testing.T) {
	t.Parallel()
	written := store.Blob{Created: at("2026-11-27T15:20:00Z"), Modified: at("2026-11-27T15:40:00Z")}
	for _, tt := range []struct{ layout, container, name, want string }{
		{"azure", "insights-logs-auditlogs", "resourceId=/TENANTS/AB/PROVIDERS/MICROSOFT.AADIAM/y=2026/m=11/d=27/h=15/m=00/PT1H.json", "auditlogs providers/microsoft.aadiam 15:00-16:00 Resource"},
		{"azure", "am-syslog", "WorkspaceResourceId=/subscriptions/a/resourcegroups/b/providers/microsoft.operationalinsights/workspaces/w/y=2026/m=11/d=27/h=15/m=05/PT05M_1.json", "syslog workspaces/w 15:05-15:10 Resource"},
		{"azure", "dump", "insights-logs-x/resourceId=/A/B/y=2026/m=11/d=27/h=15/m=00/PT1H.json", "x a/b 15:00-16:00 Resource"},
		{"azure", "insights-logs-flowlogflowevent", "flowLogResourceID=/A/B/y=2026/m=11/d=27/h=15/m=00/macAddress=00/PT1H.json", "flowlogflowevent a/b 15:00-16:00 Flow pinned"},
		{"azure", "logs", "shop/2026/11/27/15/ab12-42.applicationLog.csv", "shop shop/2026/11/27/15/ab12-42.applicationLog.csv 15:00-16:00 CSV"},
		{"azure", "shoplogs", "2026/11/27/15/ab12.log", "shoplogs 2026/11/27/15/ab12.log 15:00-16:00 Lines"},
		{"azure", "insights-logs-signinlogs", "tenantId=0e35/y=2026/m=11/d=27/h=15/m=00/PT1H.json", "signinlogs 0e35 15:00-16:00 Resource"},
		{"azure", "insights-metrics-pt1m", "resourceId=/subscriptions/a/b/c/y=2026/m=11/d=27/h=15/m=00/PT1H.json", "metrics-pt1m b/c 15:00-16:00 Resource"},
		{"azure", "insights-logs-flowlogflowevent", "flowLogResourceID=/A_NETWORKWATCHERRG/NETWORKWATCHER_X_Y/y=2026/m=11/d=27/h=15/m=00/macAddress=00/PT1H.json", "flowlogflowevent a_networkwatcherrg/networkwatcher_x_y 15:00-16:00 Flow pinned"},
		{"azure", "x", "resourceId=/A/y=2026/m=13/d=27/h=15/m=00/PT1H.json", ""},
		{"azure:{service}/resourceId=/{**}/y={yyyy}/m={MM}/d={dd}/{*}", "x", "Audit/resourceId=/A/B/y=2026/m=11/d=27/PT1H.json.gz", "audit a/b 00:00-00:00 Resource"},
		{"azure:{service}/{yyyy}-{MM}-{dd}T{HH}/{*}", "x", "audit/2026-11-27T15/x.json.gz", "audit audit/2026-11-27T15/x.json.gz 15:00-16:00 Resource"},
		{"azure:{service}/{yyyy}-{MM}-{dd}T{HH}/{*}", "x", "shop/2026-11-27T15/x.csv.gz", "shop shop/2026-11-27T15/x.csv.gz 15:00-16:00 CSV"},
		{"azure", "x", "api/2026/11/27/1500/000001.log", ""},
		{"fluent-bit", "logs", "kubernetes/kube.var.log.containers.shop-5d_prod_web-0a1b.log", "web prod/shop-5d/web 15:20-15:40 FluentBit undated"},
		{"fluent-bit", "logs", "a/b/app.web.kX3.1795793400123.gz", "app.web a/b/app.web 15:30-15:30 FluentBit"},
		{"fluent-bit", "logs", "web.frontend.1795793400123", "web.frontend web.frontend 15:30-15:30 FluentBit"},
		{"fluent-bit", "logs", "app.1795793400123.zst", "app app 15:30-15:30 FluentBit"},
		{"fluent-bit", "logs", "kube.var.log.containers.shop-5d_prod_web-0a1b.log.AbCd0123.1795793400123.gz", "web prod/shop-5d/web 15:30-15:30 FluentBit"},
		{"fluent-bit:{yyyy}/{MM}/{dd}/{**}", "logs", "2026/11/27/app", "app 2026/11/27/app 00:00-00:00 FluentBit"},
		{"fluent-bit:{yyyy}/{MM}/{dd}/{**}", "logs", "2026/11/27/app.web.kX3.1795793400123.gz", "app.web 2026/11/27/app.web 00:00-00:00 FluentBit"},
		{"vector", "logs", "blob/2026-11-27/1795793400-4d1c1c1e-0a6f-4f3d-9f2e-000000000000.log.gz", "logs blob/2026-11-27/1795793400-4d1c1c1e-0a6f-4f3d-9f2e-000000000000.log.gz 15:30-15:30 Vector"},
		{"vector", "logs", "shop/2026-11-27/1795793400-a.log", "shop shop/2026-11-27/1795793400-a.log 15:30-15:30 Vector"},
		{"otel", "logs", "2026/11/27/logs_15_30_00.json_42", "logs 2026/11/27/logs_15_30_00.json_42 15:30-15:30 OTLP"},
		{"otel", "logs", "2026/11/27/logs_15_30_00_42.json", "logs 2026/11/27/logs_15_30_00_42.json 15:30-15:30 OTLP"},
		{"otel", "logs", "2026/11/27/logs_15_30_00.pb_42.gz", "logs 2026/11/27/logs_15_30_00.pb_42.gz 15:30-15:30 OTLP"},
		{"otel", "logs", "2026/11/27/traces_15_30_00.json_42", ""},
		{"$logs", "$logs", "blob/2026/11/27/1500/000000.log", "blob blob/2026/11/27/1500/000000.log 15:00-16:00 Lines"},
		{"{service}/{yyyy}/{MM}/{dd}/{HH}/{*}.json.gz", "logs", "Shop/2026/11/27/15/x-1.json.gz", "shop Shop/2026/11/27/15/x-1.json.gz 15:00-16:00 Lines"},
		{"{service}/{yyyy}/{MM}/{dd}/{HH}/{*}.json.gz", "logs", "shop/2026/11/27/15/y/x-1.json.gz", ""},
		{"fluent-bit:{service}/{**}", "logs", "shop/a/b", "shop shop/a/b 15:20-15:40 FluentBit undated"},
	} {
		l, err := layout.Parse(tt.layout, layout.Options{Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		b := written
		b.Name, b.Appended = tt.name, true
		found, ok := l.Match(&layout.Place{Container: tt.container}, b)
		got := ""
		if ok {
			content := []string{"Lines", "CSV", "Resource", "Flow", "FluentBit", "Vector", "OTLP"}[found.Content]
			got = fmt.Sprintf("%s %s %s-%s %s", found.Service, found.Source, found.Start.Format("15:04"), found.End.Format("15:04"), content)
			if !found.Grows {
				got += " pinned"
			}
			if !found.Dated {
				got += " undated"
			}
		}
		if got != tt.want {
			t.Errorf("%s, %s: got %q, want %q", tt.layout, tt.name, got, tt.want)
		}
	}
}

// When clocks are put back, an hour of names is two hours.
func TestClocksPutBack(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"x/2026/10/25/01/a": "2026-10-24 23:00 1h0m0s", "x/2026/10/25/02/a": "2026-10-25 00:00 2h0m0s", "x/2026/10/25/03/a": "2026-10-25 02:00 1h0m0s",
		"x/2026/03/29/01/a": "2026-03-29 00:00 1h0m0s", "x/2026/03/29/03/a": "2026-03-29 01:00 1h0m0s",
	} {
		l, err := layout.Parse("{service}/{yyyy}/{MM}/{dd}/{HH}/{*}", layout.Options{Zone: zone})
		if err != nil {
			t.Fatal(err)
		}
		found, ok := l.Match(&layout.Place{Container: "c"}, store.Blob{Name: name})
		if got := found.Start.Format("2006-01-02 15:04 ") + found.End.Sub(found.Start).String(); !ok || got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	dir := t.TempDir()
	s, err := local.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Blobs().Create(t.Context(), "x/2026/10/25/02/a", []byte("x"), store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	l, err := layout.Parse("{service}/{yyyy}/{MM}/{dd}/{HH}/{*}", layout.Options{Zone: zone, Slack: -1})
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]int{"2026-10-24T23:30:00Z": 0, "2026-10-25T00:10:00Z": 1, "2026-10-25T01:10:00Z": 1, "2026-10-25T02:10:00Z": 0} {
		found, err := l.Find(t.Context(), &layout.Place{Blobs: s.Blobs(), Container: "c", Directory: true}, at(from), at(from).Add(10*time.Minute))
		if err != nil || len(found) != want {
			t.Errorf("from %s: %d blobs, %v, want %d", from, len(found), err, want)
		}
	}
}

func TestParseRejects(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"azzure": "no layout", "x:{*}": "no layout", "{hour}/x": "{hour}", "{yyyy}/{dd}/{*}": "{dd} needs", "{HH}": "{HH} needs",
		"{yyyy}/{yyyy}": "twice", "{*": "{* is not closed", "/{*}": "names of blobs", "{resource}/{*}": "{resource}", "vector:": "names of blobs",
	} {
		if l, err := layout.Parse(text, layout.Options{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, %v, want an error with %q", text, l, err, says)
		}
	}
}

// Only the directories of the range are listed, and only blobs of the range and the slack are found.
func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := local.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for h := range 48 {
		day, hour := 26+h/24, h%24
		for _, name := range []string{
			fmt.Sprintf("resourceId=/A/B/y=2026/m=11/d=%d/h=%02d/m=00/PT1H.json", day, hour), fmt.Sprintf("shop/2026/11/%d/%02d/x.log", day, hour),
			fmt.Sprintf("flat/2026-11-%d/%d-x.log", day, at("2026-11-26T00:30:00Z").Add(time.Duration(h)*time.Hour).Unix()),
		} {
			if _, err := s.Blobs().Create(t.Context(), name, []byte("x"), store.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		layout, from, to string
		slack            time.Duration
		want             int
	}{
		{"azure", "2026-11-27T15:00:00Z", "2026-11-27T16:00:00Z", time.Hour, 4},
		{"azure", "2026-11-27T15:00:00Z", "2026-11-27T16:00:00Z", -1, 2},
		{"azure", "2026-11-27T15:30:00Z", "2026-11-27T15:40:00Z", time.Minute, 2},
		{"azure", "2026-11-26T00:00:00Z", "2026-11-28T00:00:00Z", time.Hour, 96},
		{"azure", "0001-01-01T00:00:00Z", "9999-01-01T00:00:00Z", time.Hour, 96},
		{"azure", "2025-11-26T00:00:00Z", "2026-11-26T10:00:00Z", -1, 20},
		{"vector", "2026-11-27T15:00:00Z", "2026-11-27T16:00:00Z", time.Hour, 2},
		{"vector", "2026-11-26T23:00:00Z", "2026-11-27T01:00:00Z", -1, 2},
		{"{service}/{yyyy}-{MM}-{dd}/{*}", "2026-11-27T15:00:00Z", "2026-11-27T16:00:00Z", time.Hour, 24},
		{"{service}/{**}.log", "2026-11-27T15:00:00Z", "2126-11-27T16:00:00Z", time.Hour, 96},
	} {
		l, err := layout.Parse(tt.layout, layout.Options{Zone: time.UTC, Slack: tt.slack})
		if err != nil {
			t.Fatal(err)
		}
		found, err := l.Find(t.Context(), &layout.Place{Blobs: s.Blobs(), Container: "c", Directory: true}, at(tt.from), at(tt.to))
		if err != nil || len(found) != tt.want {
			t.Errorf("%s from %s to %s: %d blobs, %v, want %d", tt.layout, tt.from, tt.to, len(found), err, tt.want)
		}
	}
	var requests store.Counter
	l, _ := layout.Parse("azure", layout.Options{Zone: time.UTC})
	place := &layout.Place{Blobs: requests.Store(s).Blobs(), Container: "c"}
	if _, err := l.Find(t.Context(), place, at("2026-11-27T15:00:00Z"), at("2026-11-27T16:00:00Z")); err != nil {
		t.Fatal(err)
	}
	// Of directories the root, three of the resource, flat, and of blobs two hours each of the resource, shop and flat.
	if n := requests.Requests().List; n > 12 {
		t.Errorf("an hour took %d listings", n)
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"resourceId=/A/y=2026/m=11/d=27/h=15/m=00/PT1H.json": "azure", "blob/2026-11-27/1795793400-a.log.gz": "vector",
		"2026/11/27/logs_15_30_00.json_42": "otel", "app.web.kX3.1795793400123.gz": "fluent-bit", "shop/2026/11/27/15/x.log": "azure",
		"api/2026/11/27/1500/000001.log": "$logs", "notes.txt": "", "": "",
	} {
		if got, _ := layout.Detect([]string{name}); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func FuzzMatch(f *testing.F) {
	for _, name := range layout.Names() {
		f.Add(name, "a/2026/11/27/15/x")
	}
	f.Add("{service}/{yyyy}/{MM}/{dd}/{HH}/{*}.json.gz", "a/2026/11/27/15/x.json.gz")
	f.Add("{**}/{millis}", "x/1795793400123")
	f.Fuzz(func(t *testing.T, text, name string) {
		l, err := layout.Parse(text, layout.Options{Zone: time.UTC})
		if err != nil {
			return
		}
		b, ok := l.Match(&layout.Place{Container: "c"}, store.Blob{Name: name})
		if ok && (b.Service == "" || b.End.Before(b.Start)) {
			t.Errorf("%q of %q is %+v", name, text, b)
		}
		if ok && b.Dated && !slices.Contains([]string{"azure"}, text) && !b.End.After(b.Start) {
			t.Errorf("%q of %q has no period: %+v", name, text, b)
		}
	})
}
