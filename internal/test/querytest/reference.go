// Package querytest is for the tests of queries: random records and selections, and which
// records match, found in the slow and obvious way.
package querytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/message"
	"logstow/query/match"
	"logstow/query/patterns"

	"github.com/bmatcuk/doublestar/v4"

	"logstow/field"
	"logstow/field/where"
	"logstow/filter/token"
	"logstow/record"
	"logstow/record/attributes"
)

// Stored is a record's text form.
func Stored(r record.Record) []byte { return record.AppendText(nil, r) }

// MatchesSlowly reports whether a record of an instance matches, in the slow and obvious way.
func MatchesSlowly(t testing.TB, sel *match.Selection, instance string, r record.Record) bool {
	if r.Time < sel.From.UnixNano() || r.Time >= sel.To.UnixNano() || !sel.Levels.Has(r.Level) {
		return false
	}
	if len(sel.Sources) > 0 &&
		!slices.ContainsFunc(sel.Sources, func(glob string) bool { return doublestar.MatchUnvalidated(glob, r.Source) }) {
		return false
	}
	fold := func(s string) string {
		if !sel.IgnoreCase {
			return s
		}
		folded := []byte(s)
		for i, c := range folded {
			if 'A' <= c && c <= 'Z' {
				folded[i] = c + 'a' - 'A'
			}
		}
		return string(folded)
	}
	texts := append([]string{string(r.Message)}, stringsOf(t, r.Attributes)...)
	if sel.MessageOnly {
		texts = texts[:1]
	}
	holdsIn := func(text, pattern string) bool {
		message := fold(text)
		pattern = fold(pattern)
		if !sel.Substring && token.Whole([]byte(pattern)) {
			for start := range len(message) {
				end := start + len(pattern)
				if end <= len(message) && message[start:end] == pattern && token.Bounded([]byte(text), start, end) {
					return true
				}
			}
			return false
		}
		return strings.Contains(message, pattern)
	}
	holds := func(pattern string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return holdsIn(text, pattern) })
	}
	for _, p := range sel.Patterns {
		if !holds(p) {
			return false
		}
	}
	if len(sel.IDs) > 0 && !slices.ContainsFunc(sel.IDs, holds) {
		return false
	}
	for _, p := range sel.Excludes {
		if holds(p) {
			return false
		}
	}
	for _, expr := range sel.Regexps {
		if sel.IgnoreCase {
			expr = "(?i)" + expr
		}
		if !slices.ContainsFunc(texts, regexp.MustCompile(expr).MatchString) {
			return false
		}
	}
	for _, template := range sel.Templates {
		parts := strings.Split(template, patterns.Wildcard)
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		text := strings.Join(strings.FieldsFunc(string(patterns.Text(r.Message)),
			func(c rune) bool { return strings.ContainsRune(" \t\n\v\f\r", c) }), " ")
		if !regexp.MustCompile("(?s)^(?:" + strings.Join(parts, ".*") + ")$").MatchString(text) {
			return false
		}
	}
	for _, expr := range sel.Where {
		p, err := where.Compile(expr, sel.Now)
		if err != nil {
			t.Fatal(err)
		}
		if !p.Evaluator().Holds(&where.Record{Time: r.Time, Level: r.Level, Source: []byte(r.Source), Instance: instance, Attributes: r.Attributes, Message: r.Message}) {
			return false
		}
	}
	return true
}

