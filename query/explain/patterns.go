package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"logstow/filter/token"
	"logstow/internal/suggest"
	"logstow/internal/units"
	"logstow/message"
	"logstow/query/match"
	"logstow/record"
)

// patterns explains patterns by which the user may have meant something else than their text, or a part of an identifier.
func (x *explanation) patterns() {
	if x.meanings() {
		return
	}
	selector := regexp.MustCompile("^{\\s*\\w+\\s*(=~?|!=|!~)\\s*[\"'`]")
	for _, p := range x.sel.Patterns {
		if selector.MatchString(p) {
			x.add("meaning", "%q was searched as text; logq ql runs LogQL", p)
		}
		if slices.Contains(x.planned, p) {
			x.add("service-name", "%q is a service", p)
			x.advise(": -s %s selects it", p)
			x.correct(p, fixes(Fix{Kind: FixSelectService, New: p, Replaces: []string{p}})...)
		}
		if set, err := record.ParseLevels(p); err == nil && x.sel.Levels == 0 && set.Count(x.levels) > 0 {
			x.add("level-name", "%q is a level, of %s", p, units.Count(set.Count(x.levels), "record"))
			last := &x.reasons[len(x.reasons)-1]
			last.Fact, last.Text = last.Text, fmt.Sprintf("%q is a level: -l %s selects %s", p, strings.ToLower(p),
				units.Count(set.Count(x.levels), "record"))
			x.correct(p, fixes(Fix{Kind: FixLevel, New: levelOf(p), Replaces: []string{p}})...)
		}
	}
	if x.sel.Substring || x.rejected[match.StageInside] > 0 {
		return
	}
	for _, p := range x.sel.Patterns {
		if token.Whole([]byte(p)) {
			x.add("identifier", "%q was matched as a whole identifier", p)
			x.advise("; --substring also finds it inside longer ones, and reads up to %s", units.FormatSize(x.bytes))
		}
	}
}

// meanings adds one reason for all patterns by which the user probably meant something else, so that one correction has all. It is in
// place of the reason that no record has the texts. It reports whether there are such patterns.
func (x *explanation) meanings() bool {
	found := Meanings(x.sel.Patterns, Known{
		Level: func(set record.LevelSet) bool { return x.Foreign > 0 || set.Count(x.levels) > 0 },
		Service: func(name string) string {
			services := append(slices.Clone(x.planned), x.Services...)
			if slices.Contains(services, name) {
				return name
			}
			return suggest.Nearest(name, services)
		},
		Field: x.meantField,
	})
	if len(found) == 0 {
		return false
	}
	var r Reason
	r.Code, r.Corrections = "meaning", []Correction{nil}
	var texts, facts []string
	for _, m := range found {
		texts, facts = append(texts, m.Args), append(facts, m.LogQL)
		r.Culprits = append(r.Culprits, m.Replaces...)
		r.Corrections[0] = append(r.Corrections[0], m.Fix)
	}
	r.Text, r.Fact = strings.Join(texts, "; "), strings.Join(facts, "; ")
	x.reasons = slices.DeleteFunc(x.reasons, func(r Reason) bool { return r.Code == "pattern" })
	x.reasons = slices.Insert(x.reasons, 0, r)
	return true
}

// meantField returns the field of the sample that a name means, and whether its values are text. Without a sample that is the name.
func (x *explanation) meantField(name string) (string, bool) {
	if len(x.sample.names) == 0 {
		return name, false
	}
	if !slices.Contains(x.sample.names, name) {
		near := slices.DeleteFunc(Near(name, x.sample.names), func(near string) bool { return !mayMean(name, near) })
		if len(near) == 0 {
			return "", false
		}
		name = near[0]
	}
	kind := x.sample.kindOf[name]
	return name, kind == message.String
}

// mayMean reports whether a name may be meant by another: the last part of a path, or one that differs by few letters.
func mayMean(name, near string) bool {
	return strings.HasSuffix(near, "."+name) || suggest.Nearest(name, []string{near}) != ""
}

// inOtherCase reads "3 records have the texts".
func (x *explanation) inOtherCase() string {
	verb, text := "contain", "all texts"
	if x.otherCase == 1 {
		verb = "contains"
	}
	if len(x.sel.Patterns) == 1 {
		text = fmt.Sprintf("%q", x.sel.Patterns[0])
	}
	return fmt.Sprintf("%s %s %s", units.Count(x.otherCase, "record"), verb, text)
}
