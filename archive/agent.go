package archive

import (
	"logstow/input"
	"logstow/message"
	"logstow/record"
	"logstow/record/attributes"
)

// fluentEvents makes the record of an object of Fluent Bit: the line that the application wrote, if the object has it, with the other
// members as attributes, otherwise the object. A line without a level has that of the object.
// https://docs.fluentbit.io/manual/data-pipeline/outputs/azure_blob (date_key), https://docs.fluentbit.io/manual/pipeline/filters/kubernetes
func fluentEvents(line []byte) ([]input.Event, bool) {
	return agentEvent(line, "@timestamp", "date", "time", "timestamp")
}

// vectorEvents is fluentEvents for an object of Vector.
// https://vector.dev/docs/architecture/data-model/log/
func vectorEvents(line []byte) ([]input.Event, bool) {
	return agentEvent(line, "timestamp", "@timestamp", "time")
}

// agentEvent makes the record of an object, whose time is the first member of some names that has one.
func agentEvent(line []byte, times ...string) ([]input.Event, bool) {
	all, ok := membersOf(line)
	if !ok || len(all) == 0 {
		return nil, false
	}
	e := input.Event{Message: trimmed(line)}
	timed := -1
	for _, name := range times {
		if value, i := first(all, name); i >= 0 && e.Time == 0 {
			if e.Time = timeOf(value); e.Time != 0 {
				timed = i
			}
		}
	}
	e.Source = podOf(all)
	at := -1
	for i := range all {
		if content, ok := message.Content(all[i].value); ok && input.IsLineName(all[i].name) {
			e.Message, at = input.TrimNewline(message.Unescape(nil, content)), i
			break
		}
	}
	if at < 0 {
		return []input.Event{e}, true
	}
	if level, i := first(all, "level", "severity", "log_level"); i >= 0 {
		e.Fallback = record.LevelFromAlias(text(level))
	}
	set := attributes.Set{}
	for i, m := range all {
		if i == at || i == timed {
			continue
		}
		value, cut := attributes.AppendJSON(nil, m.value)
		set.Own = append(set.Own, attributes.Member{Name: attributes.OwnName(m.name), Value: value})
		set.Cut += cut
	}
	e.Attributes, _ = set.Append(nil)
	return []input.Event{e}, true
}

// podOf is the source of a record of a pod: NAMESPACE/POD/CONTAINER, as of files of containers; "" for others.
func podOf(all []member) string {
	value, i := first(all, "kubernetes")
	if i < 0 {
		return ""
	}
	of, ok := membersOf(value)
	if !ok {
		return ""
	}
	namespace, _ := first(of, "namespace_name", "pod_namespace")
	pod, _ := first(of, "pod_name")
	container, _ := first(of, "container_name")
	if len(namespace) == 0 || len(pod) == 0 {
		return ""
	}
	source := text(namespace) + "/" + text(pod)
	if name := text(container); name != "" {
		source += "/" + name
	}
	return source
}
