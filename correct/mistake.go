package correct

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"logstow/logql/pipeline"
	"logstow/logql/syntax"
	"logstow/query/explain"
)

// CodeMistake is the code of the reason that a query cannot be parsed.
const CodeMistake = "mistake"

// Mistake returns what is wrong with the typed text and, if it is found, a text that can be parsed; nil if nothing is wrong.
func (t *Typed) Mistake() *Reason {
	var mistake *syntax.Error
	if _, err := syntax.Parse(t.Query); !errors.As(err, &mistake) {
		return nil
	}
	at := min(max(mistake.Offset-t.prefix, 0), len(t.Text))
	if !utf8.ValidString(t.Text) {
		return &Reason{Code: CodeMistake, Text: mistake.Message}
	}
	r := &Reason{Code: CodeMistake, Text: mistake.Message, Start: t.characters(at), End: t.characters(at + wordLength(t.Text[at:]))}
	if r.Start == r.End && r.Start > 0 { // at the end
		r.Start--
	}
	if fixed := repair(t.Query); fixed != "" {
		fixed = fixed[min(t.prefix, len(fixed)):]
		r.Changes = []Change{{Label: fixed, Query: fixed}}
	}
	return r
}

// wordLength is the length of the word that a text begins with.
func wordLength(text string) int {
	if m := regexp.MustCompile(`^(?:"[^"]*"?|'[^']*'?|[^\s"'{}(),|=!~<>:]+|[|=!~<>:]+|\S)`).FindString(text); m != "" {
		return len(m)
	}
	return 0
}

// maxRepairs is the maximum number of mistakes that are corrected in a query.
const maxRepairs = 10

// repair returns a query that can be parsed and is probably meant; "" if none is found.
func repair(query string) string {
	for range maxRepairs {
		_, err := syntax.Parse(query)
		if err == nil {
			return query
		}
		var mistake *syntax.Error
		if !errors.As(err, &mistake) || mistake.Offset > len(query) {
			return ""
		}
		next := ""
		for _, candidate := range candidates(query, mistake) {
			if candidate != query && better(candidate, len(query)-mistake.Offset) {
				next = candidate
				break
			}
		}
		if next == "" {
			return ""
		}
		query = next
	}
	return ""
}

// better reports whether a query can be parsed, or parsed further: less than rest of it is left behind its mistake.
func better(query string, rest int) bool {
	var mistake *syntax.Error
	if _, err := syntax.Parse(query); !errors.As(err, &mistake) {
		return err == nil
	}
	return len(query)-mistake.Offset < rest
}

// candidates are changes of a query at a mistake, the likeliest first.
func candidates(query string, mistake *syntax.Error) (all []string) {
	before, rest := query[:mistake.Offset], query[mistake.Offset:]
	word := rest[:wordLength(rest)]
	add := func(replaced int, by string) { all = append(all, before+by+rest[replaced:]) }
	for _, pair := range [][2]string{{"'", "'"}, {"“", "”"}, {"”", "”"}, {"‘", "’"}, {"„", "“"}} {
		if inner, ok := strings.CutPrefix(rest, pair[0]); ok {
			if end := strings.Index(inner, pair[1]); end >= 0 {
				add(len(pair[0])+end+len(pair[1]), quote(inner[:end]))
			}
		}
	}
	switch {
	case strings.Contains(mistake.Message, "is not closed"):
		add(len(rest), rest+`"`)
		add(len(rest), rest+`"}`)
		add(len(rest), rest+`")`)
	case strings.Contains(mistake.Message, "requires at least one"), strings.Contains(mistake.Message, "queries require at least one"):
		if end := strings.IndexByte(rest, '}'); end >= 0 {
			add(end+1,
				strings.TrimSuffix(`{service_name=~".+", `+strings.TrimLeft(rest[1:end], " ")+"}", ", }")+map[bool]string{true: "}"}[strings.TrimSpace(rest[1:end]) == ""])
		}
	case word == ":" || word == "==" || word == ":=" || word == "=:":
		add(len(word), "=")
	case slices.Contains([]string{"and", "&&", "&"}, strings.ToLower(word)):
		add(len(word)+len(rest[len(word):])-len(strings.TrimLeft(rest[len(word):], " ")), "")
	}
	if m := regexp.MustCompile(`did you mean (\S+)\?`).FindStringSubmatch(mistake.Message); m != nil {
		add(len(word), m[1])
	}
	for _, end := range []string{"}", ")", `"]`, "]"} {
		if rest == "" {
			all = append(all, query+end)
		}
	}
	if strings.HasPrefix(rest, `"`) || strings.HasPrefix(rest, "`") {
		add(0, "|= ")
		if strings.HasSuffix(strings.TrimRight(before, " "), "|") { // {...} | "text"
			trimmed := strings.TrimSuffix(strings.TrimRight(before, " "), "|")
			all = append(all, trimmed+"|= "+rest)
		}
	}
	texts := phrases(rest)
	if strings.Contains(mistake.Message, "text of a line filter") {
		slices.Reverse(texts)
	}
	for _, phrase := range texts {
		add(len(phrase), quote(phrase))
		add(len(phrase), "|= "+quote(phrase))
	}
	return all
}

// phrases are unquoted texts that a text begins with, the shortest first.
func phrases(rest string) (all []string) {
	for _, stop := range []string{`^[^\s,{}()|"` + "`" + `]+`, `^[^,{}()|"` + "`" + `]*[^\s,{}()|"` + "`" + `]`} {
		if m := regexp.MustCompile(stop).FindString(rest); m != "" && !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return all
}

// Braces returns the reason if the words are a selector without braces, and stages; nil if not.
func (t *Typed) Braces() *Reason {
	if !t.isWords {
		return nil
	}
	selector := regexp.MustCompile(`^\s*[A-Za-z_][A-Za-z0-9_]*\s*(?:=~|!~|!=|=)\s*"(?:[^"\\]|\\.)*"(?:\s*,\s*[A-Za-z_][A-Za-z0-9_]*\s*(?:=~|!~|!=|=)\s*"(?:[^"\\]|\\.)*")*`).FindString(t.Text)
	query := "{" + strings.TrimSpace(selector) + "}" + t.Text[len(selector):]
	if _, err := syntax.Parse(query); selector == "" || err != nil {
		return nil
	}
	return &Reason{
		Code:    CodeMistake,
		Text:    "a selector is written in braces",
		End:     t.characters(len(selector)),
		Changes: []Change{{Label: query, Query: query}},
	}
}

// Meant returns the LogQL that a text which is none probably means: words are searched in any case, conditions select and compare; "" if
// that is not clear.
func Meant(text string) string {
	t := Read(text, false)
	if r := t.Braces(); r != nil {
		return r.Changes[0].Query
	}
	if !t.isWords {
		return repair(t.Query)
	}
	var texts []string
	for _, w := range t.words {
		if !w.excluded {
			texts = append(texts, w.text)
		}
	}
	var c explain.Correction
	for _, m := range explain.Meanings(texts, explain.Known{}) {
		if m.Kind == explain.FixCondition {
			m.Field, m.Parser = pipeline.LabelName(m.Field), "json"
		}
		c = append(c, m.Fix)
	}
	if query := LogQL(t.Query, c); query != "" {
		return query
	}
	if _, err := syntax.Parse(t.Query); err != nil { // such as bytes that are not UTF-8
		return ""
	}
	return t.Query
}
