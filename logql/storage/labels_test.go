package storage_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/logql/engine"
	"logstow/logql/storage"
	"logstow/logql/syntax"
	"logstow/record"
	"logstow/record/attributes"
)

// Label attributes are labels of streams, in selectors, results and series; other attributes can be selected.
func TestLabelAttributes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	w.labelled = true
	w.fill(effort.Cases{Test: 6, Full: 40}.N(), 30)
	from, to := origin().UnixNano(), origin().Add(4*time.Hour).UnixNano()
	selectors := []string{
		`{service_name=~".+"}`, `{k8s_pod_name="p1"}`, `{k8s_pod_name!="p1", team=~"p.*"}`, `{k8s_namespace_name="p2", level="error"}`,
		`{team="", service_name=~".+"}`, `{trace_id="p3"}`, `{process_pid=~"p1|p2", service_name="api"}`, `{k8s_pod_name="absent"}`, `{service_name="api", nothing=""}`,
	}
	metrics := []string{
		`rate(%s[10m])`, `count_over_time(%s[4h])`, `sum by (k8s_pod_name) (count_over_time(%s[1h]))`, `sum by (level) (count_over_time(%s[30m]))`,
		`sum without (instance, level) (count_over_time(%s[1h]))`, `sum by (team, trace_id) (count_over_time(%s | json [1h]))`, `bytes_over_time(%s[2h])`,
		`topk(3, sum by (service, k8s_namespace_name) (rate(%s |= "e" [1h])))`,
	}
	check := func(what string) {
		view := func() *storage.View { return w.view(storage.Access{}) }
		for _, selector := range selectors {
			log := parse(t, selector)
			want, err := answer(t.Context(), w.reference().Source, log, engine.LogParams{From: from, To: to})
			if err != nil {
				t.Fatal(err)
			}
			got, err := answer(t.Context(), view(), log, engine.LogParams{From: from, To: to})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s: (-want +got)\n%s", what, selector, diff)
			}
			for _, metric := range metrics {
				text := fmt.Sprintf(metric, selector)
				expr, err := syntax.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				params := engine.MetricParams{Start: from, End: to, Step: 30 * time.Minute}
				want, wantErr := w.reference().Metric(t.Context(), expr.(syntax.SampleExpr), params)
				got, gotErr := (&engine.Engine{Source: view()}).Metric(t.Context(), expr.(syntax.SampleExpr), params)
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" || (wantErr == nil) != (gotErr == nil) {
					t.Errorf("%s: %s: %v, %v (-want +got)\n%s", what, text, wantErr, gotErr, diff)
				}
			}
		}
	}
	check("segments")
	w.compact("k8s.pod.name")
	check("outputs of compaction")
	w.fill(5, 20)
	check("both")
}

// Streams and volumes of a selector on label attributes are those of the records that it selects.
func TestStreamsByLabels(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	w.labelled = true
	w.fill(40, 30)
	from, to := origin().UnixNano(), origin().Add(4*time.Hour).UnixNano()
	for _, compacted := range []bool{false, true} {
		if compacted {
			w.compact()
		}
		for _, selector := range []string{`{k8s_pod_name="p1"}`, `{k8s_pod_name!="p1", team=~"p.*"}`, `{team="", service_name="api"}`, `{k8s_namespace_name=~".+", instance="b"}`} {
			matchers := parse(t, selector).Matchers
			want := map[string]uint64{}
			for _, r := range w.all {
				if ls := r.labels().Without("detected_level", "source"); r.selectedBy(matchers) && selectsLabels(ls.Get, matchers) {
					want[ls.String()]++
				}
			}
			streams, err := streamsOf(t.Context(), w.view(storage.Access{}), [][]*syntax.Matcher{matchers}, from, to)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]uint64{}
			for _, s := range streams {
				got[s.Labels.String()] = s.Records
			}
			for name, n := range want { // of records without the label, own attributes may differ: metadata do not have them
				if got[name] < n {
					t.Errorf("%s, compacted %t: %s has %d records, want %d", selector, compacted, name, got[name], n)
				}
			}
			if len(got) < len(want) {
				t.Errorf("%s: %d streams, want %d", selector, len(got), len(want))
			}
		}
	}
}

// selectsLabels reports whether matchers match labels.
func selectsLabels(get func(string) string, matchers []*syntax.Matcher) bool {
	for _, m := range matchers {
		if !m.Matches(get(m.Name)) {
			return false
		}
	}
	return true
}

