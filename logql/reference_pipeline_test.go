package logql_test

import (
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"logstow/logql/syntax"
)

// The files reference_*_test.go are a second evaluator of LogQL, written from its documentation: slow, simple, and without
// any code of the packages that it tests but the syntax tree.

// row is a record on its way through the stages.
type row struct {
	time int64
	line string
	// A label is in one of the maps. base are the names that the stream and its metadata had at the start.
	stream, metadata, parsed map[string]string
	base                     map[string]bool
	// fields are those of a line of an access log: labels, where the record has no other of the name.
	fields map[string]string
	// extracted are the names that parsers made, of which the first value is kept.
	extracted map[string]bool
	// wanted are the labels that a metric query reads, at the last of which parsers stop; nil is all.
	wanted map[string]bool
	// counted: a filter selects records with __error__, so a metric query counts them.
	counted bool
}

const refError, refDetails = "__error__", "__error_details__"

func newRow(r *refRecord) *row {
	w := &row{
		time:      r.time(),
		line:      r.Line,
		stream:    map[string]string{"service_name": r.Service, "level": r.Level, "instance": r.Instance},
		metadata:  map[string]string{"detected_level": r.Level, "source": r.Source},
		parsed:    map[string]string{},
		base:      map[string]bool{},
		extracted: map[string]bool{},
		fields:    refFields(r.Line),
	}
	for _, m := range []map[string]string{w.stream, w.metadata} {
		for name, value := range m {
			if value == "" {
				delete(m, name)
			} else {
				w.base[name] = true
			}
		}
	}
	return w
}

func (w *row) all() map[string]string {
	all := maps.Clone(w.fields)
	maps.Copy(all, w.stream)
	maps.Copy(all, w.metadata)
	maps.Copy(all, w.parsed)
	return all
}

func (w *row) get(name string) string { return w.all()[name] }

func (w *row) remove(name string) {
	delete(w.stream, name)
	delete(w.metadata, name)
	delete(w.parsed, name)
	delete(w.fields, name)
}

// refFields are the fields of an access log in the combined format.
func refFields(line string) map[string]string {
	fields := map[string]string{}
	expr := compiled(`^(?P<ip>\S+) - (?:-|(?P<user>\S+)) \[(?P<time>[^\]]+)\] "(?P<method>\S+) (?P<path>[^ ?]+)(?:\?(?P<query>\S+))? (?P<protocol>\S+)" (?P<status>\d+) (?P<bytes>\d+) "(?:-|(?P<referer>[^"]+))" "(?:-|(?P<user_agent>[^"]+))"$`)
	found := expr.FindStringSubmatch(line)
	for i, name := range expr.SubexpNames() {
		if found != nil && name != "" && found[i] != "" {
			fields[name] = found[i]
		}
	}
	return fields
}

func (w *row) set(name, value string) {
	w.remove(name)
	w.parsed[name] = value
}

func (w *row) fail(kind string) {
	w.set(refError, kind)
	w.set(refDetails, "details")
}

// extract sets a label for a parser.
func (w *row) extract(name, value string) {
	if w.base[name] {
		name += "_extracted"
	}
	if w.extracted[name] {
		return
	}
	w.extracted[name] = true
	w.parsed[name] = value
}

// foundAll reports whether parsers have found all labels that are wanted. A query that reads the error wants the whole line.
func (w *row) foundAll() bool {
	missing := func(name string) bool {
		return name == refError || name == refDetails || !w.base[name] && !w.extracted[name]
	}
	if w.wanted == nil {
		return false
	}
	parsed := false
	for name := range w.wanted {
		if missing(name) {
			return false
		}
		parsed = parsed || !w.base[name]
	}
	return parsed
}

// refMatches reports whether a value meets a matcher.
func refMatches(m *syntax.Matcher, value string) bool {
	whole := func() bool { return compiled("^(?:" + m.Value + ")$").MatchString(value) }
	switch m.Op {
	case syntax.MatchEqual:
		return value == m.Value
	case syntax.MatchNotEqual:
		return value != m.Value
	case syntax.MatchRegexp:
		return whole()
	default:
		return !whole()
	}
}

