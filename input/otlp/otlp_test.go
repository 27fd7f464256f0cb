package otlp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	collector1 "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"
	common1 "go.opentelemetry.io/proto/slim/otlp/common/v1"
	logs1 "go.opentelemetry.io/proto/slim/otlp/logs/v1"
	resource1 "go.opentelemetry.io/proto/slim/otlp/resource/v1"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/input/otlp"
	"logstow/internal/test/inputtest"
	"logstow/record/attributes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func handler(t testing.TB, opts httpserver.IntakeOptions) *otlp.Handler {
	t.Helper()
	opts.Service, opts.Now = "web", inputtest.Now
	h, err := otlp.NewHandler(opts)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func serve(t testing.TB, opts httpserver.IntakeOptions) (address string) {
	t.Helper()
	return inputtest.ServeHTTP(t, httpserver.Options{}, handler(t, opts))
}

// sdk is the folder of the OpenTelemetry SDK.
func sdk(t *testing.T) string {
	t.Helper()
	return inputtest.Modules(t, "senders", "@opentelemetry")
}

func TestOpenTelemetrySDK(t *testing.T) {
	t.Parallel()
	senders := sdk(t)
	const count = 1500
	for kind, path := range map[string]string{"http-json": otlp.Path, "http-proto": otlp.Path, "grpc": ""} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := inputtest.NewSink()
			address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}, ServiceFromResource: true})
			inputtest.Send(t, senders, kind, "http://"+address+path, count)
			var want []string
			for i := range count {
				at := time.Unix(1795000000, int64(i)*1000).UTC().Format(time.RFC3339Nano)
				want = append(want, fmt.Sprintf(`shop-cart %s ERROR [cart-1] {"flags":1,"observed_timestamp":N,"ok":false,"order.id":%d,"ratio":0.5,`+
					`"resource":{"service.instance.id":"cart-1","service.name":"Shop Cart"},"scope_name":"checkout","scope_version":"1.2.3",`+
					`"severity_text":"Error","span_id":"eee19b7ec3c1b174","tags":["a","b"],"trace_id":"5b8efff798038103d269b633813fc60c"} order %d "failed" ✓`+"\n  at line", at, i, i))
			}
			got := withoutObserved(s.TakeLines())
			slices.Sort(got) // batches may overtake each other
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%.3000s", diff)
			}
		})
	}
}

// withoutObserved replaces the times at which the SDK observed records.
func withoutObserved(lines []string) []string {
	observed := regexp.MustCompile(`("observed_timestamp":)\d+`)
	for i := range lines {
		lines[i] = observed.ReplaceAllString(lines[i], "${1}N")
	}
	return lines
}

func text(s string) *common1.AnyValue {
	return &common1.AnyValue{Value: &common1.AnyValue_StringValue{StringValue: s}}
}

func attribute(key string, v *common1.AnyValue) *common1.KeyValue {
	return &common1.KeyValue{Key: key, Value: v}
}

func request(services ...string) *collector1.ExportLogsServiceRequest {
	r := new(collector1.ExportLogsServiceRequest)
	for _, s := range services {
		r.ResourceLogs = append(r.ResourceLogs, &logs1.ResourceLogs{
			Resource:  &resource1.Resource{Attributes: []*common1.KeyValue{attribute("service.name", text(s))}},
			ScopeLogs: []*logs1.ScopeLogs{{LogRecords: []*logs1.LogRecord{{TimeUnixNano: 1795000000e9, Body: text("hello")}}}},
		})
	}
	return r
}

