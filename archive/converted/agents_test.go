package converted_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	logs "go.opentelemetry.io/proto/slim/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"logstow/internal/test/testrand"
	"logstow/layout"
)

// agentLine is an object of Fluent Bit or Vector.
func (w *world) agentLine(at time.Time, timeKey string) []byte {
	one := map[string]any{timeKey: at.Format("2006-01-02T15:04:05.999Z")}
	if w.rnd.IntN(4) == 0 {
		one["user"], one["status"] = "u"+strconv.Itoa(w.rnd.IntN(9)), 500
		return marshal(w.t, one)
	}
	key := "log"
	if timeKey == "timestamp" {
		key = "message"
	}
	one[key] = []string{"ERROR it failed\n", `{"level":"warn","n":1}`, "tab\tline", "two\nlines"}[w.rnd.IntN(4)]
	one["stream"] = "stdout"
	if w.rnd.IntN(2) == 0 {
		pod := "pod_name"
		one["kubernetes"] = map[string]any{pod: "shop-5d", "namespace_name": "prod", "container_name": "web", "labels": map[string]any{"app": "shop"}, "n": 1.5}
	}
	return marshal(w.t, one)
}

// readAgent reads a blob of Fluent Bit or Vector, unless its name has another time than the range.
func readAgent(t testing.TB, timeKey string, from, to time.Time, nameOf func(name string) (service, source string, at time.Time)) func(string, []byte) []row {
	return func(name string, body []byte) (all []row) {
		service, source, at := nameOf(name)
		if at.Before(from) || !at.Before(to) {
			return nil
		}
		found, others := objects(plain(body))
		for _, one := range found {
			r := row{Time: instant(one[timeKey]), Level: "-", Service: service, Source: source}
			if kube, ok := one["kubernetes"].(map[string]any); ok {
				r.Source = fmt.Sprintf("%s/%s/%s", kube["namespace_name"], kube["pod_name"], kube["container_name"])
			}
			text, ok := one["log"].(string)
			if !ok {
				text, ok = one["message"].(string)
			}
			if !ok {
				r.Message = string(marshal(t, one))
			} else {
				r.Message = canonical(strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n\t"))
				delete(one, "log")
				delete(one, "message")
				delete(one, timeKey)
				one["attribute.stream"] = one["stream"] // the name of a group of attributes
				delete(one, "stream")
				if len(one) > 0 {
					r.Attributes = string(marshal(t, one))
				}
			}
			switch {
			case strings.HasPrefix(r.Message, "ERROR"):
				r.Level = "ERROR"
			case strings.Contains(r.Message, `"warn"`):
				r.Level = "WARN"
			}
			all = append(all, r)
		}
		for _, text := range others {
			when, _, _ := strings.Cut(text, " ")
			all = append(all, row{Time: instant(when), Level: "INFO", Service: service, Source: source, Message: text})
		}
		return all
	}
}

// odd makes the text of a blob odd in one of some ways: empty, an array, with carriage returns, of gzip members, in zstd.
func (w *world) odd(i int, lines [][]byte) (text []byte, suffix string) {
	text = append(bytes.Join(lines, []byte("\n")), '\n')
	switch i % 7 {
	case 1:
		return nil, ""
	case 2:
		return append(append([]byte("[\n  "), bytes.Join(lines, []byte(",\n  "))...), "\n]\n"...), ""
	case 3:
		return append(bytes.Join(lines, []byte("\r\n")), "\r\n"...), ""
	case 4:
		half := len(lines[0]) + 1
		return gzipped(w.t, text[:half], text[half:]), ".gz"
	case 5:
		return zstandard(w.t, text), ".zst"
	}
	return text, ""
}

func TestFluentBit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	for i := range 40 {
		at := day().Add(time.Duration(i) * time.Hour)
		var lines [][]byte
		for range 1 + w.rnd.IntN(10) {
			lines = append(lines, w.agentLine(at.Add(-time.Duration(w.rnd.IntN(90))*time.Minute), "@timestamp"))
		}
		text, suffix := w.odd(i, lines)
		if i%2 == 0 {
			w.write(fmt.Sprintf("kube/app.t%d.x9Z%d.%d%s", i%3, i, at.UnixMilli(), suffix), at, text)
		} else {
			w.write(fmt.Sprintf("kube/app.append%d", i), at, text)
		}
	}
	w.write("kube/.hidden", day(), []byte("{}"))
	for _, hours := range [][2]int{{0, 60}, {10, 12}, {20, 21}} {
		from, to := day().Add(time.Duration(hours[0])*time.Hour), day().Add(time.Duration(hours[1])*time.Hour)
		w.check(parse(t, "fluent-bit", layout.Options{}), from, to, readAgent(t, "@timestamp", from, to.Add(time.Hour), func(name string) (service, source string, at time.Time) {
			parts := strings.Split(strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst"), ".")
			if ms, err := strconv.ParseInt(parts[len(parts)-1], 10, 64); err == nil {
				return "app." + parts[1], strings.Join(parts[:len(parts)-2], "."), time.UnixMilli(ms)
			}
			info, err := os.Stat(filepath.Join(w.dir, name))
			if err != nil {
				t.Fatal(err)
			}
			at = info.ModTime()
			if !at.Before(from) { // whatever it was written last, it may have begun before
				at = from
			}
			if strings.Contains(name, "hidden") {
				at = time.Time{}
			}
			return filepath.Base(name), name, at
		}), 0)
	}
	notes := w.ask(parse(t, "fluent-bit", layout.Options{}), day(), day().Add(time.Hour)).report.Notes
	if !strings.Contains(strings.Join(notes, "\n"), "without a time in the name") {
		t.Errorf("notes %q", notes)
	}
}

func TestVector(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	for i := range 40 {
		at := day().Add(time.Duration(i) * time.Hour)
		var lines [][]byte
		for range 1 + w.rnd.IntN(10) {
			event := at.Add(-time.Duration(w.rnd.IntN(90)) * time.Minute)
			if i%5 == 0 { // the codec text
				lines = append(lines, []byte(event.Format(time.RFC3339)+" INFO plain"))
			} else {
				lines = append(lines, w.agentLine(event, "timestamp"))
			}
		}
		text, suffix := w.odd(i, lines)
		if i%5 == 0 {
			text, suffix = append(bytes.Join(lines, []byte("\n")), '\n'), ""
		}
		w.write(at.Format("blob/2006-01-02/")+fmt.Sprintf("%d-5e2d0ff5-3b6f-4c0d-8d3b-%012d.log%s", at.Unix(), i, suffix), at, text)
	}
	from := day().Add(5 * time.Hour)
	to := from.Add(20 * time.Hour)
	w.check(parse(t, "vector", layout.Options{}), from, to, readAgent(t, "timestamp", from, to.Add(time.Hour), func(name string) (service, source string, at time.Time) {
		n, _ := strconv.ParseInt(strings.Split(filepath.Base(name), "-")[0], 10, 64)
		return "archive", name, time.Unix(n, 0)
	}), 0)
}

// text is a value of OTLP.
func text(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: s}}
}

