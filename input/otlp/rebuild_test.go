package otlp_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	collector1 "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"
	common1 "go.opentelemetry.io/proto/slim/otlp/common/v1"
	logs1 "go.opentelemetry.io/proto/slim/otlp/logs/v1"
	resource1 "go.opentelemetry.io/proto/slim/otlp/resource/v1"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/internal/test/effort"
	"logstow/internal/test/inputtest"
	"logstow/internal/test/testrand"
	records "logstow/record"
	"logstow/record/attributes"
)

// drawer draws records.
type drawer struct{ *rand.Rand }

func pick[T any](d drawer, of ...T) T { return of[d.IntN(len(of))] }

func (d drawer) word() string {
	var b strings.Builder
	for range d.IntN(6) {
		b.WriteString(pick(d, "a", "b", ".", "$", `"`, `\`, "\n", "\x00", "\x7f", "é", "😀", "/"))
	}
	return b.String()
}

func (d drawer) name() string {
	return pick(d, d.word(), d.word(), "trace_id", "flags", "severity_number", "timestamp", "resource", "attribute.scope", "attribute.x", "$bytes", "$$double", "$cut", "log",
		"scope_name", "body_kind", "resource_entity_refs")
}

func (d drawer) any(depth int) *common1.AnyValue {
	switch n := d.IntN(9); {
	case n == 0:
		return nil
	case n == 1:
		return &common1.AnyValue{Value: &common1.AnyValue_BoolValue{BoolValue: d.IntN(2) == 0}}
	case n == 2:
		return &common1.AnyValue{Value: &common1.AnyValue_IntValue{IntValue: int64(d.Uint64())}} //nolint:gosec // any number
	case n == 3:
		return &common1.AnyValue{Value: &common1.AnyValue_DoubleValue{DoubleValue: pick(d, 0, math.Copysign(0, -1), 3, 1e300, math.NaN(), math.Inf(-1), d.NormFloat64())}}
	case n == 4:
		return &common1.AnyValue{Value: &common1.AnyValue_BytesValue{BytesValue: []byte(d.word())}}
	case n == 5 && depth > 0:
		list := new(common1.ArrayValue)
		for range d.IntN(4) {
			if v := d.any(depth - 1); v != nil {
				list.Values = append(list.Values, v)
			}
		}
		return &common1.AnyValue{Value: &common1.AnyValue_ArrayValue{ArrayValue: list}}
	case n == 6 && depth > 0:
		return &common1.AnyValue{Value: &common1.AnyValue_KvlistValue{KvlistValue: &common1.KeyValueList{Values: d.attributes(4, depth-1)}}}
	}
	return text(d.word())
}

func (d drawer) attributes(most, depth int) (all []*common1.KeyValue) {
	for range d.IntN(most) {
		all = append(all, attribute(d.name(), d.any(depth)))
	}
	all = sorted(all)
	return slices.CompactFunc(all, func(a, b *common1.KeyValue) bool { return a.GetKey() == b.GetKey() })
}

func sorted(all []*common1.KeyValue) []*common1.KeyValue {
	slices.SortStableFunc(all, func(a, b *common1.KeyValue) int { return cmp.Compare(a.GetKey(), b.GetKey()) })
	return all
}

func (d drawer) time() uint64 {
	const ns = 1795000000e9
	return pick(d, 0, 1, ns, ns, ns, ns+uint64(d.IntN(1e9)), 1<<62, 1<<63, d.Uint64())
}

func (d drawer) id(n int) []byte {
	if d.IntN(2) == 0 {
		return nil
	}
	id := make([]byte, 1+d.IntN(n))
	for i := range id {
		id[i] = byte(1 + d.IntN(255))
	}
	return id
}

func (d drawer) record() *logs1.LogRecord {
	body := d.any(3)
	if d.IntN(3) == 0 {
		body = text(pick(d, "2026-11-18T11:06:39.5Z ERROR x\n", "2026-11-18T11:06:40Z y", "2026-11-18T11:06:59Z WARN: z", "[INFO] a", `{"time":"1990-11-18T11:06:39Z","level":"debug"}`, "1789-01-01T00:00:00Z x",
			"13/04/2026 10:00:00 x", "04/05/2026 10:00:00 FATAL y", "<3>x"))
	}
	if d.IntN(8) == 0 {
		body = object(pick(d, "log", "message", "body", "msg"), body)
	}
	return &logs1.LogRecord{
		TimeUnixNano: d.time(), ObservedTimeUnixNano: d.time(),
		SeverityNumber: logs1.SeverityNumber(pick(d, 0, 1, 5, 9, 13, 17, 21, 24, d.IntN(30)-3)), //nolint:gosec // small
		SeverityText:   pick(d, "", "", "INFO", "ERROR", "warn", "Information", d.word()),
		Body:           body, Attributes: d.attributes(6, 3), DroppedAttributesCount: pick(d, 0, d.Uint32()), Flags: pick(d, 0, 1, d.Uint32()),
		TraceId: d.id(20), SpanId: d.id(8), EventName: pick(d, "", d.word()),
	}
}

func (d drawer) request() *collector1.ExportLogsServiceRequest {
	all := new(collector1.ExportLogsServiceRequest)
	for range 1 + d.IntN(3) {
		r := &logs1.ResourceLogs{SchemaUrl: d.word(), Resource: &resource1.Resource{Attributes: d.attributes(6, 3), DroppedAttributesCount: pick(d, 0, d.Uint32())}}
		if d.IntN(2) == 0 {
			r.Resource.Attributes = sorted(append(r.Resource.Attributes, attribute("host.name", text(pick(d, "a", "b")))))
		}
		for range d.IntN(8) - 5 {
			r.Resource.EntityRefs = append(r.Resource.EntityRefs, &common1.EntityRef{SchemaUrl: d.word(), Type: d.word(), IdKeys: []string{d.word(), d.word()}, DescriptionKeys: pick(d, nil, []string{d.word()})})
		}
		for range 1 + d.IntN(2) {
			s := &logs1.ScopeLogs{SchemaUrl: pick(d, "", d.word()), Scope: &common1.InstrumentationScope{
				Name: d.word(), Version: pick(d, "", d.word()), Attributes: d.attributes(5, 3), DroppedAttributesCount: pick(d, 0, d.Uint32()),
			}}
			for range 1 + d.IntN(4) {
				s.LogRecords = append(s.LogRecords, d.record())
			}
			r.ScopeLogs = append(r.ScopeLogs, s)
		}
		all.ResourceLogs = append(all.ResourceLogs, r)
	}
	return all
}

// rebuilder rebuilds what was sent from a stored record.
type rebuilder struct {
	t   *testing.T
	own map[string]any
}

// take returns an own attribute and removes it.
func (b *rebuilder) take(name string) any {
	v := b.own[name]
	delete(b.own, name)
	return v
}

func (b *rebuilder) text(name string) string {
	s, _ := b.take(name).(string)
	return s
}

// number returns a number, or otherwise if there is none.
func number[T int64 | uint64](b *rebuilder, name string, otherwise T) T {
	v, ok := b.take(name).(json.Number)
	if !ok {
		return otherwise
	}
	if strings.HasPrefix(v.String(), "-") {
		n, err := v.Int64()
		if err != nil {
			b.t.Fatal(err)
		}
		return T(n)
	}
	n, err := strconv.ParseUint(v.String(), 10, 64)
	if err != nil {
		b.t.Fatal(err)
	}
	return T(n) //nolint:gosec // as it was
}

func (b *rebuilder) id(name string) []byte {
	id, err := hex.DecodeString(b.text(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// sentName is the name of a member of a map or group.
func sentName(stored string) string {
	if bare := strings.TrimLeft(stored, "$"); len(stored)-len(bare) > 1 && slices.Contains([]string{"bytes", "double", "cut"}, bare) {
		return stored[1:]
	}
	return stored
}

// ownName is the name of an attribute of a record.
func ownName(stored string) string {
	bare := stored
	for strings.HasPrefix(bare, attributes.Prefix) {
		bare = bare[len(attributes.Prefix):]
	}
	if bare != stored && (attributes.IsGroup(bare) || slices.Contains([]string{"trace_id", "flags", "severity_number", "timestamp", "scope_name", "body_kind", "resource_entity_refs"}, bare)) {
		return stored[len(attributes.Prefix):]
	}
	return sentName(stored)
}

func (b *rebuilder) any(v any) *common1.AnyValue {
	switch v := v.(type) {
	case string:
		return text(v)
	case bool:
		return &common1.AnyValue{Value: &common1.AnyValue_BoolValue{BoolValue: v}}
	case json.Number:
		if !strings.ContainsAny(v.String(), ".e") {
			n, err := v.Int64()
			if err != nil {
				b.t.Fatal(err)
			}
			return &common1.AnyValue{Value: &common1.AnyValue_IntValue{IntValue: n}}
		}
		d, err := v.Float64()
		if err != nil {
			b.t.Fatal(err)
		}
		return &common1.AnyValue{Value: &common1.AnyValue_DoubleValue{DoubleValue: d}}
	case []any:
		list := new(common1.ArrayValue)
		for _, v := range v {
			list.Values = append(list.Values, b.any(v))
		}
		return &common1.AnyValue{Value: &common1.AnyValue_ArrayValue{ArrayValue: list}}
	case map[string]any:
		if s, ok := v["$bytes"].(string); ok {
			raw, err := base64.StdEncoding.DecodeString(s)
			if err != nil {
				b.t.Fatal(err)
			}
			return &common1.AnyValue{Value: &common1.AnyValue_BytesValue{BytesValue: raw}}
		}
		if s, ok := v["$double"].(string); ok {
			d, err := strconv.ParseFloat(s, 64)
			if err != nil {
				b.t.Fatal(err)
			}
			return &common1.AnyValue{Value: &common1.AnyValue_DoubleValue{DoubleValue: d}}
		}
		return &common1.AnyValue{Value: &common1.AnyValue_KvlistValue{KvlistValue: &common1.KeyValueList{Values: b.attributes(v, sentName)}}}
	}
	return nil
}

func (b *rebuilder) attributes(v any, name func(string) string) (all []*common1.KeyValue) {
	members, _ := v.(map[string]any)
	for stored, v := range members {
		all = append(all, attribute(name(stored), b.any(v)))
	}
	return sorted(all)
}

func (b *rebuilder) decode(text []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		b.t.Fatalf("%q: %v", text, err)
	}
	return v
}

func (b *rebuilder) body(message []byte) *common1.AnyValue {
	if name := b.text("body_member"); name != "" {
		return object(name, text(string(message)))
	}
	switch b.text("body_kind") {
	case "":
		return text(string(message))
	case "empty":
		return nil
	}
	return b.any(b.decode(message))
}

// rebuild returns the request that has only one record.
func rebuild(t *testing.T, of *inputtest.Record) *collector1.ExportLogsServiceRequest {
	t.Helper()
	b := &rebuilder{t, map[string]any{}}
	if len(of.Attributes) > 0 {
		b.own = b.decode(of.Attributes).(map[string]any)
	}
	stored := uint64(of.Time) //nolint:gosec // not negative
	if refused := b.text("refused_time"); refused != "" {
		at, err := time.Parse(time.RFC3339Nano, refused)
		if err != nil {
			t.Fatal(err)
		}
		stored = uint64(at.UnixNano()) //nolint:gosec // not negative
	}
	r := &logs1.LogRecord{
		TimeUnixNano: number(b, "timestamp", stored), Body: b.body(of.Message), TraceId: b.id("trace_id"), SpanId: b.id("span_id"), EventName: b.text("event_name"),
		Flags: uint32(number[uint64](b, "flags", 0)), DroppedAttributesCount: uint32(number[uint64](b, "dropped_attributes_count", 0)), //nolint:gosec // as it was
	}
	observed := uint64(0)
	if r.GetTimeUnixNano() == 0 {
		observed = stored
	}
	r.ObservedTimeUnixNano = number(b, "observed_timestamp", observed)
	first := int64(0)
	if of.Level != records.None {
		first = 4*int64(of.Level) - 3
	}
	r.SeverityNumber = logs1.SeverityNumber(number(b, "severity_number", first)) //nolint:gosec // as it was
	if level := records.LevelFromOTel(int(r.GetSeverityNumber())); level != records.None {
		r.SeverityText = level.String()
	}
	if s, ok := b.take("severity_text").(string); ok {
		r.SeverityText = s
	}
	resource := &resource1.Resource{Attributes: b.attributes(b.take("resource"), sentName), DroppedAttributesCount: uint32(number[uint64](b, "resource_dropped_attributes_count", 0))} //nolint:gosec // as it was
	if refs, ok := b.take("resource_entity_refs").([]any); ok {
		for _, v := range refs {
			text, _ := json.Marshal(v)
			ref := new(struct {
				Description []string `json:"description_keys"`
				ID          []string `json:"id_keys"`
				Schema      string   `json:"schema_url"`
				Type        string   `json:"type"`
			})
			if err := json.Unmarshal(text, ref); err != nil {
				t.Fatal(err)
			}
			resource.EntityRefs = append(resource.EntityRefs, &common1.EntityRef{SchemaUrl: ref.Schema, Type: ref.Type, IdKeys: ref.ID, DescriptionKeys: ref.Description})
		}
	}
	scope := &common1.InstrumentationScope{
		Name: b.text("scope_name"), Version: b.text("scope_version"), Attributes: b.attributes(b.take("scope"), sentName),
		DroppedAttributesCount: uint32(number[uint64](b, "scope_dropped_attributes_count", 0)), //nolint:gosec // as it was
	}
	rebuilt := single(resource, b.text("resource_schema_url"), scope, b.text("scope_schema_url"), r)
	r.Attributes = b.attributes(b.own, ownName) // what is left
	return rebuilt
}

func single(resource *resource1.Resource, schema string, scope *common1.InstrumentationScope, scopeSchema string, r *logs1.LogRecord) *collector1.ExportLogsServiceRequest {
	return &collector1.ExportLogsServiceRequest{ResourceLogs: []*logs1.ResourceLogs{{
		Resource: resource, SchemaUrl: schema, ScopeLogs: []*logs1.ScopeLogs{{Scope: scope, SchemaUrl: scopeSchema, LogRecords: []*logs1.LogRecord{r}}},
	}}}
}

// Every record can be rebuilt from what is stored of it.
func TestRebuild(t *testing.T) {
	t.Parallel()
	d := drawer{testrand.New(t)}
	s := inputtest.NewSink()
	for _, from := range []input.TimeFrom{input.TimeAuto, input.TimeLine, input.TimeProtocol} {
		address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s, TimeFrom: from}})
		for range (effort.Cases{Test: 200, Full: 700}).N() {
			request := d.request()
			if got := post(t, address, protobuf, "", marshal(t, request)); got != (inputtest.Response{Status: 200}) {
				t.Fatal(got)
			}
			stored := s.Take()
			i := 0
			for _, r := range request.GetResourceLogs() {
				for _, sc := range r.GetScopeLogs() {
					for _, l := range sc.GetLogRecords() {
						want := single(r.GetResource(), r.GetSchemaUrl(), sc.GetScope(), sc.GetSchemaUrl(), l)
						if got := rebuild(t, &stored[i]); !proto.Equal(got, want) {
							t.Fatalf("%s\nwas rebuilt as\n%s\nof\n%s", prototext.Format(want), prototext.Format(got), stored[i])
						}
						if len(stored[i].Attributes) > 0 && !attributes.Valid(stored[i].Attributes) {
							t.Fatalf("not valid: %s", stored[i])
						}
						i++
					}
				}
			}
			if i != len(stored) {
				t.Fatalf("%d records, want %d", len(stored), i)
			}
		}
	}
}

// Whatever keys and values are sent, something valid is stored, and what was cut is counted.
func TestHostileAttributes(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}})
	var many, names []*common1.KeyValue
	for i := range 10_000 {
		many = append(many, attribute(fmt.Sprintf("a%d", i), text("v")))
	}
	for i := range 128 {
		names = append(names, attribute(fmt.Sprint(i)+strings.Repeat("\x01", 1000), text("v")))
	}
	long := strings.Repeat("é", 1<<19)
	invalid := strings.Repeat("x", 100) + "ÿ"
	for name, c := range map[string]struct {
		own, resource []*common1.KeyValue
		cut           int64
	}{
		"empty":         {[]*common1.KeyValue{attribute("", text("v"))}, nil, 0},
		"long name":     {[]*common1.KeyValue{attribute(strings.Repeat("n", 1<<20), text("v"))}, nil, 1},
		"quotes":        {[]*common1.KeyValue{attribute("\"\\\x00\x1f\x7f\n", text("\"\\\x00\x1f\x7f\n"))}, nil, 0},
		"reserved":      {[]*common1.KeyValue{attribute("resource", text("v")), attribute("trace_id", nil), attribute("$cut", nil), attribute("attribute.flags", nil)}, nil, 0},
		"many":          {many, nil, 10_000 + 1 - attributes.MaxCount},
		"many resource": {nil, many, 10_000 - attributes.MaxCount},
		"long":          {[]*common1.KeyValue{attribute("a", text(long)), attribute("b", text(long))}, nil, 2},
		"long resource": {nil, []*common1.KeyValue{attribute("a", text(long))}, 1},
		"long in map":   {[]*common1.KeyValue{attribute("a", object("a", text(long))), attribute("b", text("kept"))}, nil, 1},
		"long names":    {names, nil, 118},
		"twice":         {[]*common1.KeyValue{attribute("a", nil), attribute("a", text("b"))}, []*common1.KeyValue{attribute("a", object("a", nil, "a", nil)), attribute("a", nil)}, 3},
		"invalid":       {[]*common1.KeyValue{attribute(invalid, text(invalid)), attribute("ÿ", text("ÿ"))}, nil, 2},
		"deepest":       {[]*common1.KeyValue{attribute("a", tooDeep(attributes.MaxDepth))}, []*common1.KeyValue{attribute("a", tooDeep(attributes.MaxDepth))}, 0},
	} {
		r := record(&logs1.LogRecord{TimeUnixNano: 1795000000e9, Body: text("m"), Attributes: c.own, TraceId: []byte{1}})
		r.ResourceLogs[0].Resource = &resource1.Resource{Attributes: c.resource}
		body := bytes.ReplaceAll(marshal(t, r), []byte("ÿ"), []byte("\xff\xfe"))
		if got := post(t, address, protobuf, "", body); got != (inputtest.Response{Status: 200}) {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		stored := s.Take()
		if len(stored) != 1 || string(stored[0].Message) != "m" || !attributes.Valid(stored[0].Attributes) || !bytes.Contains(stored[0].Attributes, []byte(`"trace_id":"01"`)) {
			t.Errorf("%s: %.300s", name, stored)
			continue
		}
		b := &rebuilder{t, nil}
		b.own = b.decode(stored[0].Attributes).(map[string]any)
		if cut := number[int64](b, attributes.Cut, 0); cut != c.cut {
			t.Errorf("%s: %d cut, want %d: %.300s", name, cut, c.cut, stored[0])
		}
	}
	// What is nested deeper is rejected, also if only its last level is written as an object.
	raw := &common1.AnyValue{Value: &common1.AnyValue_BytesValue{BytesValue: []byte("x")}}
	for range attributes.MaxDepth {
		raw = &common1.AnyValue{Value: &common1.AnyValue_ArrayValue{ArrayValue: &common1.ArrayValue{Values: []*common1.AnyValue{raw}}}}
	}
	for _, v := range []*common1.AnyValue{tooDeep(attributes.MaxDepth + 1), raw} {
		r := record(&logs1.LogRecord{Body: text("m"), Attributes: []*common1.KeyValue{attribute("a", v)}})
		if got := post(t, address, protobuf, "", marshal(t, r)); got.Status != 200 || !strings.Contains(got.Body, "nested") || len(s.Take()) != 0 {
			t.Errorf("too deep: %+v", got)
		}
	}
}