// Attributes that no other attribute, and no message, can be mistaken for are read from columns.
func TestAttributeColumns(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many queries")
	rnd := testrand.New(t)
	w := newWorld(t, rnd)
	w.larger, w.columnar, w.labelled = true, true, true
	at := origin().UnixNano()
	for part := range 8 {
		var records []record.Record
		for range 400 {
			at += 1e9 * int64(1+rnd.IntN(3)) / 2
			var s attributes.Set
			if rnd.IntN(10) > 0 {
				s.Resource = attributes.NewGroup([]attributes.Member{
					{Name: "k8s.pod.name", Value: attributes.AppendText(nil, fmt.Sprint("p", rnd.IntN(20)))},
					{Name: "process.pid", Value: attributes.AppendInt(nil, int64(part))},
				})
			}
			if rnd.IntN(2) == 0 {
				s.Own = []attributes.Member{
					{Name: "took", Value: attributes.AppendDouble(nil, float64(rnd.IntN(1000))/10)},
					{Name: "user", Value: attributes.AppendText(nil, pick(rnd, []string{"ann", "bob", "", "7"}))},
				}
			}
			message := fmt.Sprintf("order %d done: %016x%016x%016x", rnd.IntN(100), rnd.Uint64(), rnd.Uint64(), rnd.Uint64())
			if part == 7 { // has fields of the names of attributes
				message = fmt.Sprintf(`{"user":"carl","took":%d}`, rnd.IntN(10))
			}
			text, _ := s.Append(nil)
			records = append(records, record.Record{Time: at, Level: record.Level(rnd.IntN(record.Levels)), Message: []byte(message), Attributes: text})
		}
		w.ship([]string{"api", "web"}[part/7], pick(rnd, instances()), records...)
	}
	w.compact("k8s.pod.name", "took", "user")
	from, to := origin().UnixNano(), at+1
	for _, c := range []struct {
		text    string
		columns bool
	}{
		{`sum by (k8s_pod_name) (rate({service_name="api"}[10m]))`, true},
		{`sum by (k8s_pod_name, level) (count_over_time({service_name="api"}[1h]))`, true},
		{`sum(count_over_time({service_name="api", k8s_pod_name="p7"}[10m]))`, true},
		{`sum by (instance) (count_over_time({k8s_pod_name=~"p1.*", level!="info"}[10m]))`, true},
		{`sum by (user) (count_over_time({service_name="api"} | took > 50 [1h]))`, true},
		{`sum by (k8s_pod_name) (sum_over_time({service_name="api"} | unwrap took [30m]))`, true},
		{`avg by (k8s_pod_name) (avg_over_time({service_name="api"} | unwrap took [30m]))`, false},
		{`quantile_over_time(0.9, {service_name="api", user="ann"} | unwrap took [30m]) by (user)`, true},
		{`sum by (user) (count_over_time({service_name="api"} | user!="" | label_format user=k8s_pod_name [1h]))`, true},
		{`sum by (user) (count_over_time({service_name="web"} | json [1h]))`, false},
		{`sum by (user) (count_over_time({service_name="web"}[1h]))`, false},
		{`count_over_time({k8s_pod_name="p3"}[1h])`, false},
		{`sum by (k8s_pod_name) (count_over_time({service_name="api"} |= "7" [1h]))`, false},
		{`sum by (k8s_pod_name) (bytes_over_time({service_name="api"}[1h]))`, false},
	} {
		expr, err := syntax.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		params := engine.MetricParams{Start: from, End: to, Step: 10 * time.Minute}
		want, err := w.reference().Metric(t.Context(), expr.(syntax.SampleExpr), params)
		if err != nil {
			t.Fatal(err)
		}
		view := w.view(storage.Access{})
		got, err := (&engine.Engine{Source: view}).Metric(t.Context(), expr.(syntax.SampleExpr), params)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.text, diff)
		}
		if r := view.Report(); c.columns && r.BlocksColumns < r.BlocksRead || len(want.Series) == 0 {
			t.Errorf("%s: %d blocks by columns, %d read, %d series", c.text, r.BlocksColumns, r.BlocksRead, len(want.Series))
		}
	}
	// Blocks without the value are skipped.
	view := w.view(storage.Access{})
	if lines, err := answer(t.Context(), view, parse(t, `{process_pid=~"3.", service_name="api"}`), engine.LogParams{From: from, To: to}); err != nil || len(lines) > 0 {
		t.Fatal(err, len(lines))
	}
	if r := view.Report(); r.BlocksExcluded == 0 {
		t.Errorf("%d blocks excluded, %d read", r.BlocksExcluded, r.BlocksRead)
	}
}
