package loki

import (
	"maps"
	"slices"

	"logstow/logql/storage"
)

// detectedLabels is /loki/api/v1/detected_labels: the labels of the streams with the number of their values.
func (q *request) detectedLabels() error {
	q.bounds(querySince)
	selectors := q.selectors()
	if q.bad != nil {
		return q.bad
	}
	values := map[string]map[string]bool{}
	each := byStream[bool]{Max: maxStreams}
	err := q.view().Parts(q.ctx, selectors, q.from, q.to, 0, func(p storage.Part) {
		each.Get(&p.Labels[0], func() bool {
			for _, l := range p.Labels {
				if values[l.Name] == nil {
					values[l.Name] = map[string]bool{}
				}
				values[l.Name][l.Value] = true
			}
			return true
		})
	})
	if err != nil {
		return err
	}
	type label struct {
		Label       string `json:"label"`
		Cardinality int    `json:"cardinality"`
	}
	found := make([]label, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		found = append(found, label{name, len(values[name])})
	}
	return q.json(map[string]any{"detectedLabels": found})
}

// detectedFields is /loki/api/v1/detected_fields: the fields of the newest records that match.
func (q *request) detectedFields() error {
	limit := q.number("limit", defaultFields)
	fields, err := q.fields(0)
	if err != nil {
		return err
	}
	type field struct {
		Label       string   `json:"label"`
		Type        string   `json:"type"`
		Cardinality uint64   `json:"cardinality"`
		Parsers     []string `json:"parsers"` // null for structured metadata
		JSONPath    []string `json:"jsonPath,omitempty"`
	}
	found := make([]field, 0, len(fields))
	for _, f := range fields[:min(len(fields), limit)] {
		one := field{Label: f.Label, Type: f.Type, Cardinality: f.Cardinality, JSONPath: f.Path}
		if f.Parser != "" {
			one.Parsers = []string{f.Parser}
		}
		found = append(found, one)
	}
	return q.json(struct {
		Fields []field `json:"fields"`
		Limit  int     `json:"limit"`
	}{found, limit})
}

// detectedFieldValues is /loki/api/v1/detected_field/NAME/values: values of a field in the newest records that match.
func (q *request) detectedFieldValues() error {
	limit := q.number("limit", defaultFields)
	fields, err := q.fields(limit)
	if err != nil {
		return err
	}
	found := []string{}
	for _, f := range fields {
		if f.Label == q.http.PathValue("name") {
			found = append(found, f.Values...)
		}
	}
	return q.json(struct {
		Values []string `json:"values"`
		Limit  int      `json:"limit"`
	}{found[:min(len(found), limit)], limit})
}

// fields returns the fields of the newest records of the parameter query, each with at most as many values.
func (q *request) fields(values int) ([]storage.Field, error) {
	q.bounds(querySince)
	lines := q.number("line_limit", defaultLines)
	if maximum := q.api.opts.Limits.Entries; maximum > 0 {
		lines = min(lines, maximum)
	}
	log := q.logQuery()
	if q.bad != nil {
		return nil, q.bad
	}
	return q.view().Fields(q.ctx, log, q.from, q.to, lines, values)
}
