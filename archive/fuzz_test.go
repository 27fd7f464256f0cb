package archive

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"logstow/internal/jsonlines"
	"logstow/layout"
	"logstow/record"
	"logstow/record/attributes"
)

// Whatever a line is, its records have valid attributes and a message that a segment can have, and a line that is no object has none.
func FuzzEvents(f *testing.F) {
	f.Add([]byte(`{"time":"2026-11-27T15:00:00.1234567Z","resourceId":"/A/B","level":4,"properties":"{\"log\":\"[1,{\\\"a\\\":2}]\"}"}`))
	f.Add([]byte(`{"time":"2026-11-27T15:00:00Z","flowRecords":{"flows":[{"aclID":"a","flowGroups":[{"rule":"r","flowTuples":["1795791600000,10.0.0.6,192.0.2.180,23956,443,6,O,B,NX,0,0,0,0",","]}]}]}}`))
	f.Add([]byte(`{"time":"x","properties":{"Version":1,"flows":[{"rule":"r","flows":[{"mac":"m","flowTuples":["1542110377,10.0.0.4,13.67.143.118,44931,443,T,O,A"]}]}]}}`))
	f.Add([]byte(`{"@timestamp":1795791600.5,"log":"line\n","stream":"stdout","kubernetes":{"pod_name":"p","namespace_name":"n","labels":{"a":1,"a":2}}}`))
	f.Add([]byte(`{"time":"05/28/2025 01:15:14","properties":{'a':'it can\'t, "x"','b':1,'c':["d"]}}`))
	f.Add([]byte(`{"message":"\ud800","timestamp":"2026-11-27 15:00:00","resource":{},"":null}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		object := bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) && json.Valid(line)
		for name, events := range decoders() {
			all, ok := events(bytes.Clone(line))
			_, quoted := requoted(line)
			if ok && !object && (name != layout.Resource || !quoted) {
				t.Fatalf("%d of %q: %d records of what is no object", name, line, len(all))
			}
			for _, e := range all {
				if len(e.Attributes) > 0 && !attributes.Valid(e.Attributes) {
					t.Fatalf("%d of %q: attributes %q", name, line, e.Attributes)
				}
				if (name == layout.Resource || name == layout.Flow) && !json.Valid(e.Message) {
					t.Fatalf("%d of %q: message %q", name, line, e.Message)
				}
				r := record.Record{Time: e.Time, Level: e.Level, Source: record.CleanSource(e.Source), Attributes: e.Attributes, Message: e.Message}
				if _, rest, err := record.Next(record.AppendText(nil, r)); err != nil || len(rest) > 0 {
					t.Fatalf("%d of %q: a record that cannot be read: %v", name, line, err)
				}
			}
		}
	})
}

// Elements of an array in an object are those of the array.
func FuzzRecords(f *testing.F) {
	f.Add(`[{"a":1},{"b":[{}]}]`, " \n")
	f.Add(`[]`, "")
	f.Add(`[{"a":"]}"}`, "\t")
	f.Fuzz(func(t *testing.T, array, blank string) {
		if strings.Trim(blank, " \t\r\n") != "" || len(blank) > 100 || !strings.HasPrefix(array, "[") || !json.Valid([]byte(array)) {
			return
		}
		var all []json.RawMessage
		if json.Unmarshal([]byte(array), &all) != nil {
			return
		}
		for _, one := range all {
			if one[0] != '{' {
				return
			}
		}
		var got bytes.Buffer
		text := blank + "{" + blank + `"records"` + blank + ":" + blank + array + blank + "}" + blank
		if _, err := got.ReadFrom(jsonlines.Records(strings.NewReader(text))); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(got.String(), "\n"), "\n")
		if len(all) == 0 && got.Len() == 0 {
			return
		}
		if len(lines) != len(all) {
			t.Fatalf("%q has %d lines, want %d: %q", text, len(lines), len(all), got.String())
		}
		for i := range lines {
			var a, b any
			if json.Unmarshal([]byte(lines[i]), &a) != nil || json.Unmarshal(all[i], &b) != nil {
				t.Fatalf("line %d of %q is %q", i, text, lines[i])
			}
		}
	})
}
