package archive

import (
	"testing"
	"time"

	"logstow/record"
)

// Records of Azure Monitor have their time, level and source, and properties that are JSON.
func TestResourceEvents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line, time, source, message string
		level                       record.Level
	}{
		{
			`{"time": "05/06/2025 01:15:14","properties": "{'appName':'fn','message':'it can\\'t, \"x\" won't be \\\\n 1','levelId':2,'ok':true}","level": "Informational","resourceId": "/A/SITES/FN"}`,
			"2025-05-06T01:15:14Z", "sites/fn", `{"time":"05/06/2025 01:15:14","properties":{"appName":"fn","message":"it can't, \"x\" won't be \\n 1","levelId":2,"ok":true},"level":"Informational","resourceId":"/A/SITES/FN"}`, record.Info,
		},
		{
			`{"time":"2025-05-06T01:15:14.1234567Z","level":"Error","properties": {'appName':'fn','message':''},"resourceId":"/A/B"}`,
			"2025-05-06T01:15:14.1234567Z", "a/b", `{"time":"2025-05-06T01:15:14.1234567Z","level":"Error","properties":{"appName":"fn","message":""},"resourceId":"/A/B"}`, record.Error,
		},
		{`{"time":"1/2/2025 3:04:05 PM","properties":"{'a':'b"}`, "2025-01-02T15:04:05Z", "", `{"time":"1/2/2025 3:04:05 PM","properties":"{'a':'b"}`, record.None},
		{`{"TimeGenerated":"2025-05-06T01:15:14","SeverityLevel":3}`, "2025-05-06T01:15:14Z", "", `{"TimeGenerated":"2025-05-06T01:15:14","SeverityLevel":3}`, record.Error},
		{`{"TimeGenerated":"2025-05-06T01:15:14Z","SeverityLevel":"0"}`, "2025-05-06T01:15:14Z", "", `{"TimeGenerated":"2025-05-06T01:15:14Z","SeverityLevel":"0"}`, record.Trace},
		{`{"TimeGenerated":"2025-05-06T01:15:14Z","SeverityLevel":"err"}`, "2025-05-06T01:15:14Z", "", `{"TimeGenerated":"2025-05-06T01:15:14Z","SeverityLevel":"err"}`, record.Error},
		{`{"time":"2025-05-06T01:15:14Z","level":"RequestResponse"}`, "2025-05-06T01:15:14Z", "", `{"time":"2025-05-06T01:15:14Z","level":"RequestResponse"}`, record.None},
		{`{"time":"2025-05-06T01:15:14Z","Level":"3"}`, "2025-05-06T01:15:14Z", "", `{"time":"2025-05-06T01:15:14Z","Level":"3"}`, record.Warn},
		{`{"time":"2025-05-06T01:15:14Z","level":5}`, "2025-05-06T01:15:14Z", "", `{"time":"2025-05-06T01:15:14Z","level":5}`, record.Trace},
	} {
		all, ok := resourceEvents([]byte(tt.line))
		if !ok || len(all) != 1 {
			t.Errorf("%s: %d records, %v", tt.line, len(all), ok)
			continue
		}
		e := all[0]
		if at := time.Unix(0, e.Time).UTC().Format(time.RFC3339Nano); at != tt.time || e.Level != tt.level || e.Source != tt.source || string(e.Message) != tt.message {
			t.Errorf("%s: %s %s %s\n%s\nwant %s %s %s\n%s", tt.line, at, e.Level, e.Source, e.Message, tt.time, tt.level, tt.source, tt.message)
		}
	}
	for _, line := range []string{`{'a':'b'`, `{'a':b}`, `{"a":{'b':'c}}`, `['a']`, `{'a'}`} {
		if all, ok := resourceEvents([]byte(line)); ok {
			t.Errorf("%s is %d records", line, len(all))
		}
	}
}

// A line of Fluent Bit or Vector without a level has that of its object.
func TestAgentLevel(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]record.Level{
		`{"message":"failed","level":"error","timestamp":"2026-11-27T15:00:00Z"}`: record.Error, `{"log":"x","severity":"WARNING"}`: record.Warn,
		`{"log":"x","level":30}`: record.None, `{"log":"x"}`: record.None,
	} {
		all, ok := vectorEvents([]byte(line))
		if !ok || len(all) != 1 || all[0].Level != record.None || all[0].Fallback != want {
			t.Errorf("%s: %+v, %v, want %s", line, all, ok, want)
		}
	}
}

// Of a tuple in an unknown format the text is kept.
func TestUnknownTuple(t *testing.T) {
	t.Parallel()
	all, ok := flowEvents([]byte(`{"time":"2026-11-27T15:01:00Z","targetResourceID":"/a/b","flowRecords":{"flows":[{"flowGroups":[{"rule":"r","flowTuples":["bad","x,10.0.0.1","1795791660000,10.0.0.1"]}]}]}}`))
	got := ""
	for _, e := range all {
		got += string(e.Message) + "\n"
	}
	if want := `{"tuple":"bad","rule":"r"}` + "\n" + `{"tuple":"x,10.0.0.1","srcIp":"10.0.0.1","rule":"r"}` + "\n" + `{"srcIp":"10.0.0.1","rule":"r"}` + "\n"; !ok || got != want {
		t.Errorf("got %swant %s", got, want)
	}
}
