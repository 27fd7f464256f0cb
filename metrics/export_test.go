package metrics_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"logstow/export"
	"logstow/metrics"
	"logstow/store"
)

// The file of a run is as recorded, follows Prometheus' conventions and replaces an older one.
func TestWriteExport(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "export.prom")
	report := export.Report{
		Store: "azblob://logs", Table: "azblob://lake/logs", Now: time.Date(2026, 11, 20, 10, 52, 0, 0, time.UTC), Complete: true, Version: 41,
		Units: 24, BytesIn: 6e6, Records: 90_000, Files: 2, BytesOut: 7e6, ExpiredFiles: 3, Deleted: 4, Waiting: 5, Damaged: []string{"a"},
		Requests: store.Requests{List: 10, Get: 64, Create: 3}, CostUSD: 0.0002,
	}
	for _, reports := range [][]export.Report{{{Table: "old"}}, {report}} {
		if err := metrics.WriteExport(path, reports); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "export.txt")
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
	problems, err := promlint.New(strings.NewReader(string(got))).Lint()
	if err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
	if err := metrics.WriteExport(filepath.Join(path, "x"), nil); err == nil || !strings.Contains(err.Error(), "cannot write metrics to ") {
		t.Errorf("into a file as a directory: %v", err)
	}
}
