package storage

import (
	"context"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"logstow/blobnaming"
	"logstow/field"
	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/logql/pipeline"
	logql "logstow/logql/syntax"
	"logstow/message"
	"logstow/record"
	"logstow/record/attributes"
)

// unknownLevel is the label of records without a level.
const unknownLevel = "unknown"

// levelLabel is the label of a level.
func levelLabel(l record.Level) string {
	if l == record.None {
		return unknownLevel
	}
	return strings.ToLower(l.String())
}

// sortMatchers sorts matchers by the field that they are about; those of attributes are about none.
func sortMatchers(matchers []*logql.Matcher) map[field.Fixed][]*logql.Matcher {
	sorted := map[field.Fixed][]*logql.Matcher{}
	for _, m := range matchers {
		of := labels.Column(m.Name)
		sorted[of] = append(sorted[of], m)
	}
	return sorted
}

// levelsOf returns the levels that matchers select, 0 for all; not ok if they select none.
func levelsOf(matchers []*logql.Matcher) (levels record.LevelSet, ok bool) {
	const all = 1<<record.Levels - 1
	for l := range record.Level(record.Levels) {
		if allMatch(matchers, levelLabel(l)) {
			levels |= 1 << l
		}
	}
	if levels == all {
		return 0, true
	}
	return levels, levels != 0
}

// selector is a simplified log query, with its matchers by the label that they are about.
type selector struct {
	stages              []logql.Stage
	services            []string
	levels              record.LevelSet
	instances, ofSource []*logql.Matcher
	// attributes are the matchers of other labels: of attributes of records.
	attributes []*logql.Matcher
}

// exact reports whether services and levels are all conditions.
func (s *selector) exact() bool { return len(s.instances)+len(s.ofSource)+len(s.attributes) == 0 }

// instance reports whether an instance is selected.
func (s *selector) instance(name string) bool { return allMatch(s.instances, name) }

// selector sorts the matchers of a selection, and finds the services that they select; nil if no record can match.
func (v *View) selector(ctx context.Context, sel engine.Selection) (*selector, error) {
	if v.err != nil || sel.From >= sel.To {
		return nil, v.err
	}
	log := engine.Simplify(sel.Log)
	sorted := sortMatchers(log.Matchers)
	s := &selector{stages: log.Stages, instances: sorted[field.Instance], ofSource: sorted[field.Source], attributes: sorted[""]}
	var ok bool
	if s.levels, ok = levelsOf(sorted[field.Level]); !ok {
		return nil, nil //nolint:nilnil // no level is selected
	}
	var err error
	s.services, err = v.services(ctx, sel, sorted[field.Service])
	if len(s.services) == 0 || err != nil {
		return nil, err
	}
	return s, nil
}

// services returns the services that matchers select and the request may read.
func (v *View) services(ctx context.Context, sel engine.Selection, matchers []*logql.Matcher) ([]string, error) {
	candidates, ok := namedServices(matchers)
	if !ok {
		var err error
		if candidates, err = v.first.Services(ctx, time.Unix(0, sel.From), time.Unix(0, sel.To)); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(candidates, func(name string) bool {
		return !v.access.allows(name) || !blobnaming.ValidService(name) || !allMatch(matchers, name)
	}), nil
}

// namedServices are the services that a matcher names one by one: ="a", or =~"a|b".
func namedServices(matchers []*logql.Matcher) ([]string, bool) {
	for _, m := range matchers {
		switch {
		case m.Op == logql.MatchEqual && m.Value != "":
			return []string{m.Value}, true
		case m.Op == logql.MatchRegexp:
			if names, ok := alternatives(m.Value); ok {
				slices.Sort(names)
				return slices.Compact(names), true
			}
		}
	}
	return nil, false
}

// alternatives are the texts that a regular expression of plain alternatives matches.
func alternatives(expr string) ([]string, bool) {
	names := strings.Split(expr, "|")
	for _, name := range names {
		re, err := syntax.Parse(name, syntax.Perl)
		if err != nil || re.Op != syntax.OpLiteral || re.Flags&syntax.FoldCase != 0 || string(re.Rune) != name {
			return nil, false
		}
	}
	return names, true
}

// selectsAttributes reports whether a matcher is about attributes of records.
func selectsAttributes(m *logql.Matcher) bool { return labels.Column(m.Name) == "" }

// attributed reports whether only records with attributes are selected.
func (s *selector) attributed() bool {
	return slices.ContainsFunc(s.attributes, func(m *logql.Matcher) bool { return !m.Matches("") })
}

// undecided returns the matchers of attributes that are no labels of a stream; not ok if one of the others rejects the stream.
func (s *selector) undecided(of labels.Labels) (rest []*logql.Matcher, ok bool) {
	for _, m := range s.attributes {
		switch value := of.Get(m.Name); {
		case value == "":
			rest = append(rest, m)
		case !m.Matches(value):
			return nil, false
		}
	}
	return rest, true
}

// matchAttributes reports whether matchers match the attributes of a record. Of several attributes with the same label the first counts.
func matchAttributes(matchers []*logql.Matcher, text []byte) bool {
	return !slices.ContainsFunc(matchers, func(m *logql.Matcher) bool { return !m.Matches(attributeOf(text, m.Name)) })
}

// attributeOf returns the value of the attribute with a label; "" if there is none.
func attributeOf(text []byte, label string) string {
	if len(text) == 0 {
		return ""
	}
	for name, v := range attributes.All(text) {
		if v.Kind != message.Null && !v.IsObject() && pipeline.LabelName(name) == label {
			return string(v.Text)
		}
	}
	return ""
}

// allMatch reports whether all matchers match a value.
func allMatch(matchers []*logql.Matcher, value string) bool {
	return !slices.ContainsFunc(matchers, func(m *logql.Matcher) bool { return !m.Matches(value) })
}
