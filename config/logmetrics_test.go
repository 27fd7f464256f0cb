package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/logmetrics"
)

func TestLogMetrics(t *testing.T) {
	t.Parallel()
	c, err := parse(`metrics: :9464
log-metrics:
  - name: http_seconds
    type: histogram
    where: has(took_ms)
    value: took_ms
    scale: 0.001
    labels: [method, service]
    buckets: [0.1, 1e0]
    max-series: 10
  - {name: lines_total, type: counter, labels: level}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []logmetrics.Spec{
		{
			Name: "http_seconds", Type: logmetrics.Histogram, Where: "has(took_ms)", Value: "took_ms", Scale: "0.001",
			Labels: []string{"method", "service"}, Buckets: []string{"0.1", "1e0"}, MaxSeries: 10, Line: 3,
		},
		{Name: "lines_total", Type: logmetrics.Counter, Labels: []string{"level"}, Line: 11},
	}
	if diff := cmp.Diff(want, c.LogMetrics); diff != "" {
		t.Error(diff)
	}
}

func TestLogMetricProblems(t *testing.T) {
	t.Parallel()
	_, err := parse(`log-metrics:
  - nme: a
  - name: logstow_x
    type: countr
    where: 'status >= and'
    labels: [time]
    max-series: 100001
  - name: a_seconds
    type: histogram
    value: took_ms
    bucket: [1]
    buckets: [1, 0.5]
  - {name: b, type: gauge}
  - {name: h, type: histogram, value: x}
  - {name: h_count, type: counter, scale: 2}
  - {name: h_count, type: counter}
  - {name: h, type: counter}
`)
	want := `shipper.yaml:2:5: unknown key nme; did you mean name?
shipper.yaml:2:8: name is missing
shipper.yaml:2:8: type is missing
shipper.yaml:3:11: name: "logstow_x": names that begin with logstow_ are reserved
shipper.yaml:4:11: type: "countr": did you mean counter?
shipper.yaml:5:12: where: unexpected "and" (at character 11)
shipper.yaml:6:13: labels: time cannot be a label
shipper.yaml:7:17: max-series: "100001": want a number from 1 to 100000
shipper.yaml:11:5: unknown key bucket; did you mean buckets?
shipper.yaml:12:14: buckets: 0.5: want ascending bounds
shipper.yaml:13:5: a gauge requires a value
shipper.yaml:15:5: scale requires a value
shipper.yaml:16:12: name: h_count: histogram h has the same name
shipper.yaml:17:12: name: h: histogram h has the same name`
	if err == nil {
		t.Fatal("accepted")
	}
	got := strings.Split(err.Error(), "\n")
	if diff := cmp.Diff(strings.Split(want, "\n"), got); diff != "" {
		t.Error(diff)
	}
	if _, err := parse("log-metrics: [" + strings.Repeat("{}, ", logmetrics.MaxMetrics) + "{}]"); err == nil || !strings.Contains(err.Error(), "log-metrics: at most 100 allowed") {
		t.Errorf("got %v", err)
	}
}
