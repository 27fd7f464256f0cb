package otlp_test

import (
	"slices"
	"strings"
	"testing"

	"logstow/input"
	"logstow/input/otlp"
	"logstow/internal/test/inputtest"
)

// TestParts reads a file of the Collector's file exporter.
func TestParts(t *testing.T) {
	t.Parallel()
	const one = `{"timeUnixNano":"1795000001000000000","severityNumber":13,"body":{"stringValue":"a"},"attributes":[{"key":"b","value":{"intValue":"1"}}]}`
	const two = `{"body":{"stringValue":"2026-11-18T11:06:43Z ERROR c"}}`
	request := func(records string) string {
		return `{"resourceLogs":[{"resource":{},"scopeLogs":[{"scope":{},"logRecords":[` + records + `]}]}]}`
	}
	deep := request(`{"body":` + strings.Repeat(`{"arrayValue":{"values":[`, 200) + `{}` + strings.Repeat(`]}}`, 200) + `}`)
	lines := []string{"before", request(one + "," + two), request("")[:40], request(""), deep, "after"}
	s := inputtest.NewSink()
	opts := input.Options{Service: "web", Sink: s, Now: inputtest.Now}
	opts.Parts = otlp.Parts(opts)
	feed, err := input.NewFeed(opts)
	if err != nil {
		t.Fatal(err)
	}
	src := feed.NewSource("file")
	if err := feed.Read(t.Context(), src, strings.NewReader(strings.Join(lines, "\n")+"\n"), inputtest.Now()); err != nil {
		t.Fatal(err)
	}
	const read = "web 2026-11-18T11:08:20Z - [file] "
	want := []string{
		read + lines[0],
		`web 2026-11-18T11:06:41Z WARN [file] {"b":1,"severity_text":""} a`,
		`web 2026-11-18T11:06:43Z ERROR [file] {"observed_timestamp":0,"severity_number":0,"timestamp":0} 2026-11-18T11:06:43Z ERROR c`,
	}
	for _, line := range lines[2:] { // they cannot be taken apart
		want = append(want, "web 2026-11-18T11:06:43Z - [file] "+line)
	}
	if got := s.TakeLines(); !slices.Equal(got, want) {
		t.Errorf("%.3000s", strings.Join(got, "\n"))
	}
}