// stringsOf returns the strings among the values of attributes, in the slow and obvious way.
func stringsOf(t testing.TB, text []byte) (all []string) {
	if text == nil {
		return nil
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	var collect func(value any)
	collect = func(value any) {
		switch v := value.(type) {
		case string:
			all = append(all, v)
		case []any:
			for _, element := range v {
				collect(element)
			}
		case map[string]any:
			for _, member := range v {
				collect(member)
			}
		}
	}
	collect(value)
	return all
}

// Field is the value of a name in a record, in the slow and obvious way: of its attributes, then those of its stream, scope and
// resource, then of its message.
func Field(attrs, msg []byte, name string) message.Value {
	objects := [][]byte{attrs}
	for _, group := range attributes.Groups() {
		objects = append(objects, attributes.GroupOf(attrs, group))
	}
	for _, text := range append(objects, msg) {
		if v := message.NewFinder(name).Find(text); v.Kind != message.Missing {
			return attributes.Scalar(v)
		}
	}
	return message.Value{}
}

// Messages are records of messages, a nanosecond apart.
func Messages(texts ...string) []record.Record {
	var r []record.Record
	for i, m := range texts {
		r = append(r, record.Record{
			Time: int64(i), Level: record.Level(i % record.Levels), Source: fmt.Sprintf("app/%d.log", i%2), Message: []byte(m),
		})
	}
	return r
}

// Everything selects all of [Messages].
func Everything() match.Selection {
	return match.Selection{From: time.Unix(-1, 0), To: time.Unix(1e9, 0)}
}

// RandomText is a random message, at most so long if it is not of fields.
func RandomText(rnd *rand.Rand, most int) []byte {
	if rnd.IntN(3) == 0 {
		return randomFields(rnd)
	}
	const letters = "aaAbB1123\n\n\t\t .-\\nu0k\xff\x80_:"
	b := make([]byte, rnd.IntN(most))
	for i := range b {
		b[i] = letters[rnd.IntN(len(letters))]
	}
	return b
}

// RandomAttributes are random attributes, mostly none.
func RandomAttributes(rnd *rand.Rand) []byte {
	if rnd.IntN(3) > 0 {
		return nil
	}
	value := func() []byte {
		switch rnd.IntN(4) {
		case 0:
			return attributes.AppendInt(nil, rnd.Int64N(3))
		case 1:
			return attributes.AppendArray(nil, [][]byte{attributes.AppendText(nil, RandomText(rnd, 8)), attributes.AppendNull(nil)})
		}
		return attributes.AppendText(nil, RandomText(rnd, 16))
	}
	members := func() (all []attributes.Member) {
		for range rnd.IntN(3) {
			all = append(all, attributes.Member{Name: choose(rnd, "ab", "k1", "n.ab", "c\"d"), Value: value()})
		}
		return all
	}
	set := attributes.Set{Own: members(), Resource: attributes.NewGroup(members()), Stream: attributes.NewGroup(members())}
	text, _ := set.Append(nil)
	return text
}

// randomFields is a message with fields, in JSON, some of it escaped, or logfmt.
func randomFields(rnd *rand.Rand) []byte {
	if rnd.IntN(4) == 0 {
		return fmt.Appendf(nil, "ab=%s k1=%d", choose(rnd, "a", "ab1", `"a b"`), rnd.IntN(3))
	}
	return fmt.Appendf(nil, `{%s:%s,"k1":%d,"n":{"ab":%s}}`, choose(rnd, `"ab"`, `"\u0061b"`, `"c"`),
		choose(rnd, `"ab1"`, `"a\u0062\u0031"`, `"a b"`, `"a\nb"`, "1", "null"), rnd.IntN(3), choose(rnd, `"ab1"`, "2", "true"))
}

func choose(rnd *rand.Rand, from ...string) string { return from[rnd.IntN(len(from))] }

// RandomSelection is a random selection that often matches some of the records.
func RandomSelection(rnd *rand.Rand, records []record.Record) match.Selection {
	sel := Everything()
	sel.IgnoreCase, sel.Substring = rnd.IntN(2) == 0, rnd.IntN(3) == 0
	pattern := func() string {
		r := &records[rnd.IntN(len(records))]
		m := r.Message
		for text := range attributes.Strings(r.Attributes) {
			if rnd.IntN(2) == 0 {
				m = bytes.Clone(text)
			}
		}
		if rnd.IntN(3) == 0 || len(m) == 0 {
			return string(RandomText(rnd, 4))
		}
		start := rnd.IntN(len(m))
		return string(m[start : start+1+rnd.IntN(len(m)-start)])
	}
	for range rnd.IntN(5) - 2 {
		sel.Where = append(sel.Where, choose(rnd, `ab == "ab1"`, `ab == "a b" or k1 == 2`, `k1 > 0`, `k1 != 1`, `n.ab == "ab1" and k1 < 2`, `ab contains "b"`,
			`ab in ["ab1", "a"]`, `not (ab == "ab1")`, `len(ab ?? "") > 2`, `message contains "a"`, `ab == nil`, `level >= "warn" and k1 >= 1`,
			`instance == "pod-1"`, `instance == "pod-2" or k1 == 1`, `not (instance endsWith "1")`))
	}
	for range rnd.IntN(3) {
		sel.Patterns = append(sel.Patterns, pattern())
	}
	if rnd.IntN(3) == 0 {
		for range 1 + rnd.IntN(4) {
			if id := strings.ReplaceAll(pattern(), "\n", ""); id != "" {
				sel.IDs = append(sel.IDs, id)
			}
		}
	}
	if rnd.IntN(4) == 0 {
		sel.Excludes = append(sel.Excludes, pattern())
	}
	if rnd.IntN(6) == 0 {
		sel.Templates = append(sel.Templates, randomTemplate(rnd, patterns.Text(records[rnd.IntN(len(records))].Message)))
	}
	if p := pattern(); rnd.IntN(3) == 0 {
		forms := []string{"%s", "^%s", "%s$", "(?:%s)+.", "(?i)%s", "[^a]%s", "%s|b"}
		sel.Regexps = append(sel.Regexps, fmt.Sprintf(forms[rnd.IntN(len(forms))], regexp.QuoteMeta(p)))
		if _, err := regexp.Compile(sel.Regexps[0]); err != nil {
			sel.Regexps = nil // the pattern was not UTF-8
		}
	}
	if rnd.IntN(4) == 0 {
		sel.From = time.Unix(0, rnd.Int64N(12))
		sel.To = sel.From.Add(time.Duration(1 + rnd.Int64N(12)))
	}
	if rnd.IntN(4) == 0 {
		sel.Levels = record.LevelSet(rnd.UintN(1 << record.Levels))
	}
	return sel
}

// randomTemplate is a text with some words replaced by wildcards.
func randomTemplate(rnd *rand.Rand, text []byte) string {
	words := strings.Fields(strings.ToValidUTF8(string(text), patterns.Wildcard))
	for i := range words {
		switch rnd.IntN(4) {
		case 0:
			words[i] = patterns.Wildcard
		case 1:
			words[i] = words[i][:1+rnd.IntN(len(words[i]))] + patterns.Wildcard
		}
	}
	return strings.ToValidUTF8(strings.Join(words, " "), patterns.Wildcard)
}

// Names are the names of a list.
func Names(t testing.TB, texts ...string) []field.Name {
	t.Helper()
	names, err := field.ParseNames(texts)
	if err != nil {
		t.Fatal(err)
	}
	return names
}
