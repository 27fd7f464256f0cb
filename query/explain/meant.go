package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"logstow/field"
	"logstow/internal/shell"
	"logstow/internal/suggest"
	"logstow/record"
)

// Meant is what a user probably meant by patterns that were searched as text.
type Meant struct {
	Fix
	// Args and LogQL say so to a user of the command line and of LogQL.
	Args, LogQL string
}

// Known is what is known of the records, to decide whether a pattern may be a condition on them. A nil function accepts everything.
type Known struct {
	// Level reports whether there are records with one of some levels.
	Level func(record.LevelSet) bool
	// Service returns the service that a name means; "" is none.
	Service func(name string) string
	// Field returns the field that a name means, "" for none, and whether its values are text.
	Field func(name string) (meant string, text bool)
}

// Conditions as people type them: level:error, status = 500, took>1s.
const conditionForm = `^([A-Za-z_@][A-Za-z0-9_.@-]*)(:|\s*(?:==|=|!=|>=|<=|>|<)\s*)(.+)$`

// Meanings finds patterns by which the user may have meant something else than their text: conditions on level, service and fields,
// words between patterns (AND, OR, NOT), quotes and wildcards.
func Meanings(patterns []string, known Known) []Meant {
	r := &reader{patterns: patterns, known: known, condition: regexp.MustCompile(conditionForm)}
	for r.next < len(patterns) {
		r.read()
	}
	return r.found
}

// isCondition reports whether a pattern has the form of a condition.
func isCondition(pattern string) bool { return regexp.MustCompile(conditionForm).MatchString(pattern) }

// reader reads patterns from the first to the last.
type reader struct {
	patterns  []string
	known     Known
	condition *regexp.Regexp
	next      int
	found     []Meant
}

func (r *reader) add(f Fix, args, logql string) { r.found = append(r.found, Meant{f, args, logql}) }

// read reads the next pattern, with those that belong to it.
func (r *reader) read() {
	p := r.patterns[r.next]
	last := r.next == len(r.patterns)-1
	switch {
	case !last && isWord(r.patterns[r.next+1], "or", "||") && r.next+2 < len(r.patterns):
		r.readAny()
		return
	case isWord(p, "and", "&&") && r.next > 0 && !last:
		text := fmt.Sprintf("%q was searched as text; all words must occur, without AND between them", p)
		r.add(Fix{Kind: FixWords, Replaces: []string{p}}, text, text)
	case isWord(p, "not") && !last:
		not := r.patterns[r.next+1]
		r.add(Fix{Kind: FixExclude, Replaces: []string{p, not}, New: not}, fmt.Sprintf("%q was searched as text; -x %s excludes a text",
			p, shell.Quote(not)),
			fmt.Sprintf("%q was searched as text; != %q excludes a text", p, not))
		r.next++
	case strings.Contains(p, " AND "):
		r.add(Fix{Kind: FixWords, Replaces: []string{p}, Words: split(p, " AND ")}, fmt.Sprintf("%q was searched as one text; texts that must all occur are arguments of their own",
			p),
			fmt.Sprintf("%q was searched as one text; texts that must all occur have line filters of their own", p))
	case strings.Contains(p, " OR "):
		r.any([]string{p}, split(p, " OR "))
	default:
		r.readOne(p)
	}
	r.next++
}

// readOne reads a pattern that stands alone.
func (r *reader) readOne(p string) {
	if m := r.condition.FindStringSubmatch(p); m != nil && !strings.HasPrefix(m[3], "//") {
		r.readCondition(p, m[1], strings.TrimSpace(m[2]), unquote(m[3]))
		return
	}
	if text := unquote(p); text != p && text != "" {
		said := fmt.Sprintf("the quotes of %s were searched too", p)
		r.add(Fix{Kind: FixWords, Replaces: []string{p}, Words: []string{text}}, said, said)
		return
	}
	if text := strings.Trim(p, "*"); text != p && text != "" && !strings.Contains(text, "*") {
		said := fmt.Sprintf("the * of %q was searched as text: a pattern is found anywhere without it", p)
		r.add(Fix{Kind: FixWords, Replaces: []string{p}, Words: []string{text}}, said, said)
	}
}

