package metrics_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"logstow/compaction"
	"logstow/metrics"
	"logstow/store"
)

// The file of a run is as recorded, follows Prometheus' conventions and replaces an older one.
func TestWriteCompaction(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "compact.prom")
	report := compaction.Report{
		Store: "azblob://logs", Now: time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC), Complete: true, Chains: 24,
		Halted: []string{"web 2026-11-20T10"}, Damaged: []string{"a", "b"}, Inputs: 1440, BytesIn: 9e6, Outputs: 24, BytesOut: 6e6,
		Removed: 1400, Requests: store.Requests{List: 10, Get: 1464, Create: 24, Delete: 6, Table: 20}, CostUSD: 0.0009,
	}
	for _, reports := range [][]compaction.Report{{{Store: "old"}}, {report, {Store: "/var/lib/logs"}}} {
		if err := metrics.WriteCompaction(path, reports); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "compaction.txt")
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
	if err := metrics.WriteCompaction(filepath.Join(path, "x"), nil); err == nil || !strings.Contains(err.Error(), "cannot write metrics to ") {
		t.Errorf("into a file as a directory: %v", err)
	}
}