func record(r *logs1.LogRecord) *collector1.ExportLogsServiceRequest {
	return &collector1.ExportLogsServiceRequest{ResourceLogs: []*logs1.ResourceLogs{{ScopeLogs: []*logs1.ScopeLogs{{LogRecords: []*logs1.LogRecord{r}}}}}}
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func tooDeep(n int) *common1.AnyValue {
	v := text("x")
	for range n {
		v = &common1.AnyValue{Value: &common1.AnyValue_ArrayValue{ArrayValue: &common1.ArrayValue{Values: []*common1.AnyValue{v}}}}
	}
	return v
}

func post(t testing.TB, address, kind, encoding string, body []byte) inputtest.Response {
	t.Helper()
	got, _ := inputtest.Do(t, http.MethodPost, "http://"+address+otlp.Path, http.Header{"Content-Type": {kind}, "Content-Encoding": {encoding}}, bytes.NewReader(body))
	return got
}

const (
	protobuf = "application/x-protobuf"
	jsonType = "application/json"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}})
	const at = "2026-11-18T11:06:40Z"
	ns := uint64(1795000000e9)
	body := func(v *common1.AnyValue) *logs1.LogRecord {
		return &logs1.LogRecord{TimeUnixNano: ns, Body: v}
	}
	with := func(change func(r *logs1.LogRecord)) *logs1.LogRecord {
		r := body(text("ERROR x"))
		change(r)
		return r
	}
	const recognized = at + ` ERROR [-] {"severity_number":0} `
	for name, c := range map[string]struct {
		record *logs1.LogRecord
		want   string
	}{
		"text":           {body(text("a\x01<b>\n")), at + " - [-] a\x01<b>\n"},
		"no trace":       {with(func(r *logs1.LogRecord) { r.TraceId = make([]byte, 16) }), recognized + "ERROR x"},
		"a line":         {body(text("2026-11-18T11:06:39Z x\r\n")), `2026-11-18T11:06:39Z - [-] {"timestamp":1795000000000000000} 2026-11-18T11:06:39Z x` + "\r\n"},
		"a later line":   {body(text("2026-11-18T11:06:41Z x")), at + " - [-] 2026-11-18T11:06:41Z x"},
		"the same time":  {body(text("2026-11-18T11:06:40Z x")), at + " - [-] 2026-11-18T11:06:40Z x"},
		"observed then":  {&logs1.LogRecord{TimeUnixNano: ns, ObservedTimeUnixNano: ns, Body: text("a")}, at + ` - [-] {"observed_timestamp":1795000000000000000} a`},
		"observed":       {&logs1.LogRecord{ObservedTimeUnixNano: ns, Body: text("a")}, at + ` - [-] {"timestamp":0} a`},
		"observed later": {&logs1.LogRecord{TimeUnixNano: ns, ObservedTimeUnixNano: ns + 1, Body: text("a")}, at + ` - [-] {"observed_timestamp":1795000000000000001} a`},
		"no time":        {&logs1.LogRecord{Body: text("a")}, `2026-11-18T11:08:20Z - [-] {"observed_timestamp":0,"timestamp":0} a`},
		"empty text":     {body(text("")), at + " - [-] "},
		"refused time":   {&logs1.LogRecord{TimeUnixNano: 1, Body: text("a")}, `2026-11-18T11:08:20Z - [-] {"refused_time":"1970-01-01T00:00:00.000000001Z"} a`},
		"refused, line":  {&logs1.LogRecord{TimeUnixNano: 1, ObservedTimeUnixNano: ns, Body: text("2026-11-18T11:06:39Z x")}, `2026-11-18T11:06:39Z - [-] {"observed_timestamp":1795000000000000000,"refused_time":"1970-01-01T00:00:00.000000001Z"} 2026-11-18T11:06:39Z x`},
		"largest time": {
			&logs1.LogRecord{TimeUnixNano: 1<<64 - 1, Body: text("a")},
			`2026-11-18T11:08:20Z - [-] {"refused_time":"2262-04-11T23:47:16.854775807Z","timestamp":18446744073709551615} a`,
		},
		"number":     {with(func(r *logs1.LogRecord) { r.SeverityNumber, r.SeverityText = 9, "INFO" }), at + ` INFO [-] ERROR x`},
		"no text":    {with(func(r *logs1.LogRecord) { r.SeverityNumber = 9 }), at + ` INFO [-] {"severity_text":""} ERROR x`},
		"second":     {with(func(r *logs1.LogRecord) { r.SeverityNumber, r.SeverityText = 10, "note" }), at + ` INFO [-] {"severity_number":10,"severity_text":"note"} ERROR x`},
		"odd number": {with(func(r *logs1.LogRecord) { r.SeverityNumber = -7 }), at + ` ERROR [-] {"severity_number":-7} ERROR x`},
		"text level": {with(func(r *logs1.LogRecord) { r.SeverityText = "WARNING" }), at + ` WARN [-] {"severity_number":0,"severity_text":"WARNING"} ERROR x`},
		"fields": {
			with(func(r *logs1.LogRecord) {
				r.Flags, r.EventName, r.DroppedAttributesCount, r.TraceId, r.SpanId = 1, "e", 3, []byte{1, 0xab}, []byte{2}
			}),
			at + ` ERROR [-] {"dropped_attributes_count":3,"event_name":"e","flags":1,"severity_number":0,"span_id":"02","trace_id":"01ab"} ERROR x`,
		},
		"attributes": {
			with(func(r *logs1.LogRecord) {
				r.Attributes = []*common1.KeyValue{attribute("b", text("1")), attribute("flags", text("2")), attribute("a", nil), attribute("resource", text("3"))}
			}),
			at + ` ERROR [-] {"a":null,"attribute.flags":"2","attribute.resource":"3","b":"1","severity_number":0} ERROR x`,
		},
		"twice": {
			with(func(r *logs1.LogRecord) {
				r.Attributes = []*common1.KeyValue{attribute("a", text("1")), attribute("a", text("2")), attribute("m", object("x", text("3"), "x", text("4")))}
			}),
			at + ` ERROR [-] {"$cut":2,"a":"1","m":{"x":"3"},"severity_number":0} ERROR x`,
		},
		"a member":    {body(object("log", text("ERROR x\n"))), at + ` ERROR [-] {"body_member":"log","severity_number":0} ERROR x` + "\n"},
		"no line":     {body(object("a", text("ERROR x"))), at + ` - [-] {"body_kind":"map"} {"a":"ERROR x"}`},
		"no text log": {body(object("log", tooDeep(1))), at + ` - [-] {"body_kind":"map"} {"log":["x"]}`},
		"two members": {body(object("log", text("ERROR x"), "a", text("b"))), at + ` ERROR [-] {"body_kind":"map","severity_number":0} {"a":"b","log":"ERROR x"}`},
		"nothing":     {body(nil), at + ` - [-] {"body_kind":"empty"} `},
		"array":       {body(tooDeep(64)), at + ` - [-] {"body_kind":"array"} ` + strings.Repeat("[", 64) + `"x"` + strings.Repeat("]", 64)},
		"int":         {body(&common1.AnyValue{Value: &common1.AnyValue_IntValue{IntValue: -1 << 63}}), at + ` - [-] {"body_kind":"int"} -9223372036854775808`},
		"double":      {body(&common1.AnyValue{Value: &common1.AnyValue_DoubleValue{DoubleValue: 3}}), at + ` - [-] {"body_kind":"double"} 3.0`},
		"bool":        {body(&common1.AnyValue{Value: &common1.AnyValue_BoolValue{BoolValue: true}}), at + ` - [-] {"body_kind":"bool"} true`},
		"bytes":       {body(&common1.AnyValue{Value: &common1.AnyValue_BytesValue{BytesValue: []byte{255}}}), at + ` - [-] {"body_kind":"bytes"} {"$bytes":"/w=="}`},
		"values": {body(object(
			"i", &common1.AnyValue{Value: &common1.AnyValue_IntValue{IntValue: -1 << 63}},
			"d", &common1.AnyValue{Value: &common1.AnyValue_DoubleValue{DoubleValue: 1e21}},
			"b", &common1.AnyValue{Value: &common1.AnyValue_BytesValue{BytesValue: []byte{255}}},
			"n", nil,
		)), at + ` - [-] {"body_kind":"map"} {"b":{"$bytes":"/w=="},"d":1e+21,"i":-9223372036854775808,"n":null}`},
	} {
		for _, kind := range []string{protobuf, jsonType} {
			body := marshal(t, record(c.record))
			if kind == jsonType {
				if c.record.TraceId != nil {
					continue // protojson does not write OTLP's JSON
				}
				body, _ = protojson.Marshal(record(c.record))
			}
			got := post(t, address, kind, "", body)
			if want := (inputtest.Response{Status: 200, Body: map[string]string{protobuf: "", jsonType: "{}"}[kind]}); got != want {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
			if diff := cmp.Diff([]string{"web " + c.want}, s.TakeLines()); diff != "" {
				t.Errorf("%s %s: (-want +got)\n%s", name, kind, diff)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}, Limits: httpserver.Limits{MaxBody: 1 << 20}})
	bomb := inputtest.Gzip(t, make([]byte, 64<<20))
	// One resource of 16 KiB and 200,000 records of two bytes are 3 GB of JSON.
	large := request(strings.Repeat("x", 16<<10))
	large.ResourceLogs[0].ScopeLogs[0].LogRecords = make([]*logs1.LogRecord, 200_000)
	for i := range large.GetResourceLogs()[0].GetScopeLogs()[0].GetLogRecords() {
		large.ResourceLogs[0].ScopeLogs[0].LogRecords[i] = new(logs1.LogRecord)
	}
	for name, c := range map[string]struct {
		kind, encoding string
		body           []byte
		status         int
	}{
		"garbage":      {protobuf, "", []byte("\xff\xff\xff\xff"), 400},
		"garbage JSON": {jsonType, "", []byte("{"), 400},
		"bad id":       {jsonType, "", []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"W47/95gDgQPSabYzgT/GDA=="}]}]}]}`), 400},
		"objects":      {jsonType, "", []byte(`{"resourceLogs":[` + strings.Repeat("{},", 340_000) + `{}]}`), 413},
		"oversized":    {protobuf, "", make([]byte, 1<<20+1), 413},
		"bomb":         {protobuf, "gzip", bomb, 413},
		"large":        {protobuf, "", marshal(t, large), 413},
		"encoding":     {protobuf, "br", nil, 415},
		"type":         {"text/plain", "", nil, 415},
	} {
		if got := post(t, address, c.kind, c.encoding, c.body); got.Status != c.status || got.Body == "" {
			t.Errorf("%s: %+v, want %d", name, got, c.status)
		}
	}
	s.Fail("web", input.ErrBusy)
	got := post(t, address, jsonType, "", []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}`))
	if want := (inputtest.Response{Status: 503, Retry: "5", Body: `{"code":14,"message":"no space for now"}`}); got != want {
		t.Errorf("busy: %+v, want %+v", got, want)
	}
	if got := s.TakeLines(); got != nil {
		t.Errorf("refused, but taken: %q", got)
	}
}

