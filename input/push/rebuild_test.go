package push_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/input/push"
	"logstow/internal/test/inputtest"
	"logstow/internal/test/testrand"
	"logstow/record/attributes"
)

// sent is an entry with the labels of its stream.
type sent struct {
	labels, metadata map[string]string
	nanos            int64
	line             string
}

// String tells all of an entry.
func (s sent) String() string {
	return fmt.Sprintf("%q %q %d %q", s.labels, s.metadata, s.nanos, s.line)
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func word(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteString(pick(r, "a", "B", ".", "$", `"`, `\`, "\n", "\x00", "\x7f", "é", "😀", "/"))
	}
	return b.String()
}

func draw(r *rand.Rand, names ...string) map[string]string {
	all := map[string]string{}
	for range r.IntN(5) {
		all[pick(r, names...)] = pick(r, word(r), "cart", "Cart", "web", "info", "ERROR", "unknown_service", "x")
	}
	return all
}

func drawEntry(r *rand.Rand, labels map[string]string) sent {
	return sent{
		labels: labels, metadata: draw(r, "trace_id", "timestamp", "refused_time", "stream", "attribute.stream", "resource", "$cut", "$$bytes", "level", "app", "x"),
		nanos: pick(r, 0, 1, -5, 1795000000e9, 1795000000e9+int64(r.IntN(1e9)), math.MaxInt64/2),
		line:  pick(r, word(r), "2026-11-18T11:06:39.5Z ERROR x\n", "2026-11-18T11:06:59Z WARN: z", "[INFO] a", "13/04/2026 10:00:00 x", "04/05/2026 10:00:00 y"),
	}
}

// texts returns the strings of a JSON object, with those that are bytes.
func texts(t *testing.T, object any, name func(string) string) map[string]string {
	t.Helper()
	all := map[string]string{}
	members, _ := object.(map[string]any)
	for stored, v := range members {
		if raw, ok := v.(map[string]any); ok {
			b, err := base64.StdEncoding.DecodeString(raw["$bytes"].(string))
			if err != nil {
				t.Fatal(err)
			}
			v = string(b)
		}
		all[name(stored)] = v.(string)
	}
	return all
}

func labelName(stored string) string {
	if bare := strings.TrimLeft(stored, "$"); len(stored)-len(bare) > 1 && slices.Contains([]string{"bytes", "double", "cut"}, bare) {
		return stored[1:]
	}
	return stored
}

func metadataName(stored string) string {
	bare := stored
	for strings.HasPrefix(bare, attributes.Prefix) {
		bare = bare[len(attributes.Prefix):]
	}
	if bare != stored && (attributes.IsGroup(bare) || bare == "timestamp" || bare == "refused_time") {
		return stored[len(attributes.Prefix):]
	}
	return labelName(stored)
}

// rebuild rebuilds an entry from a record.
func rebuild(t *testing.T, of *inputtest.Record, configured bool) sent {
	t.Helper()
	s := sent{nanos: of.Time, line: string(of.Message)}
	own := map[string]any{}
	if len(of.Attributes) > 0 {
		d := json.NewDecoder(strings.NewReader(string(of.Attributes)))
		d.UseNumber()
		if err := d.Decode(&own); err != nil || !attributes.Valid(of.Attributes) {
			t.Fatalf("%s: %v", of, err)
		}
	}
	s.labels = texts(t, own["stream"], labelName)
	if refused, ok := own["refused_time"].(string); ok {
		at, err := time.Parse(time.RFC3339Nano, refused)
		if err != nil {
			t.Fatal(err)
		}
		s.nanos = at.UnixNano()
	} else if n, ok := own["timestamp"].(json.Number); ok {
		s.nanos, _ = n.Int64()
	}
	for _, name := range []string{"stream", "timestamp", "refused_time"} {
		delete(own, name)
	}
	s.metadata = texts(t, own, metadataName)
	named := input.CleanService(s.labels["service"]) == of.Service || input.CleanService(s.labels["app"]) == of.Service
	if _, ok := s.labels["service_name"]; !ok && !named && !configured && of.Service != "web" {
		s.labels["service_name"] = of.Service
	}
	return s
}

func statusOf(t *testing.T, mux *http.ServeMux, header http.Header, body []byte) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, push.Path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w.Code
}

// Every entry can be rebuilt from what is stored of it.
func TestRebuild(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	s := inputtest.NewSink()
	for i := range 2400 {
		opts := httpserver.IntakeOptions{Options: input.Options{Sink: s, TimeFrom: pick(r, input.TimeAuto, input.TimeLine, input.TimeProtocol)}, ConfiguredService: i%5 == 0}
		opts.MaxServices = 1 + r.IntN(2)
		mux := http.NewServeMux()
		handler(t, opts).Register(mux)
		header, body, want := asProtobuf, []byte(nil), []string(nil)
		var inProtobuf [][]byte
		var inJSON []any
		for range 1 + r.IntN(3) {
			labels := draw(r, "service_name", "service", "app", "level", "detected_level", "pod", "container", "host", "$cut", "stream", "a.b")
			var pairs []string
			var entries [][]byte
			var values []any
			for name, value := range labels {
				pairs = append(pairs, name+"="+strconv.Quote(value))
			}
			for range 1 + r.IntN(3) {
				e := drawEntry(r, labels)
				var metadata []string
				for name, value := range e.metadata {
					metadata = append(metadata, name, value)
				}
				entries = append(entries, entry(uint64(e.nanos/1e9), uint64(e.nanos%1e9), e.line, metadata...)) //nolint:gosec // as protobuf encodes them
				values = append(values, []any{fmt.Sprint(e.nanos), e.line, e.metadata})
				want = append(want, e.String())
			}
			inProtobuf = append(inProtobuf, stream("{"+strings.Join(pairs, ",")+"}", entries...))
			inJSON = append(inJSON, map[string]any{"stream": labels, "values": values})
		}
		if body = request(inProtobuf...); i%2 == 0 {
			header = asJSON
			body, _ = json.Marshal(map[string]any{"streams": inJSON})
		}
		if got := statusOf(t, mux, header, body); got != http.StatusNoContent {
			t.Fatalf("%d: %q", got, want)
		}
		var got []string
		stored := s.Take()
		for i := range stored {
			got = append(got, rebuild(t, &stored[i], opts.ConfiguredService).String())
		}
		slices.Sort(got) // the services are stored one after another
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%s\nwere rebuilt as\n%s\nof\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"), stored)
		}
	}
}

// Whatever labels and metadata are sent, something valid is stored, and what was cut is counted.
func TestHostileLabels(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}}, httpserver.Options{})
	many := map[string]string{}
	var list []string
	for i := range 10_000 {
		many[fmt.Sprint("a", i)] = "v"
	}
	for _, name := range slices.Sorted(maps.Keys(many)) {
		list = append(list, name+`="v"`)
	}
	long := strings.Repeat("é", 1<<19)
	for name, c := range map[string]struct {
		labels   string
		metadata []string
		cut      string
	}{
		"many":        {"{" + strings.Join(list, ",") + "}", nil, `"$cut":9872,`},
		"long":        {`{a="` + long + `"}`, []string{"b", long}, `"$cut":2,`},
		"long names":  {`{` + strings.Repeat("n", 1<<20) + `="v"}`, []string{strings.Repeat("n", 1<<20), "v"}, `"$cut":2,`},
		"odd names":   {`{a="b"}`, []string{"", "v", "\xff", "v", "\"\\\x00", "v"}, `"$cut":2,`},
		"twice":       {`{a="b",a="c"}`, []string{"a", "d", "a", "e"}, `"$cut":2,`},
		"odd strings": {"{a=\"\\xff\"}", []string{"b", "\xff"}, `{"$bytes":"/w=="}`},
	} {
		if got := post(t, address, asProtobuf, request(stream(c.labels, entry(1795000000, 0, "m", c.metadata...)))); got.Status != http.StatusNoContent {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		stored := s.Take()
		if len(stored) != 1 || string(stored[0].Message) != "m" || !attributes.Valid(stored[0].Attributes) || !strings.Contains(string(stored[0].Attributes), c.cut) {
			t.Errorf("%s: %.300s", name, stored)
		}
	}
}
