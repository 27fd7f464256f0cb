// Package explain lists likely reasons why a query found nothing. The layers that list and read collect [Findings], without further
// requests; [Reasons] derives the reasons from them.
package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"logstow/field/where"
	"logstow/message"
	"logstow/query/match"

	"logstow/field"
	"logstow/internal/units"
	"logstow/record"
)

// Reasons returns the likely reasons why a query found nothing, the likeliest first. Conditions that nothing in the stores can satisfy
// come first. Of other conditions it returns the last one, in the order of checks, that rejected candidates: without it there would be
// matches.
func Reasons(e *Evidence) []Reason {
	x := &explanation{Evidence: e}
	if x.services() && x.within() {
		x.fields()
		x.conditions()
		x.patterns()
	}
	if e.Defaulted && e.Segments+e.Foreign > 0 && x.rangeMayHelp() {
		x.add("default-range", "no range was given: only the last %s was searched", approximately(e.sel.Now.Sub(e.sel.From)))
		x.advise("; --since 1d searches more")
	}
	return x.reasons
}

// rangeMayHelp reports whether a longer range may contain matches. It does not if the likeliest reason is a mistake in the query.
func (x *explanation) rangeMayHelp() bool {
	return len(x.reasons) == 0 ||
		slices.Contains([]string{"range-empty", "level", "pattern", "regexp", "template", "where"}, x.reasons[0].Code)
}

// services explains services that do not exist; it reports whether others may be selected.
func (x *explanation) services() (others bool) {
	if !x.ServicesKnown {
		return true
	}
	if len(x.Services) == 0 {
		x.reasons = append(x.reasons, StoreEmpty())
		return false
	}
	others = len(x.sel.Services) == 0
	for _, name := range x.sel.Services {
		one := match.Selection{Services: []string{name}}
		switch {
		case slices.ContainsFunc(x.Services, one.MatchesService):
			others = true
		case match.IsGlob(name):
			x.add("service-unknown", "no service matches %q; %s", name, List(x.Services))
		default:
			x.reasons = append(x.reasons, UnknownService(name, x.Services))
		}
	}
	return others
}

// within explains a range without records; it reports whether there are some in it.
func (x *explanation) within() bool {
	if x.Segments+x.Foreign > 0 {
		return true
	}
	if x.Indexed {
		x.add("index", "the index has no segments of the range")
		x.advise("; --plan list reads the list of blobs instead")
		return false
	}
	now, asked := x.sel.Now, "the range has no records"
	if x.Defaulted {
		asked = fmt.Sprintf("no range was given: the last %s was searched and has no records", approximately(now.Sub(x.sel.From)))
	} else if x.sel.From.After(now) {
		asked = "the range is in the future and has no records"
	}
	if x.NewestOf == "" {
		x.add("range-empty", "%s", asked)
		return false
	}
	if x.nearestOf != "" {
		x.nearestRange(asked)
		return false
	}
	newest := x.Newest.In(now.Location())
	at := newest.Format(time.RFC3339)
	switch ahead := newest.Sub(now); {
	case ahead <= 0:
		since, flag := rangeFlag(newest, now)
		x.add("range-empty", "%s; the newest record is from %s (%s)", asked, at, x.NewestOf)
		x.advise(": %s finds it", flag)
		x.correct("", x.rangeOf(newest, since))
	case x.sel.To.After(now): // new records were wanted
		end := newest.Truncate(time.Minute).Add(time.Minute)
		x.add("future", "%s; the newest record is from %s (%s), %s ahead of now: its clock or time zone was wrong", asked, at,
			x.NewestOf, approximately(ahead))
		x.advise("; --from now --to %s finds it", end.Format(time.RFC3339))
		x.correct("", Correction{{Kind: FixRange, From: now, To: end}})
	default:
		x.add("range-empty", "%s; the newest record is from %s (%s), %s ahead of now", asked, at, x.NewestOf, approximately(ahead))
	}
	return false
}