// A response does not quote a value of many MiB.
func TestErrorOfLargeValue(t *testing.T) {
	t.Parallel()
	body := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"` + strings.Repeat("9", 1<<20) + `"}]}]}]}`
	r := post(t, serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: inputtest.NewSink()}}), "application/json", "", []byte(body))
	if r.Status != http.StatusBadRequest || len(r.Body) > 4<<10 || !strings.Contains(r.Body, "timeUnixNano") {
		t.Errorf("status %d, %d bytes: %.200s", r.Status, len(r.Body), r.Body)
	}
}

func TestPartialSuccess(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}})
	r := request("a")
	r.ResourceLogs[0].ScopeLogs[0].LogRecords = append(r.ResourceLogs[0].ScopeLogs[0].LogRecords, &logs1.LogRecord{Body: tooDeep(65)})
	got := post(t, address, protobuf, "", marshal(t, r))
	var response collector1.ExportLogsServiceResponse
	if err := proto.Unmarshal([]byte(got.Body), &response); err != nil || got.Status != 200 {
		t.Fatal(got, err)
	}
	if n := response.GetPartialSuccess().GetRejectedLogRecords(); n != 1 || response.GetPartialSuccess().GetErrorMessage() == "" {
		t.Errorf("rejected %d, want 1", n)
	}
	if got := s.TakeLines(); len(got) != 1 {
		t.Errorf("%d records, want the other one", len(got))
	}
}

func call(t *testing.T, address string, frame []byte, encoding string) http.Header {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+otlp.Procedure, bytes.NewReader(frame))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/grpc")
	r.Header.Set("Grpc-Encoding", encoding)
	res, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	return res.Trailer
}

func TestGRPC(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}, Limits: httpserver.Limits{MaxBody: 1 << 20}})
	frame := func(flag byte, body []byte) []byte {
		return append([]byte{flag, 0, byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body))}, body...)
	}
	good := marshal(t, request("a"))
	bomb := inputtest.Gzip(t, make([]byte, 64<<20))
	for name, c := range map[string]struct {
		frame    []byte
		encoding string
		want     string
	}{
		"good":         {frame(0, good), "", "0"},
		"bad":          {frame(0, []byte{255}), "", "3"},
		"short":        {frame(0, good)[:20], "", "3"},
		"two":          {append(frame(0, good), frame(0, good)...), "", "3"},
		"nothing":      {nil, "", "3"},
		"oversized":    {[]byte{0, 255, 255, 255, 255}, "", "8"},
		"sent whole":   {append([]byte{0, 2, 128, 0, 0}, make([]byte, 40<<20)...), "", "8"},
		"bomb":         {frame(1, bomb), "gzip", "8"},
		"not known":    {frame(1, good), "snappy", "12"},
		"no gzip here": {frame(1, good), "gzip", "3"},
	} {
		if got := call(t, address, c.frame, c.encoding); got.Get("Grpc-Status") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
	if got := s.TakeLines(); len(got) != 1 {
		t.Errorf("taken: %q", got)
	}
	s.Fail("web", input.ErrBusy)
	got := call(t, address, frame(0, good), "")
	if got.Get("Grpc-Status") != "14" || got.Get("Grpc-Status-Details-Bin") == "" {
		t.Errorf("busy: %v, want 14 with details", got)
	}
}

func FuzzExport(f *testing.F) {
	f.Add(marshal(f, request("a", "b")), false)
	f.Add(marshal(f, record(&logs1.LogRecord{Body: tooDeep(70), TraceId: []byte{1, 2}, Attributes: []*common1.KeyValue{attribute("a", nil)}})), false)
	f.Add([]byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"5b8efff798038103d269b633813fc60c","timeUnixNano":"1"}]}]}]}`), true)
	f.Add(protowire.AppendTag(nil, 1, protowire.StartGroupType), false)
	f.Add(marshal(f, record(&logs1.LogRecord{Body: text("a line")})), false)
	f.Add(marshal(f, record(&logs1.LogRecord{Body: object("log", text("a line"))})), false)
	s := inputtest.NewSink()
	mux := http.NewServeMux()
	handler(f, httpserver.IntakeOptions{Options: input.Options{Sink: s}, Limits: httpserver.Limits{MaxBody: 1 << 16}, ServiceFromResource: true}).Register(mux)
	f.Fuzz(func(t *testing.T, body []byte, asJSON bool) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, otlp.Path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", map[bool]string{false: protobuf, true: jsonType}[asJSON])
		mux.ServeHTTP(inputtest.DiscardResponse{}, r)
		for _, l := range s.Take() {
			if len(l.Attributes) > 0 && !attributes.Valid(l.Attributes) {
				t.Errorf("attributes are not valid: %q", l.Attributes)
			}
			// A text is as sent; other bodies are JSON.
			if !json.Valid(l.Message) && !asJSON && !bytes.Contains(body, l.Message) {
				t.Errorf("neither JSON nor as sent: %q", l.Message)
			}
		}
	})
}

func BenchmarkExport(b *testing.B) {
	var records []*logs1.LogRecord
	for i := range 4000 {
		records = append(records, &logs1.LogRecord{
			TimeUnixNano: 1795000000e9, SeverityNumber: 9, SeverityText: "INFO", Body: text(fmt.Sprintf("request %d served by the usual handler in time", i)),
			Attributes: []*common1.KeyValue{attribute("http.route", text("/api/orders/{id}")), attribute("http.status", &common1.AnyValue{Value: &common1.AnyValue_IntValue{IntValue: 200}})},
			TraceId:    bytes.Repeat([]byte{1}, 16), SpanId: bytes.Repeat([]byte{2}, 8),
		})
	}
	r := request("cart")
	r.ResourceLogs[0].ScopeLogs[0].LogRecords = records
	body := marshal(b, r)
	mux := http.NewServeMux()
	handler(b, httpserver.IntakeOptions{Options: input.Options{Sink: inputtest.Discard{}}}).Register(mux)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, otlp.Path, bytes.NewReader(body))
		r.Header.Set("Content-Type", protobuf)
		mux.ServeHTTP(inputtest.DiscardResponse{}, r)
	}
}
