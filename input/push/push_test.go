package push_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/snappy"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protowire"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/input/push"
	"logstow/internal/test/inputtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func handler(t testing.TB, opts httpserver.IntakeOptions) *push.Handler {
	t.Helper()
	opts.Service, opts.Now = "web", inputtest.Now
	h, err := push.NewHandler(opts)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func serve(t testing.TB, opts httpserver.IntakeOptions, server httpserver.Options) (address string) {
	t.Helper()
	return inputtest.ServeHTTP(t, server, handler(t, opts))
}

func post(t testing.TB, address string, header http.Header, body []byte) inputtest.Response {
	t.Helper()
	got, _ := inputtest.Do(t, http.MethodPost, "http://"+address+push.Path, header, bytes.NewReader(body))
	return got
}

var (
	asJSON     = http.Header{"Content-Type": {"application/json; charset=utf-8"}}
	asProtobuf = http.Header{"Content-Type": {"application/x-protobuf"}}
)

// entry is an entry in protobuf.
func entry(seconds, nanos uint64, line string, metadata ...string) []byte {
	var when, b []byte
	when = protowire.AppendVarint(protowire.AppendTag(when, 1, protowire.VarintType), seconds)
	when = protowire.AppendVarint(protowire.AppendTag(when, 2, protowire.VarintType), nanos)
	b = protowire.AppendBytes(protowire.AppendTag(b, 1, protowire.BytesType), when)
	b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), line)
	for pair := range slices.Chunk(metadata, 2) {
		var m []byte
		m = protowire.AppendString(protowire.AppendTag(m, 1, protowire.BytesType), pair[0])
		m = protowire.AppendString(protowire.AppendTag(m, 2, protowire.BytesType), pair[1])
		b = protowire.AppendBytes(protowire.AppendTag(b, 3, protowire.BytesType), m)
	}
	return b
}

// stream is a stream in protobuf.
func stream(labels string, entries ...[]byte) []byte {
	var b []byte
	b = protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.VarintType), 17) // the hash
	for _, e := range entries {
		b = protowire.AppendBytes(protowire.AppendTag(b, 2, protowire.BytesType), e)
	}
	return protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), labels)
}

// request is a request in protobuf, compressed.
func request(streams ...[]byte) []byte {
	var b []byte
	for _, s := range streams {
		b = protowire.AppendBytes(protowire.AppendTag(b, 1, protowire.BytesType), s)
	}
	return snappy.Encode(nil, b)
}

