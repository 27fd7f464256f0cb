package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/agent"
	"logstow/config"
	"logstow/input/container"
	"logstow/input/files"
	"logstow/input/multiline"
)

func sampled(t *testing.T, in *config.Input, text string, now time.Time) string {
	t.Helper()
	in.Spec, in.Service = &files.Spec{}, "sample"
	records, err := agent.Sample(t.Context(), in, strings.NewReader(text), now, now)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := writeSample(&out, judge(records, now)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The example of the documentation is what is printed.
func TestDocumentedSample(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/time-and-level.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```\n\\$ shipper check --sample app.log\napp.log: 5 lines, 3 records\n(.*?)```").FindSubmatch(page)
	if example == nil {
		t.Fatal("no example")
	}
	const log = `2026-11-20T15:04:05.250Z ERROR failed user=ann
java.lang.IllegalStateException: x
	at com.example.Main.main(Main.java:12)
10.0.0.1 - - [20/Nov/2026:15:04:06 +0000] "GET /cart HTTP/1.1" 404 12
done
`
	in := &config.Input{Common: config.Common{Multiline: &multiline.Options{Auto: true}}}
	got := sampled(t, in, log, time.Date(2026, 11, 20, 15, 5, 0, 0, time.UTC))
	if diff := cmp.Diff(string(example[1]), got); diff != "" {
		t.Error(diff)
	}
}

// Times of a container runtime and of reading are distinguished.
func TestSampleOfContainer(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 15, 5, 0, 0, time.UTC)
	in := &config.Input{Common: config.Common{Format: container.CRI, Multiline: &multiline.Options{}}}
	got := sampled(t, in, "2026-11-20T15:04:05.5Z stdout F hello\n2026-11-18T15:04:05.5Z stdout F \x1b[1mx\xff\n", now)
	want := `time far from now  1 record   first: line 2
no level           2 records  first: line 1
no fields          2 records  first: line 1

line 2  2026-11-18T15:04:05.500Z  -  ·[1mx·
    time far from now, no level, no fields, time of the container runtime

line 1  2026-11-20T15:04:05.500Z  -  hello
    no level, no fields, time of the container runtime
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	in.Format = container.None
	if got := sampled(t, in, "hello\n", now); !strings.Contains(got, "no time: time of reading, no level, no fields\n") {
		t.Error(got)
	}
}

// Long fields are cut, many fields are several lines.
func TestSampleIsBounded(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	log.WriteString("2026-11-20T15:04:05Z INFO")
	for i := range 100 {
		fmt.Fprintf(&log, " field%d=%s", i, strings.Repeat("é", 3*i))
	}
	in := &config.Input{Common: config.Common{Multiline: &multiline.Options{}}}
	got := sampled(t, in, log.String(), time.Date(2026, 11, 20, 15, 5, 0, 0, time.UTC))
	for line := range strings.Lines(got) {
		if n := len([]rune(line)); n > maxSampleText+60 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	for i := range 100 {
		if !strings.Contains(got, fmt.Sprintf(" field%d=", i)) {
			t.Errorf("field%d is missing", i)
		}
	}
}

// Levels and fields of a sample are those of the configured parser.
func TestSampleOfParser(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 15, 5, 0, 0, time.UTC)
	const line = `192.0.2.7 - ann [20/Nov/2026:15:04:05 +0000] "GET /pay HTTP/1.1" 503 17` + "\n"
	for parse, want := range map[string]string{
		"":                               "status=503  bytes=17\n",
		"none/1":                         "Z  -  192.0.2.7 ",
		"pattern/1 '<_>\" <status> <n>'": "Z  ERROR  192.0.2.7 - ann [20/Nov/2026:15:04:05 +0000] \"GET /pay HTTP/1.1\" 503 17\n    status=503  n=17\n",
		"regexp/1 '(?P<level>5)\\d\\d'":  "Z  -  192.0.2.7 - ann [20/Nov/2026:15:04:05 +0000] \"GET /pay HTTP/1.1\" 503 17\n    no level\n    level=5\n",
	} {
		in := &config.Input{Common: config.Common{Parse: parse, Multiline: &multiline.Options{}}}
		if got := sampled(t, in, line, now); !strings.Contains(got, want) {
			t.Errorf("%s:\n%s\nwant %q", parse, got, want)
		}
	}
}

// The columns of a directive are the fields of the lines behind it.
func TestSampleOfW3C(t *testing.T) {
	t.Parallel()
	in := &config.Input{Common: config.Common{Multiline: &multiline.Options{}}}
	text := "#Fields: date time c-ip sc-status\r\n2026-11-20 15:04:05 192.0.2.7 503\r\n"
	got := sampled(t, in, text, time.Date(2026, 11, 20, 15, 5, 0, 0, time.UTC))
	if want := "ERROR  2026-11-20 15:04:05 192.0.2.7 503·\n    date=2026-11-20  time=15:04:05  ip=192.0.2.7  status=503\n"; !strings.Contains(got, want) {
		t.Errorf("%s\nwant %q", got, want)
	}
}