// readAny reads alternatives with OR between them.
func (r *reader) readAny() {
	replaces, words := []string{r.patterns[r.next]}, []string{r.patterns[r.next]}
	for r.next++; r.next+1 < len(r.patterns) && isWord(r.patterns[r.next], "or", "||"); r.next += 2 {
		replaces = append(replaces, r.patterns[r.next], r.patterns[r.next+1])
		words = append(words, r.patterns[r.next+1])
	}
	r.any(replaces, words)
}

func (r *reader) any(replaces, words []string) {
	said := "OR was searched as text; "
	r.add(Fix{Kind: FixAny, Replaces: replaces, Words: words}, said+"-e finds records with one of several texts",
		said+"a regular expression finds records with one of several texts")
}

// readCondition reads a pattern of the form of a condition.
func (r *reader) readCondition(p, name, op, value string) {
	f := Fix{Replaces: []string{p}, Op: op}
	if op == ":" || op == "==" {
		f.Op = "="
	}
	searched := fmt.Sprintf("%q was searched as text; ", p)
	switch {
	case isWord(name, "level", "severity", "lvl", "loglevel", "log_level", "log.level", "detected_level") && f.Op == "=":
		f.Kind, f.New = FixLevel, levelOf(value)
		if set, err := record.ParseLevels(f.New); err == nil && (r.known.Level == nil || r.known.Level(set)) {
			r.add(f, searched+fmt.Sprintf("-l %s selects the level", f.New), searched+fmt.Sprintf("level=%q selects the level", f.New))
			return
		}
	case isWord(name, "service", "service_name", "svc") && f.Op == "=":
		f.Kind, f.New = FixSelectService, value
		if r.known.Service != nil {
			f.New = r.known.Service(value)
		}
		if f.New != "" {
			r.add(f, searched+fmt.Sprintf("-s %s selects the service", f.New),
				searched+fmt.Sprintf("service_name=%q selects the service", f.New))
		}
		return
	}
	r.readField(f, name, value, searched)
}

// readField reads a condition on a field.
func (r *reader) readField(f Fix, name, value, searched string) {
	f.Kind, f.Field, f.New = FixCondition, name, value
	_, err := strconv.ParseFloat(value, 64)
	f.Text = err != nil
	if r.known.Field != nil {
		var text bool
		if f.Field, text = r.known.Field(name); f.Field == "" {
			return
		}
		f.Text = f.Text || text
	}
	if ordered := strings.ContainsAny(f.Op, "<>"); ordered && f.Text && value[0]-'0' < 10 { // 1s
		f.Text = false
	} else if ordered && f.Text {
		return
	}
	r.add(f, searched+fmt.Sprintf("--where %s compares the field", shell.Quote(f.Where())),
		searched+fmt.Sprintf("| %s compares the field", f.Label(f.Field)))
}

// Where is the condition of a [FixCondition] as an expression of --where.
func (f *Fix) Where() string {
	op, value := f.Op, f.New
	if op == "=" {
		op = "=="
	}
	if f.Text {
		value = strconv.Quote(value)
	}
	return field.WriteName(f.Field) + " " + op + " " + value
}

// Label is the condition of a [FixCondition] as a filter of a label in LogQL.
func (f *Fix) Label(name string) string {
	if f.Text {
		return name + f.Op + strconv.Quote(f.New)
	}
	return name + f.Op + f.New
}

// levelOf is the name of a level for one of its aliases, or the nearest name.
func levelOf(value string) string {
	if l := record.LevelFromAlias(value); l != record.None {
		return strings.ToLower(l.String())
	}
	return suggest.Nearest(value, LevelNames())
}

// LevelNames are the names of levels.
func LevelNames() []string { return []string{"trace", "debug", "info", "warn", "error", "fatal"} }

func isWord(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(text, w) })
}

func split(text, by string) (parts []string) {
	for part := range strings.SplitSeq(text, by) {
		if part = unquote(strings.TrimSpace(part)); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// unquote removes quotes around a text, also those that a word processor makes.
func unquote(text string) string {
	for _, pair := range []string{`""`, "''", "“”", "``"} {
		quotes := []rune(pair)
		if rest, ok := strings.CutPrefix(text, string(quotes[0])); ok {
			if inner, ok := strings.CutSuffix(rest, string(quotes[1])); ok {
				return inner
			}
		}
	}
	return text
}
