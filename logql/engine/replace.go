package engine

import (
	"context"
	"fmt"

	"logstow/logql/labels"
	"logstow/logql/syntax"
)

// labelReplace evaluates label_replace: it sets a label to a text derived from another label, for series whose label
// matches.
func (ev *evaluation) labelReplace(ctx context.Context, r *syntax.LabelReplace) (*vector, error) {
	v, err := ev.instantVector(ctx, r.Inner, "label_replace")
	if err != nil {
		return nil, err
	}
	out := &collector{steps: ev.steps}
	for _, s := range v.series {
		ls := s.labels
		src := ls.Get(r.Src)
		if match := r.Regexp.FindStringSubmatchIndex(src); match != nil {
			value := r.Regexp.ExpandString(nil, r.Replacement, src, match)
			ls = ls.With(labels.Label{Name: r.Dst, Value: string(value)})
		}
		into := out.of(ls)
		for k, value := range s.values {
			if !present(value) {
				continue
			}
			if present(into.values[k]) {
				return nil, fmt.Errorf("%w: label_replace makes two series with the labels %s", ErrQuery, ls)
			}
			into.values[k] = value
		}
	}
	return out.vector(), nil
}