// refSelects reports whether a record is in a stream that a selector selects.
func refSelects(matchers []*syntax.Matcher, r *refRecord) bool {
	w := newRow(r)
	clear(w.fields)
	of := w.all()
	of["service"] = of["service_name"]
	for _, m := range matchers {
		if !refMatches(m, of[m.Name]) {
			return false
		}
	}
	return true
}

// process runs the stages and reports whether the record is kept.
func (w *row) process(stages []syntax.Stage) bool {
	for _, stage := range stages {
		if !w.stage(stage) {
			return false
		}
	}
	return true
}

func (w *row) stage(stage syntax.Stage) bool {
	switch s := stage.(type) {
	case *syntax.LineFilter:
		return w.lineFilter(s)
	case *syntax.LabelFilter:
		return w.holds(s.Condition)
	case *syntax.JSONParser:
		w.json(s)
	case *syntax.LogfmtParser:
		w.logfmt(s)
	case *syntax.RegexpParser:
		w.regexp(s)
	case *syntax.PatternParser:
		w.pattern(s)
	case *syntax.UnpackParser:
		w.unpack()
	case *syntax.Decolorize:
		w.line = compiled("\x1b\\[[0-9;]*[A-Za-z]").ReplaceAllString(w.line, "")
	case *syntax.LineFormat:
		if out, err := w.template(s.Template, w.all()); err != nil {
			w.fail("TemplateFormatErr")
		} else {
			w.line = out
		}
	case *syntax.LabelFormat:
		w.labelFormat(s)
	case *syntax.DropLabels:
		for _, item := range s.Items {
			if w.chosen(item) {
				w.remove(item.Name)
			}
		}
	case *syntax.KeepLabels:
		kept := map[string]bool{refError: true, refDetails: true}
		for _, item := range s.Items {
			if w.chosen(item) {
				kept[item.Name] = true
			}
		}
		for name := range w.all() {
			if !kept[name] {
				w.remove(name)
			}
		}
	default:
		panic(fmt.Sprintf("unknown stage %T", stage))
	}
	return true
}

func (w *row) chosen(item syntax.LabelItem) bool {
	return item.Matcher == nil || refMatches(item.Matcher, w.get(item.Name))
}

// labelFormat: all templates have the labels as they are before the first of them.
func (w *row) labelFormat(s *syntax.LabelFormat) {
	var before map[string]string
	for _, item := range s.Items {
		if item.Rename != "" {
			if value, ok := w.all()[item.Rename]; ok {
				w.remove(item.Rename)
				w.set(item.Label, value)
			}
			continue
		}
		if before == nil {
			before = w.all()
		}
		if out, err := w.template(item.Template, before); err != nil {
			w.fail("TemplateFormatErr")
		} else {
			w.set(item.Label, out)
		}
	}
}

func (w *row) lineFilter(s *syntax.LineFilter) bool {
	found := false
	for _, text := range s.Texts {
		switch {
		case text.IP:
			found = found || anyAddress(w.line, text.Text)
		case s.Op == syntax.LineContains || s.Op == syntax.LineNotContain:
			found = found || strings.Contains(w.line, text.Text)
		case s.Op == syntax.LineRegexp || s.Op == syntax.LineNotRegexp:
			found = found || compiled(text.Text).MatchString(w.line)
		default:
			found = found || refPattern(w.line, strings.Split(text.Text, "<_>"))
		}
	}
	switch s.Op {
	case syntax.LineNotContain, syntax.LineNotRegexp, syntax.LineNotPattern:
		return !found
	}
	return found
}

// refPattern: as of the parser pattern, a capture ends where the next literal occurs first, but the pattern may begin anywhere, has to
// end with the line, and no capture is empty.
func refPattern(line string, literals []string) bool {
	rest := line
	for i, literal := range literals {
		captured, behind, found := strings.Cut(rest, literal)
		if i > 0 && i == len(literals)-1 && literal == "" {
			captured, behind = rest, ""
		}
		if !found || i > 0 && captured == "" {
			return false
		}
		rest = behind
	}
	return rest == ""
}

