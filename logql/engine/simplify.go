package engine

import (
	"slices"

	"logstow/logql/labels"
	"logstow/logql/syntax"
)

// Simplify rewrites a log query to an equivalent one of which a source can apply more. Up to the first stage that changes
// labels, a condition on a stream label becomes a matcher, since parsers do not change labels that all streams have. Before
// the first parser, stages that filter or drop errors are removed.
func Simplify(log *syntax.LogExpr) *syntax.LogExpr {
	simple := &simplified{syntax.LogExpr{Matchers: slices.Clone(log.Matchers)}}
	for i, stage := range log.Stages {
		switch x := stage.(type) {
		case *syntax.LineFilter:
			simple.Stages = append(simple.Stages, x)
		case *syntax.DropLabels:
			if slices.ContainsFunc(x.Items, func(i syntax.LabelItem) bool { return !labels.IsError(i.Name) }) {
				simple.Stages = append(simple.Stages, log.Stages[i:]...)
				return &simple.LogExpr
			}
		case *syntax.LabelFilter:
			rest := simple.addMatchers(x.Condition, false)
			if rest != nil {
				simple.Stages = append(simple.Stages, &syntax.LabelFilter{Condition: rest})
			}
			if rest != nil && setsError(rest) {
				simple.Stages = append(simple.Stages, log.Stages[i+1:]...)
				return &simple.LogExpr
			}
		default:
			simple.addParsed(log.Stages[i:])
			return &simple.LogExpr
		}
	}
	return &simple.LogExpr
}

// addParsed adds stages from the first parser on.
func (simple *simplified) addParsed(stages []syntax.Stage) {
	for i, stage := range stages {
		switch x := stage.(type) {
		case *syntax.LineFilter, *syntax.JSONParser, *syntax.LogfmtParser, *syntax.RegexpParser, *syntax.PatternParser:
			simple.Stages = append(simple.Stages, x)
		case *syntax.LabelFilter:
			if rest := simple.addMatchers(x.Condition, true); rest != nil {
				simple.Stages = append(simple.Stages, &syntax.LabelFilter{Condition: rest})
			}
		default:
			simple.Stages = append(simple.Stages, stages[i:]...)
			return
		}
	}
}

// simplified is a log query with matchers of its own.
type simplified struct{ syntax.LogExpr }

// addMatchers adds the parts of a condition on labels of streams as matchers and returns the rest, nil if nothing is left. Behind a parser
// there may be errors.
func (simple *simplified) addMatchers(c syntax.Condition, parsed bool) (rest syntax.Condition) {
	for _, part := range syntax.Required(c) {
		x, isText := part.(*syntax.StringCondition)
		switch {
		case isText && slices.Contains(sourceLabels(), x.Matcher.Name):
			simple.Matchers = append(simple.Matchers, x.Matcher)
		case isText && !parsed && labels.IsError(x.Matcher.Name) && x.Matcher.Op == syntax.MatchEqual && x.Matcher.Value == "":
		case rest == nil:
			rest = part
		default:
			rest = &syntax.Junction{Left: rest, Right: part}
		}
	}
	return rest
}

// setsError reports whether a condition can fail to evaluate.
func setsError(c syntax.Condition) bool {
	return slices.ContainsFunc(syntax.Leaves(c), func(leaf syntax.Condition) bool {
		_, isText := leaf.(*syntax.StringCondition)
		return !isText
	})
}

// sourceLabels are the labels that records have before the first stage.
func sourceLabels() []string {
	return []string{labels.DetectedLevel, labels.Instance, labels.Level, labels.Service, labels.Source}
}

// changesLabels reports whether the stages may make the labels of a record differ from those of its stream.
func changesLabels(stages []syntax.Stage) bool {
	return slices.ContainsFunc(stages, func(s syntax.Stage) bool {
		switch x := s.(type) {
		case *syntax.LineFilter, *syntax.Decolorize:
			return false
		case *syntax.LabelFilter:
			return setsError(x.Condition)
		}
		return true
	})
}
