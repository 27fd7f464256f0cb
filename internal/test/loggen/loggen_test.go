package loggen_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"logstow/internal/test/loggen"
	"logstow/message"
	"logstow/message/parse"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	for _, kind := range []string{"json", "nginx", "hdfs"} {
		o := loggen.Options{Kind: kind, Size: 1 << 20, Start: start, Span: 30 * time.Minute, Seed: 1}
		var a, b bytes.Buffer
		if err := loggen.Write(&a, o); err != nil {
			t.Fatal(err)
		}
		if err := loggen.Write(&b, o); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: the same seed gave other bytes", kind)
		}
		if n := a.Len(); n < 1<<20 || n > 1<<20+4096 || a.Bytes()[n-1] != '\n' {
			t.Errorf("%s: %d bytes, want 1 MiB of whole lines", kind, n)
		}
		if kind == "nginx" { // with a status in every line
			s := parse.Auto().Splitter("status")
			for line := range bytes.Lines(a.Bytes()) {
				if s.Split(nil, line); s.Value(0).Kind == message.Missing {
					t.Fatalf("no status: %s", line)
				}
			}
		}
		if kind != "json" {
			continue
		}
		if n := bytes.Count(a.Bytes(), []byte(loggen.Needle)); n != 1 {
			t.Errorf("%d needles, want 1", n)
		}
		lines := bytes.Split(bytes.TrimSpace(a.Bytes()), []byte("\n"))
		var last struct{ Time time.Time }
		if err := json.Unmarshal(lines[len(lines)-1], &last); err != nil {
			t.Fatal(err)
		}
		if d := last.Time.Sub(start); d < 25*time.Minute || d > 35*time.Minute {
			t.Errorf("the last line is %v after the first, want about 30m", d)
		}
	}
	if err := loggen.Write(&bytes.Buffer{}, loggen.Options{Kind: "x", Size: 1}); err == nil {
		t.Error("an unknown kind is no error")
	}
}