// The payload of Grafana's documentation, and what its text describes.
func TestPush(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}}, httpserver.Options{})
	configured := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}, ConfiguredService: true}, httpserver.Options{})
	const at = "2026-11-18T11:06:40"
	grafana := `{"streams": [{"stream": {"foo": "bar2"}, "values": [["1795000000000000000", "fizzbuzz"]]}]}`
	for name, c := range map[string]struct {
		address string
		header  http.Header
		body    []byte
		want    []string
	}{
		"documented": {address, asJSON, []byte(grafana), []string{`web ` + at + `Z - [-] {"stream":{"foo":"bar2"}} fizzbuzz`}},
		"gzip": {
			address,
			http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}},
			inputtest.Gzip(t, grafana),
			[]string{`web ` + at + `Z - [-] {"stream":{"foo":"bar2"}} fizzbuzz`},
		},
		"structured metadata": {
			address, asJSON,
			[]byte(`{"streams":[{"stream":{"app":"Cart","z":"1","b":"a \"b\""},"values":[["1795000000000000001","a\nb\\ \u2713",{"user":"7","trace":"x"}],["1795000000000000002","c"]]}]}`),
			[]string{
				`cart ` + at + `.000000001Z - [-] {"stream":{"app":"Cart","b":"a \"b\"","z":"1"},"trace":"x","user":"7"} ` + "a\nb\\ ✓",
				`cart ` + at + `.000000002Z - [-] {"stream":{"app":"Cart","b":"a \"b\"","z":"1"}} c`,
			},
		},
		"protobuf": {
			address, asProtobuf,
			request(
				stream(`{b="2", a="1"}`, entry(1795000000, 5, "one\r"), entry(1795000000, 6, "two \xff", "k", "v", "detected_level", "warn")),
				stream("{ service=\"s1\" , level=`error`, app=\"x\",}", entry(1795000001, 0, "WARN three")),
				stream(`{}`, entry(1795000002, 0, "")),
			),
			[]string{
				`web ` + at + `.000000005Z - [-] {"stream":{"a":"1","b":"2"}} ` + "one\r",
				`web ` + at + `.000000006Z WARN [-] {"detected_level":"warn","k":"v","stream":{"a":"1","b":"2"}} ` + "two \xff",
				`web 2026-11-18T11:06:42Z - [-] `,
				`s1 2026-11-18T11:06:41Z ERROR [-] {"stream":{"app":"x","level":"error","service":"s1"}} WARN three`,
			},
		},
		"levels": {
			address, asJSON,
			[]byte(`{"streams":[{"stream":{"app":"cart","level":"warning","severity":"odd"},"values":[["1795000000000000000","a",{"level":"error"}],["1795000000000000000","b"]]},{"stream":{"app":"cart","severity":"fatal"},"values":[["1795000000000000000","c"]]}]}`),
			[]string{
				`cart ` + at + `Z ERROR [-] {"level":"error","stream":{"app":"cart","level":"warning","severity":"odd"}} a`,
				`cart ` + at + `Z WARN [-] {"stream":{"app":"cart","level":"warning","severity":"odd"}} b`,
				`cart ` + at + `Z FATAL [-] {"stream":{"app":"cart","severity":"fatal"}} c`,
			},
		},
		"sources": {
			address, asProtobuf,
			request(
				stream(`{job="j",host="h",pod="p",container="c"}`, entry(1795000000, 0, "x")), stream(`{job="j",host="h",container="c"}`, entry(1795000000, 0, "x")),
				stream(`{service_name="cart",job="j"}`, entry(1795000000, 0, "x")), stream(`{service_name="web"}`, entry(1795000000, 0, "x")),
			),
			[]string{
				`web ` + at + `Z - [p/c] {"stream":{"container":"c","host":"h","job":"j","pod":"p"}} x`, `web ` + at + `Z - [c] {"stream":{"container":"c","host":"h","job":"j"}} x`,
				`cart ` + at + `Z - [j] {"stream":{"job":"j"}} x`, `web ` + at + `Z - [-] {"stream":{"service_name":"web"}} x`,
			},
		},
		"times": {
			address, asProtobuf,
			request(stream(`{}`, entry(1795000000, 0, "2026-11-18T11:06:39Z x", "timestamp", "own"), entry(1795000000, 0, "2026-11-18T11:06:41Z x"), entry(1, 0, "x"))),
			[]string{
				`web 2026-11-18T11:06:39Z - [-] {"attribute.timestamp":"own","timestamp":1795000000000000000} 2026-11-18T11:06:39Z x`,
				`web ` + at + `Z - [-] 2026-11-18T11:06:41Z x`,
				`web 2026-11-18T11:08:20Z - [-] {"refused_time":"1970-01-01T00:00:01Z"} x`,
			},
		},
		"no content type":  {address, nil, request(stream(`{a="1"}`, entry(1795000000, 0, "x"))), []string{`web ` + at + `Z - [-] {"stream":{"a":"1"}} x`}},
		"content encoding": {address, http.Header{"Content-Type": {"application/x-protobuf"}, "Content-Encoding": {"snappy"}}, request(stream(`{a="1"}`, entry(1795000000, 0, "x"))), []string{`web ` + at + `Z - [-] {"stream":{"a":"1"}} x`}},
		"order of services": {
			address, asProtobuf, request(stream(`{app="a",service="b",service_name="c"}`, entry(1795000000, 0, "x")), stream(`{app="a",service_name="unknown_service"}`, entry(1795000000, 0, "y"))),
			[]string{`c ` + at + `Z - [-] {"stream":{"app":"a","service":"b"}} x`, `a ` + at + `Z - [-] {"stream":{"app":"a","service_name":"unknown_service"}} y`},
		},
		"configured service": {configured, asProtobuf, request(stream(`{app="a"}`, entry(1795000000, 0, "x"))), []string{`web ` + at + `Z - [-] {"stream":{"app":"a"}} x`}},
		"no time":            {address, asProtobuf, request(stream(`{}`, entry(0, 0, "2026-11-18T11:06:44Z x"))), []string{`web 2026-11-18T11:06:44Z - [-] {"timestamp":0} 2026-11-18T11:06:44Z x`}},
		"nothing":            {address, asJSON, []byte(`{"streams": []}`), nil},
		"empty protobuf":     {address, asProtobuf, request(), nil},
	} {
		if got := post(t, c.address, c.header, c.body); got.Status != http.StatusNoContent {
			t.Errorf("%s: %+v", name, got)
		}
		if diff := cmp.Diff(c.want, s.TakeLines()); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// Past the limit of services, records get the configured one, not that of a label that comes second, and keep their labels.
func TestMaxServices(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}, Limits: httpserver.Limits{MaxServices: 1}}, httpserver.Options{})
	body := request(stream(`{app="a"}`, entry(1795000000, 0, "x")), stream(`{service_name="b",app="a"}`, entry(1795000000, 0, "y")))
	if got := post(t, address, asProtobuf, body); got.Status != http.StatusNoContent {
		t.Errorf("%+v", got)
	}
	want := []string{`a 2026-11-18T11:06:40Z - [-] {"stream":{"app":"a"}} x`, `web 2026-11-18T11:06:40Z - [-] {"stream":{"app":"a","service_name":"b"}} y`}
	if diff := cmp.Diff(want, s.TakeLines()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Malformed entries are rejected with a reason, and the others of the request stored.
func TestRejectedEntries(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}}, httpserver.Options{})
	good := `{"stream":{"a":"1"},"values":[["1795000000000000000","good"]]}`
	kept := []string{`web 2026-11-18T11:06:40Z - [-] {"stream":{"a":"1"}} good`}
	for name, c := range map[string]struct {
		header http.Header
		body   []byte
		reason string
	}{
		"time":          {asJSON, []byte(`{"streams":[{"stream":{},"values":[["yesterday","x"]]},` + good + `]}`), `1 entries rejected, the others are stored: the timestamp "yesterday" is not a number of nanoseconds`},
		"line":          {asJSON, []byte(`{"streams":[{"stream":{},"values":[["1",2],["1"]]},` + good + `]}`), `2 entries rejected, the others are stored: the line "2" is not a string`},
		"entry":         {asJSON, []byte(`{"streams":[{"stream":{},"values":["x"]},` + good + `]}`), `the entry "\"x\"" is not an array`},
		"metadata":      {asJSON, []byte(`{"streams":[{"stream":{},"values":[["1","x",{"a":1}]]},` + good + `]}`), `the structured metadata "{\"a\":1}" is not an object of strings`},
		"values":        {asJSON, []byte(`{"streams":[{"labels":"{a=\"1\"}","entries":[{"line":"x"}]},` + good + `]}`), `1 entries rejected, the others are stored: the stream "{\"labels\":\"{a=\\\"1\\\"}\",\"entries\":[{\"line\":\"x\"}]}" has no array "values"`},
		"labels":        {asJSON, []byte(`{"streams":[{"stream":{"a":{}},"values":[["1","x"],["2","y"]]},` + good + `]}`), `2 entries rejected, the others are stored: the labels "{\"a\":{}}" are malformed: want an object of strings`},
		"labels text":   {asProtobuf, request(stream(`{a=1}`, entry(1, 0, "x")), stream(`{a="1"}`, entry(1795000000, 0, "good"))), `1 entries rejected, the others are stored: the labels "{a=1}" are malformed`},
		"unclosed":      {asProtobuf, request(stream(`{a="1"`, entry(1, 0, "x")), stream(`{a="1"}`, entry(1795000000, 0, "good"))), `the labels "{a=\"1\"" are malformed`},
		"protobuf time": {asProtobuf, request(stream(`{}`, entry(1<<62, 0, "x")), stream(`{a="1"}`, entry(1795000000, 0, "good"))), `the timestamp 4611686018427387904 s is out of range`},
	} {
		got := post(t, address, c.header, c.body)
		if got.Status != http.StatusBadRequest || !strings.Contains(got.Body, c.reason) {
			t.Errorf("%s: %+v, want %s", name, got, c.reason)
		}
		if diff := cmp.Diff(kept, s.TakeLines()); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// Of a request that is rejected as a whole nothing is stored.
func TestRejected(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}, Limits: httpserver.Limits{MaxBody: 1 << 20}}, httpserver.Options{})
	good := stream(`{a="1"}`, entry(1795000000, 0, "good"))
	with := func(kind, encoding string) http.Header {
		return http.Header{"Content-Type": {kind}, "Content-Encoding": {encoding}}
	}
	cut := request(good)[:20]
	lying := append(binary.AppendUvarint(nil, 1<<20), request(good)[1:]...)
	for name, c := range map[string]struct {
		header http.Header
		body   []byte
		status int
	}{
		"oversized":          {asJSON, bytes.Repeat([]byte(" "), 1<<20+1), 413},
		"oversized protobuf": {asProtobuf, request(stream(`{}`, entry(1, 0, strings.Repeat("x", 1<<20)))), 413},
		"huge length":        {asProtobuf, binary.AppendUvarint(nil, 1<<40), 400},
		"lying length":       {asProtobuf, lying, 400},
		"cut":                {asProtobuf, cut, 400},
		"no snappy":          {asProtobuf, []byte("\x0a\x00"), 400},
		"cut protobuf":       {asProtobuf, snappy.Encode(nil, protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.BytesType), 1<<30)), 400},
		"empty":              {asProtobuf, nil, 400},
		"no JSON":            {asJSON, []byte(`{"streams":[`), 400},
		"no streams":         {asJSON, []byte(`{}`), 400},
		"array":              {asJSON, []byte(`[]`), 400},
		"streams no array":   {asJSON, []byte(`{"streams":1}`), 400},
		"stream no object":   {asJSON, []byte(`{"streams":["x"]}`), 400},
		"values no array":    {asJSON, []byte(`{"streams":[{"stream":{},"values":{}}]}`), 400},
		"type":               {with("text/plain", ""), []byte("x"), 415},
		"encoding":           {with("application/json", "br"), []byte("x"), 415},
		"gzip":               {with("application/json", "gzip"), []byte("x"), 400},
	} {
		if got := post(t, address, c.header, c.body); got.Status != c.status || got.Body == "" {
			t.Errorf("%s: %+v, want %d", name, got, c.status)
		}
	}
	for _, err := range []error{input.ErrBusy, errors.New("the disk is gone")} {
		s.Fail("web", err)
		if got := post(t, address, asProtobuf, request(good)); got.Status != 503 || got.Retry != "5" {
			t.Errorf("%v: %+v", err, got)
		}
	}
	s.Fail("", nil)
	if got := s.TakeLines(); got != nil {
		t.Errorf("rejected, but stored: %q", got)
	}
}

