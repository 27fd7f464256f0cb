package attributes

import (
	"bytes"
	"iter"
	"slices"

	"logstow/message"
)

// Limits of label attributes. What exceeds them is an attribute like others.
const (
	// MaxLabels is the maximum number of label attributes of a record: those whose names come first.
	MaxLabels = 32
	// MaxLabel is the maximum length of a label's value in bytes.
	MaxLabel = 1 << 10
	// maxKnownLabels is the size in bytes of the objects whose labels a Labels remembers.
	maxKnownLabels = 128 << 10
)

// IsLabel reports whether an attribute of [Resource] is a label attribute: those that Loki makes labels by default, see
// default_resource_attributes_as_index_labels in https://grafana.com/docs/loki/latest/configure/. service.name is the service.
func IsLabel(name string) bool {
	switch name {
	case "cloud.availability_zone", "cloud.region", "container.name", "deployment.environment", "deployment.environment.name",
		"k8s.cluster.name", "k8s.container.name", "k8s.cronjob.name", "k8s.daemonset.name", "k8s.deployment.name", "k8s.job.name",
		"k8s.namespace.name", "k8s.pod.name", "k8s.replicaset.name", "k8s.statefulset.name", "service.instance.id", "service.namespace":
		return true
	}
	return false
}

// Labels finds the label attributes of records: few attributes with few values, by which a store knows how many records it has. It remembers
// what it found. The zero value is ready for use. Not safe for concurrent use.
type Labels struct {
	known map[string]string // by Stream and Resource, as in key
	size  int               // of the keys of known, in bytes
	// key has the last Stream and Resource, separated by a newline, which encoded attributes do not contain. last is known[key].
	key  []byte
	last string
}

// Of returns the label attributes among encoded attributes: all of [Stream], and those of [Resource] for which [IsLabel] is true, unless
// Stream has the name. Values are strings, numbers and truth values. They are encoded as an object of strings in canonical form; "" if there
// are none.
func (l *Labels) Of(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	lastStream, lastResource, _ := bytes.Cut(l.key, []byte("\n"))
	stream, resource := groupLike(text, Stream, lastStream), groupLike(text, Resource, lastResource)
	if stream == nil && resource == nil {
		return ""
	}
	if bytes.Equal(stream, lastStream) && bytes.Equal(resource, lastResource) {
		return l.last
	}
	l.key = append(append(append(l.key[:0], stream...), '\n'), resource...)
	found, ok := l.known[string(l.key)]
	if !ok {
		if l.size += len(l.key); l.known == nil || l.size > maxKnownLabels {
			l.known, l.size = map[string]string{}, len(l.key)
		}
		found = encodeLabels(stream, resource)
		l.known[string(l.key)] = found
	}
	l.last = found
	return found
}

// groupLike is GroupOf, faster if the object is the last one.
func groupLike(text []byte, name string, last []byte) []byte {
	switch at := objectAt(text, name); {
	case at < 0:
		return nil
	case len(last) > 0 && bytes.HasPrefix(text[at:], last) && bytes.IndexByte(text[1:at], '{') < 0: // so it is not in another object
		return text[at : at+len(last)]
	}
	return GroupOf(text, name)
}

// encodeLabels encodes the label attributes of two objects.
func encodeLabels(stream, resource []byte) string {
	var all []Member
	add := func(group []byte, listed bool) {
		if group == nil {
			return
		}
		members := message.Object(group)
		for key, value, ok := members.Next(); ok; key, value, ok = members.Next() {
			name := string(message.Unescape(nil, key))
			if !isLabelValue(value) || listed && !IsLabel(name) {
				continue
			}
			text := message.Unescape(nil, message.Unquoted(value))
			if len(text) > 0 && len(text) <= MaxLabel {
				all = append(all, Member{name, appendString(nil, text)})
			}
		}
	}
	add(stream, false)
	add(resource, true)
	if len(all) == 0 {
		return ""
	}
	all, _ = distinct(all)
	return string(appendObject(nil, all[:min(len(all), MaxLabels)]))
}

// isLabelValue reports whether an encoded value is a string, a number or a truth value.
func isLabelValue(value []byte) bool {
	switch value[0] {
	case '{', '[', 'n':
		return false
	}
	return true
}

// AllLabels yields the names and the values of label attributes, encoded as by [Labels.Of], in the order of their names.
func AllLabels(text string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		members := message.Object([]byte(text))
		for key, value, ok := members.Next(); ok; key, value, ok = members.Next() {
			if !yield(string(message.Unescape(nil, key)), string(message.Unescape(nil, message.Unquoted(value)))) {
				return
			}
		}
	}
}

// WithoutLabels returns label attributes, encoded as by [Labels.Of], without those with one of the names.
func WithoutLabels(text string, names []string) string {
	if text == "" || len(names) == 0 {
		return text
	}
	var kept []Member
	members := message.Object([]byte(text))
	for key, value, ok := members.Next(); ok; key, value, ok = members.Next() {
		if name := string(message.Unescape(nil, key)); !slices.Contains(names, name) {
			kept = append(kept, Member{name, value})
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return string(appendObject(nil, kept))
}

// ValidLabels reports whether text is encoded as by [Labels.Of]; "" is not.
func ValidLabels(text string) bool {
	if !Valid([]byte(text)) {
		return false
	}
	n := 0
	members := message.Object([]byte(text))
	for key, value, ok := members.Next(); ok; key, value, ok = members.Next() {
		content, isString := message.Content(value)
		if n++; !isString || n > MaxLabels || len(key) > 6*MaxName || len(message.Unescape(nil, content)) > MaxLabel {
			return false
		}
	}
	return n > 0
}
