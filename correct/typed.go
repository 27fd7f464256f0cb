// Package correct applies the corrections that package [logstow/query/explain] suggests to what a user typed: arguments of logq, LogQL, or
// plain words. It also corrects LogQL that cannot be parsed.
package correct

import (
	"regexp"
	"strconv"
	"strings"

	"logstow/logql/syntax"
)

// everything is the selector of all records.
const everything = `{service_name=~".+"}`

// Typed is the text of a query bar: LogQL, stages of a log query without a selector, or words.
type Typed struct {
	// Text is as it was typed, Query the LogQL that it runs as.
	Text, Query string
	// words are those of the text if it is no LogQL; matchCase is set if their case matters.
	words     []word
	isWords   bool
	matchCase bool
	// prefix is the length of the part of Query before Text; 0 if they differ otherwise.
	prefix int
}

// word is a word of a text, or several in quotes.
type word struct {
	text       string
	excluded   bool
	start, end int // in the text
}

// metricStart matches the beginning of metric queries.
const metricStart = `^\(*\s*(sum|avg|min|max|count|stddev|stdvar|topk|bottomk|approx_topk|sort|sort_desc|rate|rate_counter|count_over_time|bytes_rate|bytes_over_time|absent_over_time|` +
	`(?:sum|avg|min|max|first|last|stddev|stdvar|quantile)_over_time|vector|label_replace)\s*(\(|by\b|without\b)`

// Read reads the text of a query bar. The case of words matters if matchCase is set.
func Read(text string, matchCase bool) Typed {
	t := Typed{Text: text, Query: text, matchCase: matchCase}
	trimmed := strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(trimmed, "{"), regexp.MustCompile(metricStart).MatchString(trimmed):
	case trimmed == "":
		t.Query = everything
	case strings.HasPrefix(trimmed, "|"), strings.HasPrefix(trimmed, "!=") || strings.HasPrefix(trimmed, "!~") || strings.HasPrefix(trimmed, "!>"):
		t.Query, t.prefix = everything+" "+text, len(everything)+1
	default:
		t.isWords, t.words = true, readWords(text)
		t.Query = everything + wordFilters(t.words, matchCase)
	}
	return t
}

// readWords splits a text at blanks outside of quotes. A minus excludes a word.
func readWords(text string) (all []word) {
	for _, m := range regexp.MustCompile(`(-?)(?:"((?:[^"\\]|\\.)*)"?|(\S+))`).FindAllStringSubmatchIndex(text, -1) {
		w := word{excluded: m[2] < m[3], start: m[0], end: m[1]}
		if m[4] >= 0 {
			w.text = regexp.MustCompile(`(?s)\\(.)`).ReplaceAllString(text[m[4]:m[5]], "$1")
		} else {
			w.text = text[m[6]:m[7]]
		}
		if w.text != "" {
			all = append(all, w)
		}
	}
	return all
}

// wordFilters are line filters that find the words.
func wordFilters(words []word, matchCase bool) string {
	var filters strings.Builder
	for _, w := range words {
		filters.WriteString(" " + lineFilter(w.text, w.excluded, !matchCase))
	}
	return filters.String()
}

// lineFilter finds or excludes a text, in any case if fold is set.
func lineFilter(text string, excluded, fold bool) string {
	op := map[[2]bool]string{{false, false}: "|=", {false, true}: "|~", {true, false}: "!=", {true, true}: "!~"}[[2]bool{excluded, fold}]
	if fold {
		text = syntax.Fold(text)
	}
	return op + " " + quote(text)
}

// quote writes a string of LogQL.
func quote(text string) string { return strconv.Quote(text) }

// writeWord writes a word so that it is read again as it is.
func writeWord(w word) string {
	text := w.text
	if strings.ContainsAny(text, " \t\n\"") || strings.HasPrefix(text, "-") {
		text = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
	}
	if w.excluded {
		return "-" + text
	}
	return text
}
