package storage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"logstow/logql/pipeline"
	"logstow/logql/syntax"
	"logstow/query"
	"logstow/query/explain"
)

const (
	// explainedLines is the number of records whose fields are compared with label filters, explainedValues that of values of each.
	explainedLines  = 1000
	explainedValues = 1000
)

// stages explains why no record passes the label matchers and the stages, although the services have records that the line filters
// find.
func (x *explanation) stages(ctx context.Context) ([]query.Reason, error) {
	fields, err := x.fields(ctx)
	if err != nil {
		return nil, err
	}
	if r := x.unknownLabel(fields); r != nil {
		return []query.Reason{*r}, nil
	}
	var reasons []query.Reason
	parsers, named := map[string]bool{}, false // named is set if a stage gives names to labels
	for _, stage := range x.log.Stages {
		switch s := stage.(type) {
		case *syntax.JSONParser:
			parsers["json"], named = true, named || len(s.Extractions) > 0
		case *syntax.LogfmtParser:
			parsers["logfmt"], named = true, named || len(s.Extractions) > 0
		case *syntax.LabelFilter:
			if named {
				continue
			}
			for _, c := range syntax.Required(s.Condition) {
				if r := fieldReason(c, fields, parsers); r != nil {
					reasons = append(reasons, *r)
				}
			}
		case *syntax.LineFilter, *syntax.Decolorize:
		default:
			named = true
		}
	}
	if len(reasons) > 0 {
		return reasons, nil
	}
	return x.unknown(), nil
}

// unknown is the reason if no other is found.
func (x *explanation) unknown() []query.Reason {
	r := query.Reason{Code: explain.CodeStage, Corrections: []explain.Correction{{{Kind: explain.FixSelector}}}}
	switch {
	case x.opts.Metric:
		r.Fact = "the services have records in the window, but a label, a line filter, a stage or a comparison excludes them all, or absent_over_time finds some"
	default:
		r.Fact = "the services have records in the range, but a label, a line filter or a stage excludes them all"
	}
	r.Text = r.Fact + "; try the selector alone"
	return []query.Reason{r}
}

// fields are those of the newest records that the line filters find.
func (x *explanation) fields(ctx context.Context) ([]Field, error) {
	log := &syntax.LogExpr{}
	for _, m := range x.log.Matchers {
		if !selectsAttributes(m) {
			log.Matchers = append(log.Matchers, m)
		}
	}
	for _, stage := range x.log.Stages {
		if _, ok := stage.(*syntax.LineFilter); !ok {
			break
		}
		log.Stages = append(log.Stages, stage)
	}
	return x.view.Fields(ctx, log, max(x.sel.From, x.read), x.sel.To, explainedLines, explainedValues)
}

// parsed completes corrections that compare fields: with the labels of the fields, and the parsers that find them.
func (x *explanation) parsed(ctx context.Context, reasons []query.Reason) []query.Reason {
	var fields []Field
	for i := range reasons {
		for _, correction := range reasons[i].Corrections {
			for j := range correction {
				f := &correction[j]
				if f.Kind != explain.FixCondition {
					continue
				}
				if fields == nil {
					fields, _ = x.view.Fields(ctx, &syntax.LogExpr{Matchers: x.log.Matchers}, max(x.sel.From, x.read),
						x.sel.To, explainedLines, 0) // json is assumed without them
				}
				name := pipeline.LabelName(f.Field)
				f.Field, f.Parser = name, "json"
				if k := slices.IndexFunc(fields, func(field Field) bool { return field.Label == name }); k >= 0 {
					f.Parser = fields[k].Parser
				}
			}
		}
	}
	return reasons
}

// fieldReason returns the reason why a comparison is false for all records; nil if none is known.
func fieldReason(c syntax.Condition, fields []Field, parsers map[string]bool) *query.Reason {
	name := syntax.LabelOf(c)
	number, isNumber := c.(*syntax.NumberCondition)
	text, isText := c.(*syntax.StringCondition)
	if strings.HasPrefix(name, "__") || !isNumber && (!isText || text.Matcher.Matches("")) {
		return nil
	}
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Label == name })
	if i < 0 {
		return missingField(name, fields, parsers)
	}
	f := &fields[i]
	switch {
	case f.Parser != "" && !parsers[f.Parser]:
		return reasonOf("parser-missing", name, fmt.Sprintf("field %s of the messages is a label only after | %s", name, f.Parser),
			explain.Correction{{Kind: explain.FixParser, Field: name, Parser: f.Parser}})
	case isNumber:
		return unitReason(number, f)
	case text.Matcher.Op != syntax.MatchEqual || f.Cardinality > uint64(len(f.Values)) || slices.Contains(f.Values, text.Matcher.Value):
		return nil
	}
	near := explain.NearValues(text.Matcher.Value, f.Values, true)
	if len(near) == 0 {
		return nil
	}
	r := reasonOf("value-unknown", text.Matcher.Value,
		fmt.Sprintf("%s is not %q in the newest records; nearest: %s", name, text.Matcher.Value, strings.Join(near, ", ")))
	r.Corrections = explain.Alternatives(explain.Fix{Kind: explain.FixValue, Field: name, Old: text.Matcher.Value}, near)
	return r
}

func missingField(name string, fields []Field, parsers map[string]bool) *query.Reason {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].Label
	}
	advice := "there are no fields"
	if len(names) > 0 {
		advice = explain.NearestOr(name, names)
	}
	r := reasonOf("field-missing", name, fmt.Sprintf("field %s does not occur in the newest records; %s", name, advice))
	for _, one := range explain.Near(name, names) {
		correction := explain.Correction{{Kind: explain.FixField, Old: name, New: one}}
		if i := slices.Index(names, one); fields[i].Parser != "" && !parsers[fields[i].Parser] {
			correction = append(correction, explain.Fix{Kind: explain.FixParser, Field: one, Parser: fields[i].Parser})
		}
		r.Corrections = append(r.Corrections, correction)
	}
	return r
}

// unitReason returns the reason if numbers are compared with values of another unit.
func unitReason(c *syntax.NumberCondition, f *Field) *query.Reason {
	examples := strings.Join(f.Values[:min(1, len(f.Values))], "")
	switch {
	case f.Type == "duration" && c.Unit == syntax.UnitNone, f.Type == "bytes" && c.Unit == syntax.UnitNone:
		return reasonOf("field-unit", c.Text,
			fmt.Sprintf("%s is a %s, such as %s: write the number with a unit", c.Name, strings.TrimSuffix(f.Type, "s"), examples))
	case (f.Type == "int" || f.Type == "float") && c.Unit != syntax.UnitNone:
		return reasonOf("field-type", c.Text,
			fmt.Sprintf("%s is a number without a unit, such as %s: compare it with a number", c.Name, examples))
	case f.Type == "string" && c.Op != syntax.OpNotEqual:
		return reasonOf("field-type", c.Text, fmt.Sprintf("%s is text, such as %q: compare it with a text in quotes", c.Name, examples))
	}
	return nil
}
