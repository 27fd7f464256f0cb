package loki

import (
	"maps"
	"slices"

	"logstow/internal/memo"
	"logstow/logql/labels"
	"logstow/logql/storage"
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
	q.bounds(labelsSince)
	selectors := q.selectors()
	if q.bad != nil {
		return q.bad
	}
	found := map[string]bool{}
	each := byStream[bool]{Max: maxStreams}
	err := q.view().Parts(q.ctx, selectors, q.from, q.to, 0, func(p storage.Part) {
		each.Get(&p.Labels[0], func() bool {
			add(found, p.Labels)
			return true
		})
	})
	if err != nil {
		return err
	}
	return q.success(slices.AppendSeq([]string{}, slices.Values(slices.Sorted(maps.Keys(found)))))
}

// series is /loki/api/v1/series: the labels of the streams that match at least one selector; without selectors, of all streams.
func (q *request) series() error {
	if q.bounds(querySince); q.bad != nil {
		return q.bad
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
	found := newStreamSet()
	if err := q.view().Parts(q.ctx, selectors, q.from, q.to, 0, func(p storage.Part) { found.add(p.Labels) }); err != nil {
		return err
	}
	all := slices.Sorted(maps.Keys(found.keys))
	return q.respond(func(w writer) {
		w.text(`{"status":"success","data":[`)
		var scratch []byte
		for i, key := range all {
			if scratch = scratch[:0]; i > 0 {
				scratch = append(scratch, ',')
			}
			scratch = labels.FromKey(key).AppendJSON(scratch)
			w.bytes(scratch)
		}
		w.text("]}\n")
	})
}

// streamSet has the keys of the labels of streams, which take less memory than the labels.
type streamSet struct {
	keys map[string]struct{}
	each byStream[bool]
}

func newStreamSet() *streamSet {
	return &streamSet{map[string]struct{}{}, byStream[bool]{Max: maxStreams}}
}

func (s *streamSet) add(of labels.Labels) {
	s.each.Get(&of[0], func() bool {
		s.keys[string(of.AppendKey(nil))] = struct{}{}
		return true
	})
}

// byStream remembers a value for each of the labels of recent parts, which share them if they are of one stream.
type byStream[T any] = memo.Map[*labels.Label, T]

// maxStreams is the number of values that a byStream keeps.
const maxStreams = 4096

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