// fields explains fields of the expression that the sample does not have.
func (x *explanation) fields() {
	read := x.read()
	if x.sample.records == 0 {
		return
	}
	explained := map[string]bool{}
	for _, use := range x.sample.uses {
		total, most := 0, message.Missing
		for kind := message.Null; kind <= message.Composite; kind++ {
			if total += use.kinds[kind]; use.kinds[kind] > use.kinds[most] {
				most = kind
			}
		}
		switch {
		case explained[use.Field]:
			continue
		case total == 0:
			x.missing(use.Use)
		case use.measured != "" && use.numbers == 0:
			x.add("field-unit", "field %q is %s in %s, such as %s: write the number with a unit, such as 100%s", use.Field, use.dimension, read,
				use.measured, map[message.Dimension]string{message.Duration: "ms", message.Size: "KiB"}[use.dimension])
		case use.Dimension != message.NoDimension && use.suitable > 0:
			continue
		case use.Dimension != message.NoDimension && use.numbers > 0:
			x.add("field-type", "field %q is a number without a unit in %s, not %s: compare it with a number", use.Field, read,
				use.Dimension)
		case use.Dimension != message.NoDimension:
			x.add("field-type", "field %q is %s in %s, not %s", use.Field, kindName(most), read, use.Dimension)
		case !fits(use, most):
			x.add("field-type", "field %q is %s in %s, not %s%s", use.Field, kindName(most), read, kindName(use.Kind), asKind(use, most))
		case len(use.Equal) > 0 && !slices.ContainsFunc(use.Equal, func(v string) bool { return slices.Contains(use.values, v) }):
			near := NearValues(use.Equal[0], use.values, x.sample.all)
			if len(near) == 0 {
				continue
			}
			x.add("value-unknown", "field %q is not %q in %s; nearest: %s", use.Field, use.Equal[0], read, strings.Join(near, ", "))
			x.correct(use.Equal[0], Alternatives(Fix{Kind: FixValue, Field: use.Field, Old: use.Equal[0]}, near)...)
		default:
			continue
		}
		explained[use.Field] = true
	}
}

// read names the records of the sample.
func (x *explanation) read() string {
	records := units.Count(x.sample.records, "record")
	if x.sample.all {
		return fmt.Sprintf("the %s read", records)
	}
	return fmt.Sprintf("a sample of %s", records)
}

// missing adds that the sample does not have a field.
func (x *explanation) missing(use where.Use) {
	name := use.Field
	if len(x.sample.names) == 0 {
		x.add("field-missing", "field %q does not occur in %s, which have no fields", name, x.read())
		return
	}
	if use.Bare {
		value := strconv.Quote(name)
		if slices.Contains([]string{"null", "none", "undefined"}, strings.ToLower(name)) {
			value = "nil"
		}
		x.add("field-missing", "field %q does not occur in %s: write %s to compare with the value", name, x.read(), value)
		x.correct(name, fixes(Fix{Kind: FixField, Old: name, New: value})...)
		return
	}
	x.add("field-missing", "field %q does not occur in %s; %s", name, x.read(), NearestOr(name, x.sample.names))
	x.correct(name, Alternatives(Fix{Kind: FixField, Old: name}, Near(name, x.sample.names))...)
}

// minValue is the minimum length in bytes of a value for which similar ones are suggested.
const minValue = 4

// NearValues returns values that the user may have meant: they differ in case, or if values are all, in spelling.
func NearValues(value string, values []string, all bool) []string {
	return slices.DeleteFunc(Near(value, values), func(near string) bool {
		return !strings.EqualFold(near, value) && (!all || len(value) < minValue)
	})
}

// fits reports whether the use can compare some values of the field, whose most frequent kind is most.
func fits(use sampledUse, most message.Kind) bool {
	if use.Kind == message.Missing || most == message.Bare {
		return true
	}
	return use.kinds[use.Kind]+use.kinds[message.Bare] > 0
}

func kindName(k message.Kind) string {
	switch k {
	case message.Null:
		return "null"
	case message.Bool:
		return "a boolean"
	case message.Number:
		return "a number"
	case message.Composite:
		return "an object or array"
	default:
		return "a string"
	}
}

// asKind returns advice how to write the comparison with a field.
func asKind(use sampledUse, most message.Kind) string {
	switch {
	case most == message.String:
		return ": quote the value it is compared with"
	case use.Kind == message.String && (most == message.Number || most == message.Bool):
		return fmt.Sprintf(": compare it without quotes, or string(%s)", field.WriteName(use.Field))
	case most == message.Composite:
		return ": name a field inside it"
	}
	return ""
}

