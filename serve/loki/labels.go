package loki

import (
	"maps"
	"slices"

	"logstow/logql/labels"
	"logstow/logql/syntax"
)

// labels is /loki/api/v1/labels: the names of the streams' labels, in order.
func (q *request) labels() error {
	return q.labelSet(func(found map[string]bool, ls labels.Labels) {
		for _, l := range ls {
			found[l.Name] = true
		}
	})
}

// labelValues is /loki/api/v1/label/NAME/values: the values of a label of the streams, in order.
func (q *request) labelValues() error {
	name := canonical(q.http.PathValue("name"))
	return q.labelSet(func(found map[string]bool, ls labels.Labels) {
		if value := ls.Get(name); value != "" {
			found[value] = true
		}
	})
}

// labelSet responds with a sorted set, to which add adds elements for the labels of each stream.
func (q *request) labelSet(add func(map[string]bool, labels.Labels)) error {
	if err := q.ordered(labelsSince); err != nil {
		return err
	}
	selectors, err := q.selectors()
	if err != nil {
		return err
	}
	streams, err := q.view().Streams(q.ctx, selectors, q.from, q.to)
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for i := range streams {
		add(found, streams[i].Labels)
	}
	return q.success(slices.AppendSeq([]string{}, slices.Values(slices.Sorted(maps.Keys(found)))))
}

// series is /loki/api/v1/series: the labels of the streams that match at least one selector; without selectors, of all streams.
func (q *request) series() error {
	if err := q.ordered(querySince); err != nil {
		return err
	}
	given := slices.Concat(q.http.Form["match[]"], q.http.Form["match"])
	var selectors [][]*syntax.Matcher
	for _, text := range given {
		one, err := syntax.ParseMatchers(text)
		if err != nil {
			return err
		}
		selectors = append(selectors, one)
	}
	streams, err := q.view().Streams(q.ctx, selectors, q.from, q.to)
	if err != nil {
		return err
	}
	found := make([]map[string]string, 0, len(streams))
	for i := range streams {
		found = append(found, streams[i].Labels.Map())
	}
	return q.success(found)
}

// canonical returns the name of a label in streams: service and detected_level are aliases.
func canonical(name string) string {
	switch name {
	case labels.ServiceAlias:
		return labels.Service
	case labels.DetectedLevel:
		return labels.Level
	default:
		return name
	}
}
