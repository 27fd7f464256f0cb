package archive

import (
	"logstow/input"
	"logstow/layout"
	"logstow/record"
)

// resourceEvents makes the record of an object of Azure Monitor, in which strings that are JSON become JSON.
// https://learn.microsoft.com/azure/azure-monitor/essentials/resource-logs-schema,
// https://learn.microsoft.com/azure/azure-monitor/logs/log-standard-columns
func resourceEvents(line []byte) ([]input.Event, bool) {
	all, ok := membersOf(line)
	if !ok {
		if line, ok = requoted(line); ok {
			all, ok = membersOf(line)
		}
	}
	if !ok || len(all) == 0 {
		return nil, false
	}
	when, _ := first(all, "time", "timeStamp", "TimeGenerated", "eventTimestamp")
	e := input.Event{Time: timeOf(when), Message: expand(nil, trimmed(line), 0)}
	for _, name := range []string{"level", "severity", "logLevel"} {
		if value, i := first(all, name); i >= 0 && e.Level == record.None {
			e.Level = levelOf(value) // "Metadata" of audit logs is none
		}
	}
	if value, i := first(all, "severityLevel"); i >= 0 && e.Level == record.None {
		e.Level = severityOf(value)
	}
	if id, i := first(all, "resourceId", "_ResourceId"); i >= 0 {
		e.Source = layout.ResourceSource(text(id))
	}
	return []input.Event{e}, true
}
