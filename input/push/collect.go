package push

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/record"
	"logstow/record/attributes"
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

	// labels are those of a stream, own the attributes of an entry.
	labels  httpserver.Shared
	own     httpserver.Attributes
	texts   httpserver.Texts
	preview *input.Preview
}

func (h *Handler) collector(lease *httpserver.Lease) *collector {
	return &collector{
		handler: h, lease: lease, preview: input.NewPreview(&h.Options),
		labels: httpserver.NewShared(lease), own: httpserver.NewAttributes(lease), texts: httpserver.NewTexts(lease),
	}
}

// label is a label or a member of structured metadata.
type label struct{ name, value string }

// labelCost is the approximate memory of a label in bytes, in addition to its text.
const labelCost = 192

// charge reserves the memory for labels in text or JSON form, whose texts are copied.
func (c *collector) charge(labels []byte) error {
	return c.lease.Take(int64(bytes.Count(labels, []byte{','})+1)*labelCost + 3*int64(len(labels)))
}

// stream holds the common properties of the entries of a stream.
type stream struct {
	service, source string
	level           record.Level
	// attributes are those of entries that have none of their own, if encoded is set.
	attributes []byte
	encoded    bool
	// invalid is the reason why the labels are malformed, or "".
	invalid string
}

// The names of the attributes of an entry that are not structured metadata.
const (
	nameTime    = "timestamp"
	nameRefused = "refused_time"
)

// serviceName is the label that need not be stored if it is the name of the service.
const serviceName = "service_name"

// serviceLabels are the labels that name the service. The first valid one is used.
func serviceLabels() []string { return []string{serviceName, "service", "app"} }

// levelLabels name the level.
func levelLabels() []string { return []string{"detected_level", "level", "severity"} }

// sourceLabels are the labels that are the source, in order of preference.
func sourceLabels() []string {
	return []string{"pod", "container", "filename", "host", "instance", "job"}
}

// stream makes a stream of labels, which it sorts.
func (c *collector) stream(labels []label) (s stream, err error) {
	slices.SortStableFunc(labels, func(a, b label) int { return strings.Compare(a.name, b.name) })
	if !c.handler.ConfiguredService {
		for _, name := range serviceLabels() {
			if value, _ := find(labels, name); input.CleanService(value) != "" {
				s.service = c.handler.Services.Admit(value)
				break
			}
		}
	}
	s.source, s.level = source(labels), level(labels)
	c.preview.From(s.service, s.source)
	implied := c.impliedBy(s.service, labels)
	c.labels.Reset()
	n := 0
	for _, l := range labels {
		if l.name == serviceName && implied {
			continue
		}
		if err := httpserver.AddText(&c.labels.Attributes, l.name, l.value); err != nil {
			return s, err
		}
		n++
	}
	return s, c.labels.Group(n)
}

// impliedBy reports whether the service of a record tells its label service_name: no other label, nor the configuration, could have named
// the service.
func (c *collector) impliedBy(service string, labels []label) bool {
	if value, ok := find(labels, serviceName); !ok || value != service || service == "" || service == c.handler.Service {
		return false
	}
	return !slices.ContainsFunc(labels, func(l label) bool {
		return l.name != serviceName && slices.Contains(serviceLabels(), l.name) && input.CleanService(l.value) == service
	})
}

// find returns the value of the first label of a name.
func find(labels []label, name string) (value string, ok bool) {
	i := slices.IndexFunc(labels, func(l label) bool { return l.name == name })
	if i < 0 {
		return "", false
	}
	return labels[i].value, true
}

// source returns the source of a stream.
func source(labels []label) string {
	for _, name := range sourceLabels() {
		value, _ := find(labels, name)
		if value == "" {
			continue
		}
		if container, _ := find(labels, "container"); name == "pod" && container != "" {
			return value + "/" + container
		}
		return value
	}
	return ""
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

// expect makes space for n entries of a stream.
func (c *collector) expect(s *stream, n int) error {
	if s.invalid != "" {
		return nil
	}
	if err := c.lease.Take(int64(n) * input.GrowingCost); err != nil {
		return err
	}
	c.batches.Of(s.service, n)
	return nil
}

// entry collects an expected entry, with the collector's metadata.
func (c *collector) entry(s *stream, nanos int64, line []byte) error {
	if s.invalid != "" {
		c.reject(s.invalid)
		return nil
	}
	e := input.Event{Time: nanos, Level: s.level, Source: s.source, Message: line}
	if own := level(c.metadata); own != record.None {
		e.Level = own
	}
	if err := c.attributes(s, &e); err != nil {
		return err
	}
	c.batches.Add(s.service, e)
	return nil
}

// attributes sets the attributes of an event.
func (c *collector) attributes(s *stream, e *input.Event) (err error) {
	c.own.Reset()
	for _, l := range c.metadata {
		if err := httpserver.AddText(&c.own, attributes.OwnName(l.name, nameTime, nameRefused), l.value); err != nil {
			return err
		}
	}
	switch made := c.preview.Event(e); {
	case made.Rejected:
		err = httpserver.AddText(&c.own, nameRefused, time.Unix(0, e.Time).UTC().Format(time.RFC3339Nano))
	case made.Time != e.Time || e.Time == 0:
		err = httpserver.AddNumber(&c.own, nameTime, e.Time)
	}
	if err != nil {
		return err
	}
	if len(c.own.List) > 0 {
		e.Attributes, err = c.texts.Encode(&c.own, nil, nil, &c.labels)
		return err
	}
	if !s.encoded {
		if s.attributes, err = c.texts.Encode(&c.own, nil, nil, &c.labels); err != nil {
			return err
		}
		s.encoded = true
	}
	e.Attributes = s.attributes
	return nil
}

// reject counts a malformed entry.
func (c *collector) reject(reason string) {
	if c.rejected == 0 {
		c.reason = reason
	}
	c.rejected++
}
