package storage

import (
	"strings"

	"logstow/logql/labels"
	"logstow/logql/syntax"
	"logstow/query"
	"logstow/query/patterns"
)

// Applied is the number of first stages that reading applies exactly: line filters that are conditions of a selection.
func (v *View) Applied(log *syntax.LogExpr) int {
	var f filters
	f.add(log.Stages)
	return f.applied
}

// filters are the conditions of a selection that correspond to stages. Some reject fewer records than the stages.
type filters struct {
	query.Selection
	// applied is the number of first stages that are applied exactly.
	applied int

	// whole is set if the values of all parsers so far are whole tokens of the line.
	whole bool
	// relabelled is set after stages that make labels from anything but the line.
	relabelled bool
}

// add adds stages, up to one that changes the line.
func (f *filters) add(stages []syntax.Stage) {
	exact := true
	f.whole = true
	for i, stage := range stages {
		applied := false
		switch stage := stage.(type) {
		case *syntax.LineFilter:
			applied = f.addLine(stage)
		case *syntax.LabelFilter:
			f.addLabel(stage.Condition)
		case *syntax.JSONParser, *syntax.LogfmtParser:
		case *syntax.RegexpParser, *syntax.PatternParser:
			f.whole = false
		case *syntax.LabelFormat, *syntax.DropLabels, *syntax.KeepLabels:
			f.relabelled = true
		case *syntax.LineFormat, *syntax.Decolorize, *syntax.UnpackParser:
			return
		}
		if exact = exact && applied; exact {
			f.applied = i + 1
		}
	}
}

// addLine adds a line filter. It returns false if the selection has less of it than all.
func (f *filters) addLine(filter *syntax.LineFilter) bool {
	for _, t := range filter.Texts {
		if t.IP || strings.Contains(t.Text, "\n") {
			return false
		}
	}
	switch filter.Op {
	case syntax.LineContains:
		return f.addContains(filter.Texts)
	case syntax.LineNotContain:
		for _, t := range filter.Texts {
			if t.Text == "" {
				return false
			}
		}
		for _, t := range filter.Texts {
			f.Excludes = append(f.Excludes, t.Text)
		}
		return true
	case syntax.LineRegexp:
		if len(filter.Texts) > 1 {
			return false
		}
		f.Regexps = append(f.Regexps, filter.Texts[0].Regexp.String())
		return true
	case syntax.LinePattern:
		if len(filter.Texts) == 1 {
			for _, literal := range strings.Split(filter.Texts[0].Text, patterns.Wildcard) {
				if literal != "" {
					f.Patterns = append(f.Patterns, literal)
				}
			}
		}
	}
	return false
}

// addContains adds |= with its alternatives. A selection has room for one list of alternatives.
func (f *filters) addContains(texts []syntax.LineText) bool {
	for _, t := range texts {
		if t.Text == "" {
			return true // every line contains it
		}
	}
	if len(texts) == 1 {
		f.Patterns = append(f.Patterns, texts[0].Text)
		return true
	}
	if f.IDs != nil {
		return false
	}
	for _, t := range texts {
		f.IDs = append(f.IDs, t.Text)
	}
	return true
}

// addLabel adds the values of labels that a condition requires.
func (f *filters) addLabel(c syntax.Condition) {
	if f.relabelled {
		return
	}
	for _, part := range syntax.Required(c) {
		text, ok := part.(*syntax.StringCondition)
		if !ok || text.Matcher.Op != syntax.MatchEqual || strings.HasPrefix(text.Matcher.Name, "__") {
			continue
		}
		if selectsAttributes(text.Matcher) || text.Matcher.Name == labels.ServiceAlias { // the line may not contain others
			f.addValue(text.Matcher.Value)
		}
	}
}

// addValue adds the value of a label that is a part of the line: its parts without characters that JSON, logfmt or a format of
// text may escape in another way than \u.
func (f *filters) addValue(value string) {
	parts := strings.FieldsFunc(value, func(r rune) bool { return r < ' ' || r >= 0x7f || strings.ContainsRune(`"'\/{|}#`, r) })
	for _, part := range parts {
		f.Hints = append(f.Hints, query.Hint{Text: part, Whole: f.whole && part == value})
	}
}
