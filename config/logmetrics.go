package config

import (
	"logstow/logmetrics"
)

// logMetrics reads the metrics that are computed from records.
func (d *decoder) logMetrics(s *section) (all []logmetrics.Spec) {
	for i, one := range s.sections("log-metrics") {
		if i == logmetrics.MaxMetrics {
			d.fail(one.node, "log-metrics: at most %d allowed", logmetrics.MaxMetrics)
			break
		}
		before := len(d.problems)
		m := d.logMetric(one)
		if len(d.problems) > before {
			continue
		}
		if err := m.Clash(all); err != nil {
			d.fail(one.get("name"), "name: %v", err)
		}
		all = append(all, m)
	}
	return all
}

func (d *decoder) logMetric(s *section) (m logmetrics.Spec) {
	if s.node != nil && s.node.GetToken() != nil {
		m.Line = s.node.GetToken().Position.Line
	}
	read(s, "name", &m.Name, checked(logmetrics.CheckName))
	read(s, "type", &m.Type, logmetrics.ParseType)
	read(s, "where", &m.Where, checked(checkWhere))
	read(s, "value", &m.Value, checked(logmetrics.CheckValue))
	read(s, "scale", &m.Scale, checked(logmetrics.CheckScale))
	s.stringList("labels", &m.Labels)
	if err := logmetrics.CheckLabels(m.Labels, m.Type); err != nil {
		d.fail(s.get("labels"), "labels: %v", err)
	}
	s.stringList("buckets", &m.Buckets)
	if err := logmetrics.CheckBuckets(m.Buckets); err != nil {
		d.fail(s.get("buckets"), "buckets: %v", err)
	}
	read(s, "max-series", &m.MaxSeries, wholeNumber(1, logmetrics.MaxSeries))
	s.done()
	d.missing(s, "name")
	d.missing(s, "type")
	if s.has("name") && s.has("type") {
		if err := m.Check(); err != nil && m.Type != "" {
			d.fail(s.node, "%v", err)
		}
	}
	return m
}