// holds reports whether a condition on labels is met.
func (w *row) holds(c syntax.Condition) bool {
	switch c := c.(type) {
	case *syntax.Junction:
		if c.Or {
			return w.holds(c.Left) || w.holds(c.Right)
		}
		return w.holds(c.Left) && w.holds(c.Right)
	case *syntax.StringCondition:
		value := w.get(c.Matcher.Name)
		met := refMatches(c.Matcher, value)
		if met && c.Matcher.Name == refError && value != "" {
			w.counted = true
		}
		return met
	case *syntax.NumberCondition:
		return w.compare(c)
	case *syntax.IPCondition:
		value := w.get(c.Name)
		if w.get(refError) != "" {
			return true
		}
		if value == "" {
			return false
		}
		return anyAddress(value, c.Range) != c.Not
	default:
		panic(fmt.Sprintf("unknown condition %T", c))
	}
}

// compare: what cannot be converted stays, with an error; a missing label is filtered out, whatever error the record has.
func (w *row) compare(c *syntax.NumberCondition) bool {
	value := w.get(c.Name)
	if value == "" { // as if it was missing
		return false
	}
	convert := map[syntax.Unit]func(string) (float64, error){
		syntax.UnitNone: refFloat, syntax.UnitDuration: refSeconds, syntax.UnitBytes: refBytes,
	}[c.Unit]
	n, err := convert(value)
	if err != nil {
		w.fail("LabelFilterErr")
		return true
	}
	switch c.Op {
	case syntax.OpEqual:
		return n == c.Value
	case syntax.OpNotEqual:
		return n != c.Value
	case syntax.OpGreater:
		return n > c.Value
	case syntax.OpGreaterEqual:
		return n >= c.Value
	case syntax.OpLess:
		return n < c.Value
	default:
		return n <= c.Value
	}
}

func refFloat(s string) (float64, error) { return strconv.ParseFloat(s, 64) }

func refSeconds(s string) (float64, error) {
	d, err := time.ParseDuration(s)
	return d.Seconds(), err
}

func refBytes(s string) (float64, error) {
	parts := compiled(`^([0-9.]+) ?([a-zA-Z]*)$`).FindStringSubmatch(s)
	if parts == nil {
		return 0, fmt.Errorf("no number of bytes: %q", s)
	}
	factors := map[string]float64{"": 1, "b": 1}
	for i, letter := range []string{"k", "m", "g", "t"} {
		decimal, binary := 1.0, 1.0
		for range i + 1 {
			decimal, binary = decimal*1000, binary*1024
		}
		factors[letter], factors[letter+"b"] = decimal, decimal
		factors[letter+"i"], factors[letter+"ib"] = binary, binary
	}
	factor, ok := factors[strings.ToLower(parts[2])]
	if !ok {
		return 0, fmt.Errorf("no unit of bytes: %q", s)
	}
	n, err := strconv.ParseFloat(parts[1], 64)
	return n * factor, err
}

// anyAddress reports whether a text contains an address of a range: one, from-to or a CIDR.
func anyAddress(text, of string) bool {
	for _, word := range compiled(`[0-9]+(\.[0-9]+){3}|[0-9a-fA-F]*:[0-9a-fA-F:]+`).FindAllString(text, -1) {
		addr, err := netip.ParseAddr(word)
		if err != nil {
			continue
		}
		if prefix, err := netip.ParsePrefix(of); err == nil {
			if prefix.Masked().Contains(addr) {
				return true
			}
			continue
		}
		first, last, isRange := strings.Cut(of, "-")
		if !isRange {
			last = first
		}
		if netip.MustParseAddr(first).Compare(addr) <= 0 && addr.Compare(netip.MustParseAddr(last)) <= 0 {
			return true
		}
	}
	return false
}
