package otlp_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	common1 "go.opentelemetry.io/proto/slim/otlp/common/v1"
	logs1 "go.opentelemetry.io/proto/slim/otlp/logs/v1"
	resource1 "go.opentelemetry.io/proto/slim/otlp/resource/v1"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/input/otlp"
	"logstow/internal/test/inputtest"
)

// An application's lines are stored as they were logged, with their own time and level, and their attributes beside them.
func TestOpenTelemetrySDKLines(t *testing.T) {
	t.Parallel()
	senders := sdk(t)
	const count = 300
	for kind, path := range map[string]string{"http-json": otlp.Path, "http-proto": otlp.Path, "grpc": ""} {
		for _, form := range []string{"lines", "attributes"} {
			t.Run(kind+" "+form, func(t *testing.T) {
				t.Parallel()
				s := inputtest.NewSink()
				address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}})
				inputtest.Send(t, senders, kind, "http://"+address+path, count, form)
				var want []string
				for i := range count {
					at := fmt.Sprintf("2026-11-18T11:06:%02dZ", i%40)
					line := fmt.Sprintf(`{"time":"%s","level":"warn","msg":"order %d \"failed\" ✓"}`+"\n", at, i)
					file := ""
					if form == "attributes" {
						file = `"file":"a.log",`
					}
					sent := fmt.Sprintf(`"severity_number":0,"timestamp":%d`, 1795000000e9+1000*i)
					want = append(want, fmt.Sprintf(`web %s WARN [-] {%s"observed_timestamp":N,%s} %s`, at, file, sent, line))
				}
				got := withoutObserved(s.TakeLines())
				slices.Sort(got)
				slices.Sort(want)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got)\n%.3000s", diff)
				}
			})
		}
	}
}

// object is an object of names and values.
func object(members ...any) *common1.AnyValue {
	list := new(common1.KeyValueList)
	for i := 0; i < len(members); i += 2 {
		v, _ := members[i+1].(*common1.AnyValue) // or nil
		list.Values = append(list.Values, attribute(members[i].(string), v))
	}
	return &common1.AnyValue{Value: &common1.AnyValue_KvlistValue{KvlistValue: list}}
}

// What is known about a line's origin is kept beside it.
func TestLinesWithOrigin(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}})
	line := &logs1.LogRecord{TimeUnixNano: 1795000000e9, Body: text("ERROR x")}
	scoped, resourced := record(line), record(line)
	scoped.ResourceLogs[0].ScopeLogs[0].Scope = &common1.InstrumentationScope{Version: "1"}
	resourced.ResourceLogs[0].Resource = &resource1.Resource{Attributes: []*common1.KeyValue{attribute("host.name", text("h"))}}
	post(t, address, protobuf, "", marshal(t, scoped))
	post(t, address, protobuf, "", marshal(t, resourced))
	const at = "web 2026-11-18T11:06:40Z ERROR "
	want := []string{at + `[-] {"scope_version":"1","severity_number":0} ERROR x`, at + `[h] {"resource":{"host.name":"h"},"severity_number":0} ERROR x`}
	if diff := cmp.Diff(want, s.TakeLines()); diff != "" {
		t.Error(diff)
	}
}
