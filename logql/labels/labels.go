// Package labels holds the label sets of LogQL's streams, records and series.
package labels

import (
	"slices"
	"strconv"
	"strings"

	"logstow/field"
	"logstow/message"
)

// The labels with a meaning of their own.
const (
	// Service, Level and Instance are the labels of streams.
	Service  = "service_name"
	Level    = "level"
	Instance = "instance"
	// ServiceAlias is an alias of Service in requests, and in selectors and groupings unless there is a label with this
	// name.
	ServiceAlias = "service"
	// DetectedLevel is Level under the name that Grafana reads, Source where in the instance a record came
	// from: both are structured metadata.
	DetectedLevel = "detected_level"
	Source        = "source"
	// Error and ErrorDetails are the reason why a stage could not process a record.
	Error        = "__error__"
	ErrorDetails = "__error_details__"
)

// Column returns the fixed field whose values are those of a label; "" for the label of an attribute.
func Column(name string) field.Fixed {
	switch name {
	case Service, ServiceAlias:
		return field.Service
	case Level, DetectedLevel:
		return field.Level
	case Instance:
		return field.Instance
	case Source:
		return field.Source
	}
	return ""
}

// IsError reports whether a label is one of those of errors.
func IsError(name string) bool { return name == Error || name == ErrorDetails }

// Label is a name with its value, which is empty only if a stage of a query made it.
type Label struct{ Name, Value string }

// Labels are labels in order of their names, without duplicates. Immutable: methods return copies.
type Labels []Label

// New sorts labels and drops those without a value. If several have the same name, it keeps the first.
func New(all ...Label) Labels {
	all = slices.DeleteFunc(slices.Clone(all), func(l Label) bool { return l.Value == "" })
	slices.SortStableFunc(all, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b Label) bool { return a.Name == b.Name })
}

// Join merges labels of several categories, whose names must be disjoint. It keeps labels without a value.
func Join(sets ...Labels) Labels {
	all := slices.Concat(sets...)
	slices.SortFunc(all, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Get returns the value of a label, "" if there is none.
func (ls Labels) Get(name string) string {
	for i := range ls {
		if ls[i].Name == name {
			return ls[i].Value
		}
	}
	return ""
}

// Keep is the labels with one of the names.
func (ls Labels) Keep(names ...string) Labels {
	return slices.DeleteFunc(slices.Clone(ls), func(l Label) bool { return !slices.Contains(names, l.Name) })
}

// Without is the labels with none of the names.
func (ls Labels) Without(names ...string) Labels {
	return slices.DeleteFunc(slices.Clone(ls), func(l Label) bool { return slices.Contains(names, l.Name) })
}

// With returns the labels with those of set, which replace labels of the same name. An empty value in set removes a label.
func (ls Labels) With(set ...Label) Labels {
	return Join(New(set...), without(ls, set))
}

func without(ls Labels, set []Label) Labels {
	return slices.DeleteFunc(slices.Clone(ls), func(l Label) bool {
		return slices.ContainsFunc(set, func(s Label) bool { return s.Name == l.Name })
	})
}

// Compare orders label sets: by the first different name, then value; a prefix comes first.
func Compare(a, b Labels) int {
	return slices.CompareFunc(a, b, func(a, b Label) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Value, b.Value)
	})
}

// The texts of a key end with endOfText; a zero byte in a text is escapedZero. So keys have the order of [Compare].
const endOfText, escapedZero = "\x00\x00", "\x00\xff"

// AppendKey appends a key that identifies the labels. Keys are in the order of [Compare].
func (ls Labels) AppendKey(dst []byte) []byte {
	for i := range ls {
		dst = appendText(appendText(dst, ls[i].Name), ls[i].Value)
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", escapedZero)
	}
	return append(append(dst, s...), endOfText...)
}

// FromKey returns the labels with a key.
func FromKey(key string) Labels {
	var ls Labels
	for key != "" {
		var l Label
		l.Name, key = cutText(key)
		l.Value, key = cutText(key)
		ls = append(ls, l)
	}
	return ls
}

// cutText returns the text that a key begins with, and the rest of the key.
func cutText(key string) (text, rest string) {
	for at := 0; ; at += len(escapedZero) {
		zero := strings.IndexByte(key[at:], 0)
		if at += zero; zero < 0 {
			return key, ""
		}
		if strings.HasPrefix(key[at:], endOfText) {
			return strings.ReplaceAll(key[:at], escapedZero, "\x00"), key[at+len(endOfText):]
		}
	}
}

// String is {a="b", c="d"}.
func (ls Labels) String() string {
	b := []byte{'{'}
	for i := range ls {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(append(b, ls[i].Name...), '=')
		b = strconv.AppendQuote(b, ls[i].Value)
	}
	return string(append(b, '}'))
}

// AppendJSON appends the labels as a JSON object.
func (ls Labels) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	for i := range ls {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(message.AppendString(dst, ls[i].Name), ':')
		dst = message.AppendString(dst, ls[i].Value)
	}
	return append(dst, '}')
}
