package push

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/record"
)

// collector collects the events of a request.
type collector struct {
	handler *Handler
	lease   *httpserver.Lease
	batches input.Batches
	// rejected counts malformed entries; reason is the reason for the first.
	rejected int
	reason   string
	metadata []label
}

// label is a label or a member of structured metadata.
type label struct{ name, value string }

// labelCost is the approximate memory of a label in bytes, in addition to its text.
const labelCost = 192

// fewLabels is the number of labels up to which they are searched linearly.
const fewLabels = 16

// charge reserves the memory for labels in text or JSON form, whose texts are copied.
func (c *collector) charge(labels []byte) error {
	return c.lease.Take(int64(bytes.Count(labels, []byte{','})+1)*labelCost + 3*int64(len(labels)))
}

// stream holds the common properties of the entries of a stream.
type stream struct {
	service, source string
	level           record.Level
	labels          []label
	// known contains the labels if there are more than fewLabels.
	known map[label]bool
	// invalid is the reason why the labels are malformed, or "".
	invalid string
}

// serviceLabels are the labels that name the service. The first valid one is used.
func serviceLabels() []string { return []string{"service_name", "service", "app"} }

// levelLabels name the level.
func levelLabels() []string { return []string{"detected_level", "level", "severity"} }

// stream makes a stream of labels, which it sorts.
func (c *collector) stream(labels []label) (s stream) {
	slices.SortStableFunc(labels, func(a, b label) int { return strings.Compare(a.name, b.name) })
	service := ""
	if !c.handler.configuredService {
		for _, name := range serviceLabels() {
			i := slices.IndexFunc(labels, func(l label) bool { return l.name == name })
			if i < 0 || input.CleanService(labels[i].value) == "" {
				continue
			}
			if s.service = c.handler.Services.Admit(labels[i].value); s.service != "" {
				service = name
			}
			break
		}
	}
	var source strings.Builder
	for _, l := range labels {
		if l.name != service && !namesLevel(l) {
			appendLabel(&source, l)
		}
	}
	s.source, s.level, s.labels = source.String(), level(labels), labels
	if len(labels) > fewLabels {
		s.known = make(map[label]bool, len(labels))
		for _, l := range labels {
			s.known[l] = true
		}
	}
	return s
}

// has reports whether the stream has a label.
func (s *stream) has(l label) bool {
	if s.known != nil {
		return s.known[l]
	}
	return slices.Contains(s.labels, l)
}

func appendLabel(to *strings.Builder, l label) {
	if to.Len() > 0 {
		to.WriteByte(',')
	}
	to.WriteString(l.name)
	to.WriteByte('=')
	to.WriteString(strconv.Quote(l.value))
}

// namesLevel reports whether a label is a valid level. It is not part of the source, so that a source has records of all levels.
func namesLevel(l label) bool {
	return slices.Contains(levelLabels(), l.name) && record.LevelFromAlias(l.value) != record.None
}

// level returns the first valid level that labels name.
func level(labels []label) record.Level {
	for _, name := range levelLabels() {
		for _, l := range labels {
			if l.name == name {
				if level := record.LevelFromAlias(l.value); level != record.None {
					return level
				}
			}
		}
	}
	return record.None
}

// entry collects an entry, with the collector's metadata.
func (c *collector) entry(s *stream, nanos int64, line []byte) error {
	if s.invalid != "" {
		c.reject(s.invalid)
		return nil
	}
	cost := int64(input.GrowingCost)
	e := input.Event{Time: nanos, Level: s.level, Source: s.source, Message: line}
	// Senders repeat labels in the metadata.
	c.metadata = slices.DeleteFunc(c.metadata, s.has)
	if len(c.metadata) > 0 {
		slices.SortStableFunc(c.metadata, func(a, b label) int { return strings.Compare(a.name, b.name) })
		var source strings.Builder
		source.WriteString(s.source)
		for _, l := range c.metadata {
			if !namesLevel(l) {
				appendLabel(&source, l)
			}
		}
		e.Source = source.String()
		cost += int64(source.Cap())
		if own := level(c.metadata); own != record.None {
			e.Level = own
		}
	}
	if err := c.lease.Take(cost); err != nil {
		return err
	}
	c.batches.Add(s.service, e)
	return nil
}

// reject counts a malformed entry.
func (c *collector) reject(reason string) {
	if c.rejected == 0 {
		c.reason = reason
	}
	c.rejected++
}