// request is a request with some records of two services, and these records.
func (w *world) request(at time.Time, source string) (*collector.ExportLogsServiceRequest, []row) {
	request := &collector.ExportLogsServiceRequest{}
	var rows []row
	for _, service := range []string{"shop", "cart", ""} {
		of := &logs.ResourceLogs{Resource: &resource.Resource{}, ScopeLogs: []*logs.ScopeLogs{{}}}
		name := service
		if service != "" {
			of.Resource.Attributes = []*common.KeyValue{{Key: "service.name", Value: text(service)}}
		} else {
			name = "archive"
		}
		for range w.rnd.IntN(5) {
			event, id := at.Add(-time.Duration(w.rnd.IntN(5400))*time.Second), w.rnd.Uint64()
			trace := fmt.Sprintf("%032x", id)
			raw, _ := hex.DecodeString(trace)
			of.ScopeLogs[0].LogRecords = append(of.ScopeLogs[0].LogRecords, &logs.LogRecord{
				TimeUnixNano: uint64(event.UnixNano()), SeverityNumber: logs.SeverityNumber_SEVERITY_NUMBER_ERROR, SeverityText: "ERROR", Body: text("it failed\nhere"), TraceId: raw,
				Attributes: []*common.KeyValue{{Key: "n", Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: int64(id >> 20)}}}},
			})
			rows = append(rows, row{event.UnixNano(), "ERROR", name, source, fmt.Sprintf(`{"n":%d,"trace_id":"%s"}`, id>>20, trace), "it failed\n\there"})
		}
		request.ResourceLogs = append(request.ResourceLogs, of)
	}
	return request, rows
}

