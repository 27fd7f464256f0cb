package engine

import (
	"regexp"
	"slices"

	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/logql/syntax"
)

// named are the labels that a query names in groupings, matchings, filters, formats, unwrap or label_replace.
type named []string

// namedLabels returns the labels that a query names.
func namedLabels(query syntax.SampleExpr) named {
	var n named
	n.addExpr(query)
	return n
}

// hiddenMetadata are the names of structured metadata that the query does not name, sorted. Its series do not have these labels.
func (n named) hiddenMetadata() []string {
	return slices.DeleteFunc([]string{labels.DetectedLevel, labels.Source}, func(name string) bool { return slices.Contains(n, name) })
}

// fields returns the names that may be fields of text: see [pipeline.Processor.ReadFields].
func (n named) fields() []string {
	return slices.DeleteFunc(slices.Clone(n), func(name string) bool { return !pipeline.MayBeField(name) })
}

func (n *named) add(names ...string) { *n = append(*n, names...) }

func (n *named) addExpr(expr syntax.SampleExpr) {
	switch x := expr.(type) {
	case *syntax.RangeAggregation:
		n.addGrouping(x.Grouping)
		n.addStages(x.Range.Log.Stages)
		if u := x.Range.Unwrap; u != nil {
			n.add(u.Label)
			for _, f := range u.Filters {
				n.addCondition(f.Condition)
			}
		}
	case *syntax.VectorAggregation:
		n.addGrouping(x.Grouping)
		n.addExpr(x.Inner)
	case *syntax.Binary:
		if m := x.Matching; m != nil {
			n.add(m.Labels...)
			n.add(m.Include...)
		}
		n.addExpr(x.Left)
		n.addExpr(x.Right)
	case *syntax.LabelReplace:
		n.add(x.Src)
		n.addExpr(x.Inner)
	}
}

func (n *named) addGrouping(g *syntax.Grouping) {
	if g != nil {
		n.add(g.Labels...)
	}
}

func (n *named) addCondition(c syntax.Condition) {
	for _, leaf := range syntax.Leaves(c) {
		n.add(syntax.LabelOf(leaf))
	}
}

func (n *named) addStages(stages []syntax.Stage) {
	for _, s := range stages {
		switch x := s.(type) {
		case *syntax.LabelFilter:
			n.addCondition(x.Condition)
		case *syntax.LineFormat:
			n.addTemplate(x.Template)
		case *syntax.LabelFormat:
			for _, item := range x.Items {
				n.add(item.Label, item.Rename)
				n.addTemplate(item.Template)
			}
		case *syntax.KeepLabels:
			for _, item := range x.Items {
				n.add(item.Name)
			}
		}
	}
}

// addTemplate adds the names that follow a dot in a template.
func (n *named) addTemplate(text string) {
	for _, found := range regexp.MustCompile(`\.([A-Za-z_]\w*)`).FindAllStringSubmatch(text, -1) {
		n.add(found[1])
	}
}