// A repeated request is stored once: if it has a key, or if a part of it is not stored.
func TestRepeated(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}}, httpserver.Options{})
	body := request(stream(`{app="a"}`, entry(1795000000, 0, "x")), stream(`{app="b"}`, entry(1795000000, 0, "y")))
	both := []string{`a 2026-11-18T11:06:40Z - [-] {"stream":{"app":"a"}} x`, `b 2026-11-18T11:06:40Z - [-] {"stream":{"app":"b"}} y`}
	keyed := asProtobuf.Clone()
	keyed.Set(httpserver.KeyHeader, "1")
	for _, header := range []http.Header{asProtobuf, keyed} {
		s.Fail("b", input.ErrBusy)
		if got := post(t, address, header, body); got.Status != 503 {
			t.Errorf("%+v", got)
		}
		s.Fail("", nil)
		for range 2 {
			if got := post(t, address, header, body); got.Status != 204 {
				t.Errorf("%+v", got)
			}
		}
		want := both
		if header.Get(httpserver.KeyHeader) == "" {
			want = append(slices.Clone(both), both...) // the same request again is another one
		}
		if diff := cmp.Diff(want, s.TakeLines()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	if got := post(t, address, keyed, request(stream(`{}`, entry(1, 0, "z")))); got.Status != 422 || !strings.Contains(got.Body, "Idempotency-Key") {
		t.Errorf("%+v", got)
	}
}

// The readiness check of senders succeeds.
func TestReady(t *testing.T) {
	t.Parallel()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: inputtest.NewSink()}}, httpserver.Options{})
	if got, _ := inputtest.Do(t, http.MethodGet, "http://"+address+push.ReadyPath, nil, nil); got.Status != http.StatusOK {
		t.Errorf("%+v", got)
	}
}

