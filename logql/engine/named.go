package engine

import (
	"slices"
	"strings"

	"logstow/logql/labels"
	"logstow/logql/syntax"
)

// hiddenMetadata are the names of structured metadata that a query does not name in groupings, matchings, filters, formats or
// label_replace, sorted. Its series do not have these labels.
func hiddenMetadata(query syntax.SampleExpr) []string {
	var hidden []string
	for _, name := range []string{labels.DetectedLevel, labels.Source} {
		if !namesLabel(query, name) {
			hidden = append(hidden, name)
		}
	}
	return hidden
}

func namesLabel(expr syntax.SampleExpr, name string) bool {
	switch x := expr.(type) {
	case *syntax.RangeAggregation:
		return groupingNames(x.Grouping, name) || stagesName(x.Range.Log.Stages, name) || unwrapNames(x.Range.Unwrap, name)
	case *syntax.VectorAggregation:
		return groupingNames(x.Grouping, name) || namesLabel(x.Inner, name)
	case *syntax.Binary:
		m := x.Matching
		return m != nil && (slices.Contains(m.Labels, name) || slices.Contains(m.Include, name)) || namesLabel(x.Left, name) || namesLabel(x.Right, name)
	case *syntax.LabelReplace:
		return x.Src == name || namesLabel(x.Inner, name)
	}
	return false
}

func groupingNames(g *syntax.Grouping, name string) bool {
	return g != nil && slices.Contains(g.Labels, name)
}

func unwrapNames(u *syntax.Unwrap, name string) bool {
	return u != nil && slices.ContainsFunc(u.Filters, func(f *syntax.LabelFilter) bool { return slices.Contains(conditionLabels(f.Condition), name) })
}

func stagesName(stages []syntax.Stage, name string) bool {
	return slices.ContainsFunc(stages, func(s syntax.Stage) bool {
		switch x := s.(type) {
		case *syntax.LabelFilter:
			return slices.Contains(conditionLabels(x.Condition), name)
		case *syntax.LineFormat:
			return strings.Contains(x.Template, "."+name)
		case *syntax.LabelFormat:
			return slices.ContainsFunc(x.Items, func(i syntax.LabelFormatItem) bool {
				return i.Label == name || i.Rename == name || strings.Contains(i.Template, "."+name)
			})
		case *syntax.KeepLabels:
			return slices.ContainsFunc(x.Items, func(i syntax.LabelItem) bool { return i.Name == name })
		}
		return false
	})
}
