package correct

import (
	"regexp"
	"slices"
	"strings"

	"logstow/logql/syntax"
	"logstow/query/explain"
)

// filters are the line filters that the fix puts in place of others, in any case or not.
func (e *edit) filters() func(fold bool) string {
	return func(fold bool) string {
		var all []string
		switch f := e.fix; f.Kind {
		case explain.FixExclude:
			all = append(all, lineFilter(f.New, true, fold))
		case explain.FixAny:
			all = append(all, anyOf(f.Words, fold))
		default:
			for _, w := range f.Words {
				all = append(all, lineFilter(w, false, fold))
			}
		}
		return strings.Join(all, " ")
	}
}

// anyOf is a line filter that finds one of several texts.
func anyOf(texts []string, fold bool) string {
	if fold {
		return "|~ " + quote("(?i)("+anyExpr(texts)+")")
	}
	return "|~ " + quote(anyExpr(texts))
}

// anyExpr is a regular expression that finds one of several texts.
func anyExpr(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = regexp.QuoteMeta(text)
	}
	return strings.Join(quoted, "|")
}

// textOf returns the only text that a line filter wants, and whether in any case.
func textOf(s syntax.Stage) (text string, fold, ok bool) {
	f, ok := s.(*syntax.LineFilter)
	if !ok || len(f.Texts) != 1 || f.Texts[0].IP {
		return "", false, false
	}
	if f.Op == syntax.LineContains {
		return f.Texts[0].Text, false, true
	}
	text, fold = f.Folded()
	return text, fold, fold && f.Op == syntax.LineRegexp
}

// replace removes the line filters of the texts that the fix replaces, and puts others in place of the first.
func (e *edit) replace(by func(fold bool) string) {
	place := -1
	var folded bool
	for _, wanted := range e.fix.Replaces {
		i := slices.IndexFunc(e.log.Stages, func(s syntax.Stage) bool {
			text, _, ok := textOf(s)
			return ok && text == wanted
		})
		if i < 0 {
			continue
		}
		if place < 0 {
			place = i
			_, folded, _ = textOf(e.log.Stages[i])
		}
		e.log.Stages = slices.Delete(e.log.Stages, i, i+1)
	}
	if place >= 0 && by != nil {
		e.log.Stages = slices.Insert(e.log.Stages, min(place, len(e.log.Stages)), stages(by(folded))...)
	}
}

// ignoreCase makes line filters of texts ignore their case.
func (e *edit) ignoreCase() {
	for i, s := range e.log.Stages {
		f, ok := s.(*syntax.LineFilter)
		if !ok || (f.Op != syntax.LineContains && f.Op != syntax.LineNotContain) ||
			slices.ContainsFunc(f.Texts, func(t syntax.LineText) bool { return t.IP }) {
			continue
		}
		var texts []string
		for _, t := range f.Texts {
			texts = append(texts, t.Text)
		}
		text := anyOf(texts, true)
		if len(texts) == 1 {
			text = lineFilter(texts[0], false, true)
		}
		if f.Op == syntax.LineNotContain {
			text = "!~" + strings.TrimPrefix(text, "|~")
		}
		if parsed := stages(text); len(parsed) == 1 {
			e.log.Stages[i] = parsed[0]
		}
	}
}
