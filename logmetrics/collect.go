package logmetrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Describe implements [prometheus.Collector]. It sends nothing, so the collector is unchecked: the metrics depend on the configuration.
func (s *Set) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (s *Set) Collect(ch chan<- prometheus.Metric) {
	const (
		seriesName, seriesHelp   = "logstow_log_metric_series", "Series of a metric that is computed from logs."
		skippedName, skippedHelp = "logstow_log_metric_skipped_records_total", "Records that match a metric that is computed from logs and are not in it, by reason."
	)
	for _, m := range s.current.Load().metrics {
		for _, one := range m.collect() {
			ch <- one
		}
		series, skipped := m.counts()
		ch <- constant(prometheus.NewDesc(seriesName, seriesHelp, []string{"metric"}, nil), prometheus.GaugeValue,
			float64(series), m.spec.Name)
		for why, n := range skipped {
			ch <- constant(prometheus.NewDesc(skippedName, skippedHelp, []string{"metric", "reason"}, nil), prometheus.CounterValue, float64(n),
				m.spec.Name, reason(why).String())
		}
	}
}

// counts returns the numbers of series and of skipped records.
func (m *metric) counts() (series int, skipped [reasons]uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.series), m.skipped
}

// collect returns the current values of a metric.
func (m *metric) collect() []prometheus.Metric {
	names := make([]string, 0, len(m.labels))
	for _, l := range m.labels {
		names = append(names, l.name)
	}
	desc := prometheus.NewDesc(m.spec.Name, m.help(), names, nil)
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]prometheus.Metric, 0, len(m.series))
	for _, s := range m.series {
		all = append(all, m.sample(desc, s))
	}
	return all
}

// sample returns the current value of a series.
func (m *metric) sample(desc *prometheus.Desc, s *series) prometheus.Metric {
	switch m.spec.Type {
	case Gauge:
		return constant(desc, prometheus.GaugeValue, m.scale.apply(s.last), s.labels...)
	case Histogram:
		buckets := make(map[float64]uint64, len(s.buckets))
		var below uint64
		for i, n := range s.buckets {
			below += n
			buckets[m.bounds[i]] = below
		}
		one, err := prometheus.NewConstHistogram(desc, s.count, m.scale.apply(s.sum.Float()), buckets, s.labels...)
		return valid(one, err)
	}
	if m.value == "" {
		return constant(desc, prometheus.CounterValue, float64(s.count), s.labels...)
	}
	return constant(desc, prometheus.CounterValue, m.scale.apply(s.sum.Float()), s.labels...)
}

// help returns the help text of a metric, which describes its definition.
func (m *metric) help() string {
	of := "records"
	if m.value != "" {
		of = m.spec.Value + " of records"
	}
	if m.spec.Where == "" {
		return fmt.Sprintf("From logs: %s.", of)
	}
	return fmt.Sprintf("From logs: %s where %s.", of, m.spec.Where)
}

func constant(desc *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) prometheus.Metric {
	return valid(prometheus.NewConstMetric(desc, kind, v, labels...))
}

func valid(m prometheus.Metric, err error) prometheus.Metric {
	if err != nil {
		return prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
	}
	return m
}
