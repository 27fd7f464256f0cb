package loki

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/logql/storage"
	"logstow/logql/syntax"
)

// indexStats is /loki/api/v1/index/stats: what a query would read. Segments are Loki's chunks.
func (q *request) indexStats() error {
	q.bounds(querySince)
	matchers := q.matchers()
	if q.bad != nil {
		return q.bad
	}
	streams, chunks, bytes, records := newStreamSet(), 0, 0.0, 0.0
	err := q.view().Parts(q.ctx, [][]*syntax.Matcher{matchers}, q.from, q.to, 0, func(p storage.Part) {
		streams.add(p.Labels)
		chunks++
		bytes += p.Bytes
		records += p.Records
	})
	if err != nil {
		return err
	}
	return q.json(struct {
		Streams int    `json:"streams"`
		Chunks  int    `json:"chunks"`
		Bytes   int64  `json:"bytes"`
		Entries uint64 `json:"entries"`
	}{len(streams.keys), chunks, int64(math.Ceil(bytes)), uint64(math.Ceil(records))})
}

// volume is /loki/api/v1/index/volume: the bytes of the range by labels, sorted by bytes in descending order. The time of the points is
// the end of the range.
func (q *request) volume() error {
	q.bounds(querySince)
	series, err := q.volumes(0, func(int64) int64 { return q.to })
	if err != nil {
		return err
	}
	return q.respondSeries(typeVector, &engine.Value{Series: series})
}

// volumeRange is /loki/api/v1/index/volume_range: the bytes of each step. As in Loki, the time of a step is its last millisecond, and of
// the last step the end of the range.
func (q *request) volumeRange() error {
	q.bounds(querySince)
	step := q.step()
	if q.bad != nil {
		return q.bad
	}
	if q.to-q.from <= int64(step) { // one step
		return q.volume()
	}
	series, err := q.volumes(step, func(start int64) int64 {
		if end := start + int64(step); end < q.to {
			return end - int64(time.Millisecond)
		}
		return q.to
	})
	if err != nil {
		return err
	}
	return q.respondSeries(typeMatrix, &engine.Value{Series: series})
}

// volumes returns the volumes by the labels that the parameters name, sorted by bytes in descending order, at most as many as the
// parameter limit. at returns the time of the point for a step that begins at start.
func (q *request) volumes(width time.Duration, at func(start int64) int64) ([]engine.Series, error) {
	limit := defaultLimit
	if q.get("limit") != "0" {
		limit = q.number("limit", defaultLimit)
	}
	if maximum := q.api.opts.Limits.Series; maximum > 0 && limit > maximum {
		q.reject(badRequest("limit %d exceeds volume_max_series %d", limit, maximum))
	}
	matchers := q.matchers()
	groups := q.grouping(matchers)
	if q.bad != nil {
		return nil, q.bad
	}
	found, each := volumes{}, byStream[[]*groupVolume]{Max: maxStreams}
	err := q.view().Parts(q.ctx, [][]*syntax.Matcher{matchers}, q.from, q.to, width, func(p storage.Part) {
		if p.Bytes == 0 { // the messages are empty
			return
		}
		for _, g := range each.Get(&p.Labels[0], func() []*groupVolume { return found.of(groups(p.Labels)) }) {
			g.bytes[at(p.Start)] += p.Bytes
			g.sum += p.Bytes
		}
	})
	if err != nil {
		return nil, err
	}
	return found.largest(limit), nil
}

// grouping returns the function that maps the labels of a volume to the label sets that the volume is added to.
func (q *request) grouping(matchers []*syntax.Matcher) func(labels.Labels) []labels.Labels {
	var names []string
	if text := q.get("targetLabels"); text != "" {
		for name := range strings.SplitSeq(text, ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	switch by := q.get("aggregateBy"); by {
	case "", "series":
		if names == nil {
			for _, m := range matchers {
				names = append(names, m.Name)
			}
		}
		return func(ls labels.Labels) []labels.Labels { return bySeries(ls, names) }
	case "labels":
		return func(ls labels.Labels) []labels.Labels { return byLabels(ls, names) }
	default:
		q.reject(badRequest("invalid aggregateBy %q: it is series or labels", by))
		return nil
	}
}

// bySeries returns the labels with the names as one label set, or nothing if one is missing. Without names it returns all labels.
func bySeries(ls labels.Labels, names []string) []labels.Labels {
	if len(names) == 0 {
		return []labels.Labels{ls}
	}
	kept := make([]labels.Label, 0, len(names))
	for _, name := range names {
		value := ls.Get(canonical(name))
		if value == "" {
			return nil
		}
		kept = append(kept, labels.Label{Name: shown(name), Value: value})
	}
	return []labels.Labels{labels.New(kept...)}
}

// byLabels returns one label set for each label with one of the names, or for all labels if there are no names. The values are
// empty.
func byLabels(ls labels.Labels, names []string) []labels.Labels {
	if len(names) == 0 {
		for _, l := range ls {
			names = append(names, l.Name)
		}
	}
	var sets []labels.Labels
	for _, name := range names {
		if ls.Get(canonical(name)) != "" {
			sets = append(sets, labels.Labels{{Name: shown(name)}}) // Loki documents the empty value
		}
	}
	return sets
}

// shown returns the name of a label in responses, which do not contain the alias service.
func shown(name string) string {
	if name == labels.ServiceAlias {
		return labels.Service
	}
	return name
}

// volumes are the bytes of groups of streams by time.
type volumes struct{ labels.Index[*groupVolume] }

type groupVolume struct {
	labels labels.Labels
	bytes  map[int64]float64
	sum    float64
}

// of returns the groups with labels.
func (v *volumes) of(all []labels.Labels) (groups []*groupVolume) {
	for _, ls := range all {
		groups = append(groups, v.Of(ls, func() *groupVolume { return &groupVolume{labels: ls, bytes: map[int64]float64{}} }))
	}
	return groups
}

// largest returns the groups with the most bytes, at most limit, in this order.
func (v *volumes) largest(limit int) []engine.Series {
	slices.SortFunc(v.All, func(a, b *groupVolume) int {
		return cmp.Or(cmp.Compare(math.Ceil(b.sum), math.Ceil(a.sum)), labels.Compare(a.labels, b.labels))
	})
	first := v.All[:min(len(v.All), limit)]
	series := make([]engine.Series, 0, len(first))
	for _, g := range first {
		s := engine.Series{Labels: g.labels}
		for _, t := range slices.Sorted(maps.Keys(g.bytes)) {
			s.Points = append(s.Points, engine.Point{Time: t, Value: math.Ceil(g.bytes[t])})
		}
		series = append(series, s)
	}
	return series
}
