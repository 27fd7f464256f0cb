package correct

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"logstow/logql/syntax"
	"logstow/query/explain"
)

// Reason is why a query finds nothing, or is invalid, for the user of a query bar.
type Reason struct {
	// Code is that of [explain.Reason], Text for people.
	Code, Text string
	// Start and End are the place in the typed text, in characters; both are 0 if the reason is about no part of it.
	Start, End int
	Changes    []Change
}

// Change is a correction that is applied with one click.
type Change struct {
	// Label is the text of its button.
	Label string
	// Query is the new text of the query bar; "" if it stays the same.
	Query string
	// IgnoreCase is set if the case of words is to be ignored.
	IgnoreCase bool
	// From and To are the new range if From is not zero; if To is zero, the range ends now and is Since long.
	From, To time.Time
	Since    string
}

// Explain applies the corrections of a reason to the typed text.
func (t *Typed) Explain(r explain.Reason) Reason {
	out := Reason{Code: r.Code, Text: InLogQL(&r)}
	for _, culprit := range r.Culprits {
		if start, end, ok := t.find(culprit); ok {
			out.Start, out.End = t.characters(start), t.characters(end)
			break
		}
	}
	for _, c := range r.Corrections {
		if change, ok := t.change(c); ok && !slices.Contains(out.Changes, change) {
			out.Changes = append(out.Changes, change)
		}
	}
	return out
}

// InLogQL is the text of a reason for a user who has no flags.
func InLogQL(r *explain.Reason) string {
	text := cmp.Or(r.Fact, r.Text)
	for _, flag := range [][2]string{{"--exclude", "!="}, {"--regexp", "|~"}, {"--pattern", "|>"}, {"--source", "the source"}, {"--level", "the level"}, {"--where", "the instance"}} {
		text = strings.ReplaceAll(text, flag[0], flag[1])
	}
	return text
}

// change applies a correction; not ok if it changes nothing.
func (t *Typed) change(c explain.Correction) (Change, bool) {
	change := Change{Label: label(c)}
	for i := range c {
		f := &c[i]
		switch {
		case f.Kind == explain.FixRange:
			change.From, change.To, change.Since = f.From, f.To, f.Since
			return change, true
		case f.Kind == explain.FixIgnoreCase && t.isWords:
			change.IgnoreCase = true
			return change, t.matchCase
		}
	}
	if t.isWords &&
		!slices.ContainsFunc(c, func(f explain.Fix) bool { return f.Kind != explain.FixWords && f.Kind != explain.FixExclude }) {
		change.Query = t.withWords(c)
	} else {
		change.Query = LogQL(t.Query, c)
	}
	return change, change.Query != "" && change.Query != t.Text
}

// withWords applies fixes of words to the words.
func (t *Typed) withWords(c explain.Correction) string {
	words := slices.Clone(t.words)
	for i := range c {
		f, place := &c[i], -1
		for _, wanted := range f.Replaces {
			j := slices.IndexFunc(words, func(w word) bool { return w.text == wanted && !w.excluded })
			if j < 0 {
				continue
			}
			if place < 0 {
				place = j
			}
			words = slices.Delete(words, j, j+1)
		}
		if place < 0 {
			continue
		}
		var added []word
		for _, text := range f.Words {
			added = append(added, word{text: text})
		}
		if f.Kind == explain.FixExclude {
			added = append(added, word{text: f.New, excluded: true})
		}
		words = slices.Insert(words, place, added...)
	}
	var texts []string
	for _, w := range words {
		texts = append(texts, writeWord(w))
	}
	return strings.Join(texts, " ")
}

// find returns the place of a text of the query in the typed text, in bytes.
func (t *Typed) find(text string) (start, end int, ok bool) {
	if text == "" {
		return 0, 0, false
	}
	for _, w := range t.words {
		if w.text == text {
			return w.start, w.end, true
		}
	}
	if t.isWords {
		return 0, 0, false
	}
	for _, written := range []string{quote(text), "`" + text + "`", quote(syntax.Fold(text)), text} {
		if i := strings.Index(t.Text, written); i >= 0 {
			return i, i + len(written), true
		}
	}
	return 0, 0, false
}

func (t *Typed) characters(offset int) int { return utf8.RuneCountInString(t.Text[:offset]) }
