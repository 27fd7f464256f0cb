package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/compaction"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
	"logstow/store/local"
)

// An output of compaction is listed in place of the segments that it contains.
func TestSegmentsOfOutput(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s, err := local.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	hour := time.Now().UTC().Truncate(24 * time.Hour).Add(-5 * time.Hour) // of a day that ended: its segments are merged however few
	add := func(number int) {
		t.Helper()
		var body bytes.Buffer
		w := segment.NewWriter(&body, segment.Options{
			Service: "web", Instance: fmt.Sprintf("pod-%d", number), Salt: [16]byte{byte(number)}, BucketStart: hour.Unix(), BucketWidth: 3600,
		})
		if err := w.Append(record.Record{Time: hour.UnixNano(), Source: "-", Message: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		meta, err := w.Close(int64(number))
		if err != nil {
			t.Fatal(err)
		}
		name := blobnaming.Name{Service: "web", Bucket: hour, Number: uint64(number)}.String()
		if _, err := s.Blobs().Create(t.Context(), name, body.Bytes(), store.CreateOptions{Metadata: meta.Encode()}); err != nil {
			t.Fatal(err)
		}
	}
	for number := range 3 {
		add(number + 1)
	}
	o := compaction.DefaultOptions()
	o.After, o.TempDir, o.KeepInputs = 0, t.TempDir(), true
	if report, err := compaction.Run(t.Context(), s, o); err != nil || report.Outputs != 1 {
		t.Fatal(report, err)
	}
	add(4)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	env := environment{stdout: &out, stderr: &errs, now: time.Now, tempDir: t.TempDir(), getenv: func(string) string { return "" }}
	status := run(t.Context(), []string{"logq", "segments", "--store", dir, "-o", "json"}, env)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if status != 0 || len(lines) != 2 || errs.Len() > 0 {
		t.Fatalf("status %d: %s%s", status, &out, &errs)
	}
	if !strings.Contains(lines[1], `/000004.log"`) || strings.Contains(lines[1], "generation") {
		t.Errorf("the late segment: %s", lines[1])
	}
	for _, want := range []string{`"records":3,`, `"instance":"-"`, `"generation":1,"contained":3}`} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("the output lacks %s: %s", want, lines[0])
		}
	}
}
