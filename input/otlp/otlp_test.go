package otlp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func handler(t testing.TB, opts otlp.Options) *otlp.Handler {
	t.Helper()
	opts.Service, opts.Now = "web", inputtest.Now
	h, err := otlp.NewHandler(opts)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func serve(t testing.TB, opts otlp.Options) (address string) {
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
			address := serve(t, otlp.Options{Options: input.Options{Sink: s}, ServiceFromResource: true})
			inputtest.Send(t, senders, kind, "http://"+address+path, count)
			var want []string
			for i := range count {
				at := time.Unix(1795000000, int64(i)*1000).UTC().Format(time.RFC3339Nano)
				want = append(want, fmt.Sprintf(`shop-cart %s ERROR [cart-1] {"body":"order %d \"failed\" ✓\n  at line","severity":"Error","severity_number":17,`+
					`"attributes":{"order.id":%d,"ratio":0.5,"ok":false,"tags":["a","b"]},"trace_id":"5b8efff798038103d269b633813fc60c","span_id":"eee19b7ec3c1b174","flags":1,`+
					`"scope":{"name":"checkout","version":"1.2.3"},"resource":{"service.name":"Shop Cart","service.instance.id":"cart-1"}}`, at, i, i))
			}
			got := s.TakeLines()
			slices.Sort(got) // batches may overtake each other
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%.3000s", diff)
			}
		})
	}
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
	address := serve(t, otlp.Options{Options: input.Options{Sink: s}})
	const at = "2026-11-18T11:06:40Z"
	ns := uint64(1795000000e9)
	for name, c := range map[string]struct {
		record *logs1.LogRecord
		want   string
	}{
		"body only":    {&logs1.LogRecord{TimeUnixNano: ns, Body: text("a\x01<b>")}, at + " - [-] a\x01<b>"},
		"a line":       {&logs1.LogRecord{TimeUnixNano: ns, Body: text("2026-11-18T11:06:39Z ERROR x\r\n"), TraceId: make([]byte, 16)}, "2026-11-18T11:06:39Z ERROR [-] 2026-11-18T11:06:39Z ERROR x"},
		"a later line": {&logs1.LogRecord{TimeUnixNano: ns, Body: text("2026-11-18T11:06:41Z ERROR x")}, at + " ERROR [-] 2026-11-18T11:06:41Z ERROR x"},
		"empty text":   {&logs1.LogRecord{TimeUnixNano: ns, Body: text("")}, at + " - [-] "},
		"refused line": {&logs1.LogRecord{TimeUnixNano: 1, Body: text("2026-11-18T11:06:39Z ERROR x")}, `2026-11-18T11:06:39Z ERROR [-] {"body":"2026-11-18T11:06:39Z ERROR x","refused_time":"1970-01-01T00:00:00.000000001Z"}`},
		"number":       {&logs1.LogRecord{TimeUnixNano: ns, Body: text("ERROR x"), SeverityNumber: 9}, at + ` INFO [-] {"body":"ERROR x","severity_number":9}`},
		"flags":        {&logs1.LogRecord{TimeUnixNano: ns, Body: text("ERROR x"), Flags: 1}, at + ` ERROR [-] {"body":"ERROR x","flags":1}`},
		"dropped":      {&logs1.LogRecord{TimeUnixNano: ns, Body: text("ERROR x"), DroppedAttributesCount: 1}, at + ` ERROR [-] {"body":"ERROR x","dropped_attributes":1}`},
		"a member":     {&logs1.LogRecord{TimeUnixNano: ns, Body: object("log", text("ERROR x\n"))}, at + " ERROR [-] ERROR x"},
		"no line":      {&logs1.LogRecord{TimeUnixNano: ns, Body: object("a", text("ERROR x"))}, at + ` - [-] {"body":{"a":"ERROR x"}}`},
		"no text":      {&logs1.LogRecord{TimeUnixNano: ns, Body: object("log", tooDeep(1))}, at + ` - [-] {"body":{"log":["x"]}}`},
		"two members":  {&logs1.LogRecord{TimeUnixNano: ns, Body: object("log", text("ERROR x"), "a", text("b"))}, at + ` - [-] {"body":{"log":"ERROR x","a":"b"}}`},
		"attribute":    {&logs1.LogRecord{TimeUnixNano: ns, Body: text("2026-11-18T11:06:39Z ERROR x"), Attributes: []*common1.KeyValue{attribute("a", text("b"))}}, `2026-11-18T11:06:39Z ERROR [-] {"body":"2026-11-18T11:06:39Z ERROR x","attributes":{"a":"b"}}`},
		"nothing":      {&logs1.LogRecord{}, `2026-11-18T11:08:20Z - [-] {"body":null}`},
		"observed":     {&logs1.LogRecord{ObservedTimeUnixNano: ns}, at + ` - [-] {"body":null}`},
		"refused time": {&logs1.LogRecord{TimeUnixNano: 1}, `2026-11-18T11:08:20Z - [-] {"body":null,"refused_time":"1970-01-01T00:00:00.000000001Z"}`},
		"level by text": {
			&logs1.LogRecord{TimeUnixNano: ns, SeverityText: "WARNING", EventName: "e", DroppedAttributesCount: 3, TraceId: make([]byte, 16)},
			at + ` WARN [-] {"body":null,"severity":"WARNING","event_name":"e","dropped_attributes":3}`,
		},
		"values": {&logs1.LogRecord{TimeUnixNano: ns, Body: &common1.AnyValue{Value: &common1.AnyValue_KvlistValue{KvlistValue: &common1.KeyValueList{Values: []*common1.KeyValue{
			attribute("i", &common1.AnyValue{Value: &common1.AnyValue_IntValue{IntValue: -1 << 63}}),
			attribute("d", &common1.AnyValue{Value: &common1.AnyValue_DoubleValue{DoubleValue: 1e21}}),
			attribute("b", &common1.AnyValue{Value: &common1.AnyValue_BytesValue{BytesValue: []byte{255}}}),
			attribute("n", nil),
		}}}}}, at + ` - [-] {"body":{"i":-9223372036854775808,"d":1e+21,"b":"/w==","n":null}}`},
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
	address := serve(t, otlp.Options{Options: input.Options{Sink: s}, Limits: httpserver.Limits{MaxBody: 1 << 20}})
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

func TestPartialSuccess(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, otlp.Options{Options: input.Options{Sink: s}})
	r := request("a")
	r.ResourceLogs[0].ScopeLogs[0].LogRecords = append(r.ResourceLogs[0].ScopeLogs[0].LogRecords, &logs1.LogRecord{Body: tooDeep(100)})
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
	address := serve(t, otlp.Options{Options: input.Options{Sink: s}, Limits: httpserver.Limits{MaxBody: 1 << 20}})
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
	handler(f, otlp.Options{Options: input.Options{Sink: s}, Limits: httpserver.Limits{MaxBody: 1 << 16}, ServiceFromResource: true}).Register(mux)
	f.Fuzz(func(t *testing.T, body []byte, asJSON bool) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, otlp.Path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", map[bool]string{false: protobuf, true: jsonType}[asJSON])
		mux.ServeHTTP(inputtest.DiscardResponse{}, r)
		for _, l := range s.TakeLines() {
			// A record that has nothing but a text is that text, as sent; others are JSON.
			at := strings.Index(l, ` {"`) + 1
			if json.Valid([]byte(l[at:])) || asJSON {
				continue
			}
			if word := l[strings.LastIndexByte(l, ' ')+1:]; !bytes.Contains(body, []byte(word)) {
				t.Errorf("neither JSON nor as sent: %q", l)
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
	handler(b, otlp.Options{Options: input.Options{Sink: inputtest.Discard{}}}).Register(mux)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, otlp.Path, bytes.NewReader(body))
		r.Header.Set("Content-Type", protobuf)
		mux.ServeHTTP(inputtest.DiscardResponse{}, r)
	}
}