// asJSON is a request in OTLP's JSON, as the rows have it.
func asJSON(t testing.TB, request *collector.ExportLogsServiceRequest) []byte {
	var resources []any
	for _, r := range request.GetResourceLogs() {
		var records []any
		for _, l := range r.GetScopeLogs()[0].GetLogRecords() {
			records = append(records, map[string]any{
				"timeUnixNano": fmt.Sprint(l.GetTimeUnixNano()), "severityNumber": 17, "severityText": "ERROR", "body": map[string]any{"stringValue": l.GetBody().GetStringValue()},
				"traceId":    hex.EncodeToString(l.GetTraceId()),
				"attributes": []any{map[string]any{"key": "n", "value": map[string]any{"intValue": fmt.Sprint(l.GetAttributes()[0].GetValue().GetIntValue())}}},
			})
		}
		of := map[string]any{"scopeLogs": []any{map[string]any{"logRecords": records}}, "resource": map[string]any{}}
		for _, a := range r.GetResource().GetAttributes() {
			of["resource"] = map[string]any{"attributes": []any{map[string]any{"key": a.GetKey(), "value": map[string]any{"stringValue": a.GetValue().GetStringValue()}}}}
		}
		resources = append(resources, of)
	}
	return marshal(t, map[string]any{"resourceLogs": resources})
}

func TestOTel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	zone := time.FixedZone("", 2*3600)
	made := map[string][]row{}
	damaged := 0
	for i := range 40 {
		at := day().Add(time.Duration(i)*time.Hour + 7*time.Minute)
		name := at.In(zone).Format("2006/01/02/logs_15_04_05.json_") + strconv.Itoa(i)
		request, rows := w.request(at, name)
		var body []byte
		if i%2 == 0 {
			body = asJSON(t, request)
			if i%4 == 0 { // requests one after the other, as appended blobs have them
				more, moreRows := w.request(at, name)
				body, rows = append(append(body, '\n'), asJSON(t, more)...), append(rows, moreRows...)
			}
		} else {
			var err error
			if body, err = proto.Marshal(request); err != nil {
				t.Fatal(err)
			}
		}
		switch i % 9 {
		case 1:
			body, rows = nil, nil
		case 2:
			body = gzipped(t, body[:len(body)/2], body[len(body)/2:])
		case 3:
			body = zstandard(t, body)
		case 4: // what is complete before the damage is read
			body = append(body, "\n{\"resourceLogs\":["...)
			if i%2 == 1 {
				body = body[:len(body)-len("\n{\"resourceLogs\":[")]
				body = append(body, 0x0a, 0xff)
			}
			if at.After(day().Add(4*time.Hour)) && at.Before(day().Add(31*time.Hour)) {
				damaged++
			}
		}
		w.write(name, at, body)
		made[name] = rows
	}
	from, to := day().Add(4*time.Hour), day().Add(30*time.Hour)
	w.check(parse(t, "otel", layout.Options{Zone: zone}), from, to, func(name string, _ []byte) []row {
		at, err := time.ParseInLocation("2006/01/02/logs_15_04_05", strings.Split(name, ".json")[0], zone)
		if err != nil || at.Before(from) || !at.Before(to.Add(time.Hour)) {
			return nil
		}
		var all []row
		for _, r := range made[name] { // the reader of protobuf is the generator
			if service := r.Service; service != "archive" {
				r.Source = service
				r.Attributes = strings.Replace(r.Attributes, `,"trace_id"`, `,"resource":{"service.name":"`+service+`"},"trace_id"`, 1)
			}
			all = append(all, r)
		}
		return all
	}, damaged)
}

// $logs and patterns have lines.
func TestLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	w.opts.Container = "$logs"
	for h := range 40 {
		at := day().Add(time.Duration(h) * time.Hour)
		event := at.Add(time.Duration(w.rnd.IntN(3600)) * time.Second)
		w.write(at.Format("blob/2006/01/02/1500/000000.log"), at, fmt.Appendf(nil, "1.0;%s;GetBlob;AnonymousSuccess;200;17;16;anonymous\n", event.Format("2006-01-02T15:04:05.0000000Z")))
		w.write(at.Format("Shop/2006/01/02/15/")+fmt.Sprintf("x-%d.json.gz", h), at, gzipped(t, fmt.Appendf(nil, `{"time":"%s","level":"error","n":%d}`+"\r\n", event.Format(time.RFC3339), h)))
	}
	from, to := day().Add(7*time.Hour), day().Add(9*time.Hour)
	w.check(parse(t, "$logs", layout.Options{}), from, to, func(name string, body []byte) []row {
		fields := strings.Split(string(body), ";")
		if !strings.HasPrefix(name, "blob/") {
			return nil
		}
		return []row{{instant(fields[1]), "-", "blob", name, "", strings.TrimSuffix(string(body), "\n")}}
	}, 0)
	w.check(parse(t, "{service}/{yyyy}/{MM}/{dd}/{HH}/{*}.json.gz", layout.Options{}), from, to, func(name string, body []byte) []row {
		var one map[string]any
		if !strings.HasPrefix(name, "Shop/") || json.Unmarshal(plain(body), &one) != nil {
			return nil
		}
		return []row{{instant(one["time"]), "ERROR", "shop", name, "", canonical(string(plain(body)))}}
	}, 0)
}