// conditions explains the last condition, in the order of checks, that rejected candidates.
func (x *explanation) conditions() {
	n := &x.rejected
	level := x.sel.Levels != 0 && x.Foreign == 0 && x.sel.Levels.Count(x.levels) == 0
	switch {
	case level && x.levels[record.None] == x.levels.Total():
		x.add("levels-missing", "the records of the range have no level")
		x.advise("; --level - selects them")
	case level:
		x.add("level", "the records of the range have other levels: %s", levelCounts(x.levels))
	case x.sourcesKnown && !x.sel.MayMatchSources(x.sources):
		x.unknownSource(x.sel.Sources[0])
	case len(x.wantedInstances) > 0 && len(x.otherInstances) > 0:
		x.add("instance-unknown", "the range has no records of instance %q; %s", x.wantedInstances[0],
			NearestOr(x.wantedInstances[0], x.otherInstances))
	case n[match.StageSample] > 0:
		x.add("sample", "the sample has none of %s that match everything else; take a larger share, or omit --sample",
			units.Count(n[match.StageSample], "record"))
	case n[match.StageWhere]+n[match.StageUnread] > 0 && len(x.reasons) > 0: // its fields are explained
	case n[match.StageWhere] > 0 && n[match.StageUnread] > 0:
		x.add("where", "--where removed all records that match everything else")
	case n[match.StageUnread] > 0:
		x.add("where", "--where is true for none of %s that may match everything else", units.Count(n[match.StageUnread], "record"))
	case n[match.StageWhere] > 0:
		x.add("where", "--where removed %s",
			allOf(n[match.StageWhere], "record that matches everything else", "records that match everything else"))
	case n[match.StageTemplate] > 0:
		x.add("template", "--pattern removed %s", x.candidates(n[match.StageTemplate]))
	case n[match.StageExclude] > 0 && len(x.sel.Where)+len(x.sel.Templates) == 0:
		x.add("exclude", "--exclude removed %s",
			allOf(n[match.StageExclude], "record that matches everything else", "records that match everything else"))
	case n[match.StageExclude] > 0:
		x.add("exclude", "--exclude removed %s", x.candidates(n[match.StageExclude]))
	case n[match.StageRegexp] > 0:
		x.add("regexp", "--regexp removed %s%s", x.candidates(n[match.StageRegexp]), x.lineEnd())
	case n[match.StageIDs] > 0 && len(x.sel.Patterns) > 0:
		x.add("pattern", "--ids-from removed %s: they contain none of its identifiers", x.candidates(n[match.StageIDs]))
	case n[match.StageInside] > 0:
		x.add("identifier", "a pattern occurs only inside longer identifiers, in %s", units.Count(n[match.StageInside], "record"))
		x.advise("; --substring finds it there")
		x.correct("", fixes(Fix{Kind: FixSubstring})...)
	case x.otherCase > 0:
		x.add("case", "%s in another case", x.inOtherCase())
		x.advise("; -i finds %s", map[bool]string{true: "it", false: "them"}[x.otherCase == 1])
		x.correct(x.sel.Patterns[0], fixes(Fix{Kind: FixIgnoreCase})...)
	case len(x.sample.otherCase) > 0:
		for _, p := range x.sample.otherCase {
			x.add("case", "%q occurs in another case", p)
			x.advise("; -i finds it")
			x.correct(p, fixes(Fix{Kind: FixIgnoreCase})...)
		}
	case n[match.StagePattern] > 0 && len(x.sel.Patterns) > 1:
		x.passedOver()
	case n[match.StageSource] > 0:
		x.add("source", "--source removed %s; %s", x.candidates(n[match.StageSource]), List(x.anySources()))
	case n[match.StageLevel] > 0:
		x.add("level", "--level removed %s", x.candidates(n[match.StageLevel]))
	case n[match.StageTime] > 0:
		x.add("range-empty", "the range excludes %s in the segments that overlap it", x.candidates(n[match.StageTime]))
	default:
		x.passedOver()
	}
}