func TestClientLibrary(t *testing.T) {
	t.Parallel()
	dir := inputtest.Modules(t, "senders-http", "winston-loki")
	const count = 500
	for _, kind := range []string{"json", "protobuf"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var want []string
			for i := range count {
				at := time.Unix(1795000000, 0).Add(time.Duration(i) * time.Millisecond).UTC().Format(time.RFC3339Nano)
				level, own := []string{"info", "error"}[i%2], ""
				if kind == "json" { // the library repeats the level in the metadata
					own = `"level":"` + level + `",`
				}
				want = append(want, fmt.Sprintf(`shop-cart %s %s [a] {%s"stream":{"env":"prod","host":"a","level":"%s","service_name":"Shop Cart"}} order %d "failed" \ ✓`+"\n  at line", at, strings.ToUpper(level), own, level, i))
			}
			slices.Sort(want)
			s := inputtest.NewSink()
			address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}}, httpserver.Options{Login: httpserver.Login{Users: map[string]string{"ann": "s3cret"}}})
			inputtest.Send(t, dir, kind, "http://"+address, count, "ann:s3cret")
			got := s.TakeLines()
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%.3000s", diff)
			}
		})
	}
}

// What is stored is what encoding/json or the encoder understands, and nothing is stored of garbage.
func FuzzPush(f *testing.F) {
	f.Add([]byte(`{"streams":[{"stream":{"a":"b"},"values":[["1795000000000000000","x\u2713",{"k":"v"}]]}]}`), true)
	f.Add([]byte(`{"streams":[{"stream":"{a=\"b\"}","values":[["1","x"]]},{"values":[]},null]}`), true)
	f.Add([]byte(`{"streams":null}`), true)
	f.Add([]byte(`{"streams":[{"stream":{"a":"\"\\"},"values":[["1","\\\""," "]]}]}`), true)
	f.Add(request(stream(`{a="b"}`, entry(1795000000, 0, "x", "k", "v"))), false)
	f.Add(request(stream("{a=`b`,c=\"d\\n\"}", entry(1<<63, 1<<63, ""))), false)
	s := inputtest.NewSink()
	h := handler(f, httpserver.IntakeOptions{Options: input.Options{Sink: s}, Limits: httpserver.Limits{MaxBody: 1 << 16}})
	mux := http.NewServeMux()
	h.Register(mux)
	f.Fuzz(func(t *testing.T, body []byte, isJSON bool) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, push.Path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = asProtobuf
		if isJSON {
			r.Header = asJSON
		}
		valid := json.Valid(body)
		mux.ServeHTTP(inputtest.DiscardResponse{}, r)
		if got := s.TakeLines(); isJSON && !valid && len(got) > 0 {
			t.Errorf("%q of no JSON", got)
		}
	})
}