// unknownSource explains that no source matches a glob, which may be the name of one with characters that mean something in globs.
func (x *explanation) unknownSource(glob string) {
	near := Near(glob, x.sources)
	if slices.Contains(x.sources, glob) {
		near = []string{glob}
		x.add("source-unknown", "no source matches the glob %q, which is the name of one", glob)
		x.advise(": %s selects it", Glob(glob))
	} else {
		x.add("source-unknown", "no source matches %s; %s", quoted(x.sel.Sources), NearestOr(glob, x.sources))
	}
	x.correct(glob, Alternatives(Fix{Kind: FixSource, Old: glob}, near)...)
}

// passedOver explains conditions of which none is known to have rejected a record: blocks and records without a level, a source or a text
// that a match must have are passed over, whichever condition asks for it.
func (x *explanation) passedOver() {
	var codes, names []string
	condition := func(is bool, code, name string) {
		if is {
			codes, names = append(codes, code), append(names, name)
		}
	}
	condition(len(x.sel.Patterns) > 0, "pattern", quoted(x.sel.Patterns))
	condition(len(x.sel.IDs) > 0, "pattern", "--ids-from")
	condition(len(x.sel.Regexps) > 0, "regexp", "--regexp")
	condition(len(x.sel.Templates) > 0, "template", "--pattern")
	condition(len(x.sel.Where) > 0, "where", "--where")
	searched := x.searched()
	switch {
	case len(x.sel.Where) > 0 && len(x.reasons) > 0: // its fields are explained
	case len(names) > 1:
		x.add(codes[0], "%s meets all of %s", searched, strings.Join(names, ", "))
	case len(x.sel.Patterns) > 0:
		x.add("pattern", "%s contains %s", searched, x.allPatterns())
	case len(x.sel.IDs) > 0:
		x.add("pattern", "%s contains one of the %s of --ids-from", searched, units.Count(len(x.sel.IDs), "identifier"))
	case len(x.sel.Regexps) > 0:
		x.add("regexp", "--regexp matches %s%s", searched, x.lineEnd())
	case len(x.sel.Templates) > 0:
		x.add("template", "--pattern matches %s", searched)
	case len(x.sel.Where) > 0:
		x.add("where", "--where is true for %s", searched)
	case x.sel.Levels != 0:
		x.add("level", "no record of the range has such a level")
	default:
		x.add("range-empty", "the segments of the range have records only before and after it")
	}
}

// searched names the records of which none has a text. Those of other levels and sources were not all searched.
func (x *explanation) searched() string {
	var selects []string
	if x.sel.Levels != 0 {
		selects = append(selects, "--level")
	}
	if len(x.sel.Sources) > 0 {
		selects = append(selects, "--source")
	}
	switch {
	case len(selects) == 2:
		return "no record of the range that --level and --source select"
	case len(selects) == 1:
		return "no record of the range that " + selects[0] + " selects"
	case x.recordsKnown && x.records > 1:
		return fmt.Sprintf("none of the %s in the segments of the range", units.Count(x.records, "record"))
	}
	return "no record of the range"
}

// allPatterns reads "all of" before several patterns.
func (x *explanation) allPatterns() string {
	if len(x.sel.Patterns) > 1 {
		return "all of " + quoted(x.sel.Patterns)
	}
	return quoted(x.sel.Patterns)
}

// lineEnd returns advice if a regular expression ends with $ and lines of the sample end with a carriage return.
func (x *explanation) lineEnd() string {
	atEnd := func(expr string) bool { return strings.HasSuffix(expr, "$") && !strings.HasSuffix(expr, `\$`) }
	if x.sample.carriageReturns && slices.ContainsFunc(x.sel.Regexps, atEnd) {
		return `; lines end with a carriage return: \r?$ matches before it`
	}
	return ""
}

// anySources returns existing sources: of opened segments, or of the sample if there are none.
func (x *explanation) anySources() []string {
	if len(x.sources) > 0 {
		return x.sources
	}
	return x.sample.sources
}

// candidates describes n candidates: "all 3 records with ..." if a pattern selected them.
func (x *explanation) candidates(n uint64) string {
	switch {
	case len(x.sel.Regexps)+len(x.sel.Templates)+len(x.sel.Where) > 0 || len(x.sel.Patterns) > 1:
		return allOf(n, "candidate", "candidates")
	case len(x.sel.Patterns) == 1:
		return allOf(n, "record", "records") + fmt.Sprintf(" with %q", x.sel.Patterns[0])
	}
	return allOf(n, "record", "records")
}