func BenchmarkPush(b *testing.B) {
	h := handler(b, httpserver.IntakeOptions{Options: input.Options{Sink: inputtest.Discard{}}})
	mux := http.NewServeMux()
	h.Register(mux)
	line := `{"time":"2026-11-18T11:06:40.123Z","level":"info","msg":"request served","path":"/api/orders/12345","status":200,"ms":12}`
	var entries [][]byte
	var values []any
	for i := range 8000 {
		entries = append(entries, entry(1795000000, uint64(i), line))
		values = append(values, []string{fmt.Sprint(1795000000000000000 + i), line})
	}
	asText, err := json.Marshal(map[string]any{"streams": []any{map[string]any{"stream": map[string]string{"app": "a", "host": "b"}, "values": values}}})
	if err != nil {
		b.Fatal(err)
	}
	for name, c := range map[string]struct {
		header http.Header
		body   []byte
	}{
		"json":     {asJSON, asText},
		"protobuf": {asProtobuf, request(stream(`{app="a",host="b"}`, entries...))},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(8000 * len(line)))
			b.ReportAllocs()
			for b.Loop() {
				r, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, push.Path, bytes.NewReader(c.body))
				r.Header = c.header
				mux.ServeHTTP(inputtest.DiscardResponse{}, r)
			}
		})
	}
}
