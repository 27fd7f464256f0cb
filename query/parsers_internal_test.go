package query

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"

	"logstow/exact"
	"logstow/internal/test/effort"
	"logstow/internal/test/querytest"
	"logstow/internal/test/testrand"
	"logstow/message"
	"logstow/message/parse"
	"logstow/record"
)

// storedParsers are those of the random segments; some captures begin or end inside of words.
func storedParsers() []string {
	return []string{
		"", "", "", "none/1",
		`pattern/1 '<ip> - <user> [<_>] "<method> <path> <_>" <status> <bytes>'`,
		`pattern/1 'i<ip>d<_>"<user>'`,
		"w3c/1 'cs-username path sc-status'",
		`regexp/1 '(?P<user>[a-f]+)(?P<status>[0-9]{3,7})'`,
	}
}

// lines makes messages of many formats of few values, so that conditions are met.
type lines struct {
	*rand.Rand
	words []string
	// respelled is set if strings in JSON have \u escapes: then less is required of messages.
	respelled bool
	// values are some that fields have.
	values []namedValue
}

type namedValue struct{ name, text string }

// renew replaces the words.
func (g *lines) renew() {
	g.words, g.respelled = nil, g.IntN(4) == 0
	for range 4 {
		id := fmt.Sprintf("%016x", g.Uint64())
		g.words = append(g.words, id, id[:7], "order-"+id[:6], fmt.Sprint(g.IntN(600)), "a b", `a"b`, `q\w`, "é"+id[:7], id[:8]+"#1", id[:8]+"'s", "A"+id[:7])
	}
}

// remember adds values of fields to those that conditions use.
func (g *lines) remember(fields map[string]message.Value) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if text := string(fields[name].Text); utf8.ValidString(text) && strings.IndexFunc(text, unicode.IsControl) < 0 && regexp.MustCompile(`^[a-z_.]+$`).MatchString(name) && !slices.Contains([]string{"time", "message", "noise", "bytes", "thread"}, name) {
			g.values = append(g.values, namedValue{name, text})
		}
	}
}

func (g *lines) word() string { return g.words[g.IntN(len(g.words))] }

func (g *lines) one(choices ...string) string { return choices[g.IntN(len(choices))] }

// escaped writes text with an escape for each byte that needs one, and sometimes for another.
func (g *lines) escaped(text, prefix, special string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < ' ' || c >= 0x7f || strings.IndexByte(special, c) >= 0 || g.IntN(60) == 0 {
			fmt.Fprintf(&b, "%s%02X", prefix, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// message is a line, sometimes one that JSON wraps.
func (g *lines) message() string {
	line := g.line()
	if g.IntN(6) > 0 {
		return line
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(g.respelled)
	member := g.one("log", "message", "body")
	if err := e.Encode(line); err != nil {
		panic(err)
	}
	wrapped := fmt.Sprintf(`{%q:%s`, member, strings.TrimSuffix(b.String(), "\n"))
	return wrapped + g.one("", `,"stream":"stdout"`, fmt.Sprintf(`,"status":%d,"user":"outer"`, g.IntN(600))) + "}"
}

// number is a number in one of its spellings.
func (g *lines) number(n int) string {
	return g.one(fmt.Sprint(n), fmt.Sprint(n), fmt.Sprintf("%d.0", n), fmt.Sprintf("%de0", n), fmt.Sprintf("%d.00E+0", n))
}

// took is a duration in one of its spellings.
func (g *lines) took() string {
	n := g.IntN(300)
	return g.one(fmt.Sprintf("%dms", n), fmt.Sprintf("%d.5ms", n), fmt.Sprintf("0.%03ds", n), fmt.Sprintf("%dus", 1000*n), fmt.Sprint(n))
}

func (g *lines) line() string {
	url := strings.ReplaceAll(g.word(), " ", "+")
	switch g.IntN(9) {
	case 0, 1, 2:
		e := func(s string) string { return g.escaped(s, `\x`, `"\`) }
		line := fmt.Sprintf(`10.0.0.%d - %s [20/Nov/2026:15:04:05 +0000] "%s /%s?id=%s HTTP/1.1" %d %d "%s" "%s"`,
			g.IntN(9), strings.ReplaceAll(e(g.word()), " ", "_"), g.one("GET", "POST"), e(url), e(url), 200+g.IntN(400), g.IntN(2000), e(g.word()), e(g.word()))
		return line + g.one("", " 0.005", " rt=0.017 trace="+e(url), fmt.Sprint(" ", g.IntN(100))) + fmt.Sprintf(" noise=%x", g.Uint64())
	case 3:
		e := func(s string) string { return g.escaped(s, "#", `"#{}|`) }
		return fmt.Sprintf(`10.0.0.%d:33317 [20/Nov/2026:15:04:05.655] http-in static/srv1 10/0/30/69/%d %d +%d - - ---- 1/1/1/1/0 0/0 {%s} {} "GET /%s HTTP/1.1"`,
			g.IntN(9), g.IntN(200), 200+g.IntN(400), g.IntN(2000), e(g.word()), e(url))
	case 4:
		return fmt.Sprintf(`%s1120 15:04:05.123456 %d main.go:%d] %s user=%q status=%d`, g.one("I", "W", "E"), g.IntN(99), g.IntN(99), g.word(), g.word(), g.IntN(600))
	case 5:
		return fmt.Sprintf(`user=%q status=%s path=/%s trace=%s took=%s`, g.word(), g.number(g.IntN(600)), url, url, g.took())
	case 6:
		return fmt.Sprintf("i%xd x\"%s\nat y", g.Uint64(), g.word()) // nothing else contains the first word
	}
	quote := func(s string) string {
		q := strconv.Quote(s)
		if g.respelled && g.IntN(4) == 0 && len(s) > 2 { // another spelling
			q = fmt.Sprintf(`"\u%04x%s`, s[0], strconv.Quote(s[1:])[1:])
		}
		return q
	}
	return fmt.Sprintf(`{"noise":"%x","user":%s,"http":{"status":%d,"path":%s},"status":%s,"trace":%s,"took":%q,"bytes":%d}`,
		g.Uint64(), quote(g.word()), g.IntN(600), quote("/"+url), g.one("null", "true", g.number(g.IntN(600)), quote(g.word())), quote(g.word()), g.took(), g.IntN(2000))
}

// fieldsOf are all fields of a message, in a map.
func fieldsOf(parser *parse.Parser, msg []byte) map[string]message.Value {
	s, all := parser.Splitter(), map[string]message.Value{}
	s.Split(nil, msg)
	for name, v := range s.All() {
		if _, again := all[name]; !again {
			all[name] = message.Value{Kind: v.Kind, Text: bytes.Clone(v.Text)}
		}
	}
	// The message's own fields are in front of those of the line that it wraps.
	own := map[string]message.Value{}
	if strings.HasPrefix(parser.String(), "auto") && len(msg) > 0 && msg[0] == '{' {
		for name, v := range message.All(msg) {
			if _, again := own["message."+name]; !again {
				own["message."+name] = message.Value{Kind: v.Kind, Text: bytes.Clone(v.Text)}
			}
		}
	}
	for name, v := range all {
		if _, again := own["message."+name]; !again {
			own["message."+name] = v
		}
	}
	maps.Copy(all, own)
	return all
}

// condition is an expression and its meaning: -1 false, 0 unknown, 1 true.
type condition struct {
	text string
	of   func(fields map[string]message.Value) int
}

func truthOf(b bool) int {
	if b {
		return 1
	}
	return -1
}

func (g *lines) condition(depth int) condition {
	if depth > 0 && g.IntN(3) > 0 {
		a, b := g.condition(depth-1), g.condition(depth-1)
		switch g.IntN(4) {
		case 0:
			return condition{"not (" + a.text + ")", func(f map[string]message.Value) int { return -a.of(f) }}
		case 1:
			return condition{"(" + a.text + " or " + b.text + ")", func(f map[string]message.Value) int { return max(a.of(f), b.of(f)) }}
		}
		return condition{"(" + a.text + " and " + b.text + ")", func(f map[string]message.Value) int { return min(a.of(f), b.of(f)) }}
	}
	name := g.one("user", "user", "status", "path", "query", "bytes", "ip", "referer", "user_agent", "duration", "trace", "http.status", "captured_request_headers", "rt", "thread", "id", "message.status", "message.user", "took")
	if g.IntN(10) == 0 {
		return condition{"has(" + name + ")", func(f map[string]message.Value) int { _, ok := f[name]; return truthOf(ok) }}
	}
	if name == "took" {
		return g.duration()
	}
	if g.IntN(3) == 0 {
		return g.comparison(name)
	}
	text := g.word()
	if g.IntN(5) == 0 {
		text = "10.0.0." + fmt.Sprint(g.IntN(9))
	}
	if g.IntN(3) > 0 {
		known := g.values[g.IntN(len(g.values))]
		name, text = known.name, known.text
	}
	ofText := func(holds func(s string) bool) func(map[string]message.Value) int {
		return func(f map[string]message.Value) int {
			if v := f[name]; v.IsText() {
				return truthOf(holds(string(v.Text)))
			}
			return 0
		}
	}
	if g.IntN(2) == 0 {
		return condition{fmt.Sprintf("%s == %q", name, text), ofText(func(s string) bool { return s == text })}
	}
	part := text
	if n := len(text); n > 3 && text[0] < 0x80 && text[n-1] < 0x80 {
		part = text[g.IntN(2) : n-g.IntN(2)]
	}
	switch g.IntN(4) {
	case 0:
		return condition{fmt.Sprintf("%s startsWith %q", name, part), ofText(func(s string) bool { return strings.HasPrefix(s, part) })}
	case 1:
		return condition{fmt.Sprintf("%s endsWith %q", name, part), ofText(func(s string) bool { return strings.HasSuffix(s, part) })}
	case 2:
		other := g.word()
		return condition{fmt.Sprintf("%s in [%q, %q]", name, text, other), ofText(func(s string) bool { return s == text || s == other })}
	}
	return condition{fmt.Sprintf("%s contains %q", name, part), ofText(func(s string) bool { return strings.Contains(s, part) })}
}

// comparison is one with a number.
func (g *lines) comparison(name string) condition {
	n := int64(g.IntN(700))
	operator := g.one(">=", "<", "==", "!=")
	return condition{fmt.Sprint(name, " ", operator, " ", n), func(f map[string]message.Value) int {
		v := f[name]
		x, ok := rational(string(v.Text))
		if v.Kind != message.Number && v.Kind != message.Bare || !ok {
			return 0
		}
		c := x.Cmp(new(big.Rat).SetInt64(n))
		return truthOf(map[string]bool{">=": c >= 0, "<": c < 0, "==": c == 0, "!=": c != 0}[operator])
	}}
}

// rational is the number in a text, for comparisons with one below 1000: big.Rat takes no exponent beyond a million, which
// one hexadecimal word in thousands has, so that a greater one is replaced by one that is great enough.
func rational(text string) (*big.Rat, bool) {
	number := regexp.MustCompile(`^(-?[0-9]+(?:\.[0-9]+)?)(?:[eE]([-+]?[0-9]+))?$`).FindStringSubmatch(text)
	if number == nil {
		return nil, false
	}
	exponent, err := strconv.Atoi(cmp.Or(number[2], "0"))
	if err != nil || max(exponent, -exponent) > exact.MaxExponent {
		return nil, false
	}
	return new(big.Rat).SetString(fmt.Sprintf("%se%d", number[1], min(max(exponent, -1000), 1000)))
}

// A number with a great exponent is compared as any other.
func TestGreatExponents(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"i5e12345678d": true, "i5e999999d": true, "i0e12345678d": false, "i282d": false, "i283d": true} {
		w := newWorld(t, rand.New(rand.NewPCG(1, 2)), false)
		w.parse = `pattern/1 'i<ip>d'`
		w.add("web", "i", 2000, w.salt(), []record.Record{{Time: 1, Level: record.Info, Source: "s", Message: []byte(text)}})
		found := got(t, w.query(Selection{From: time.Unix(0, 0), To: time.Unix(3600, 0), Where: []string{"ip >= 283"}}, Options{Plan: PlanList}))
		if (len(found) == 1) != want {
			t.Errorf("%s: found %q", text, found)
		}
		x, ok := rational(text[1 : len(text)-1])
		if !ok || (x.Cmp(big.NewRat(283, 1)) >= 0) != want {
			t.Errorf("%s: the reference has %v", text, ok)
		}
	}
}

// duration is a comparison with a constant with a unit.
func (g *lines) duration() condition {
	operator, n := g.one(">=", "<", "==", "!="), g.IntN(300)
	text := g.one(fmt.Sprintf("%dms", n), fmt.Sprintf("0.%03ds", n), fmt.Sprintf("%d000µs", n))
	return condition{"took " + operator + " " + text, func(f map[string]message.Value) int {
		d, err := time.ParseDuration(string(f["took"].Text))
		if err != nil || !f["took"].IsText() || string(f["took"].Text) == "0" { // which has no unit
			return 0
		}
		c := cmp.Compare(d, time.Duration(n)*time.Millisecond)
		return truthOf(map[string]bool{">=": c >= 0, "<": c < 0, "==": c == 0, "!=": c != 0}[operator])
	}}
}

// TestLongParsers compares queries over segments of several parsers with a reference that finds all
// fields of every message and evaluates the expression: by both plans, with and without a cache, with the parser of
// each segment or one for all; and counts by a field.
func TestLongParsers(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many queries")
	rounds := effort.Cases{Test: 1, Full: 6, Long: 180}.N()
	rnd := testrand.New(t)
	matched, filtered := 0, int64(0)
	for range rounds {
		g, w := &lines{Rand: rnd}, newWorld(t, rnd, true)
		parserOf := map[*built]*parse.Parser{}
		for range 3 + rnd.IntN(5) {
			w.parse = storedParsers()[rnd.IntN(len(storedParsers()))]
			parser, err := parse.CompileStored(w.parse)
			if err != nil {
				t.Fatal(err)
			}
			g.renew()
			var records []record.Record
			for i := range 40 + rnd.IntN(120) {
				records = append(records, record.Record{Time: int64(i) * int64(time.Second), Level: record.Info, Source: "s", Message: []byte(g.message())})
				if i%4 == 0 {
					g.remember(fieldsOf(parser, records[i].Message))
				}
			}
			parserOf[w.add("web", "i", 2000+rnd.IntN(9000), w.salt(), records)] = parser
		}
		w.indexed()
		for i := range 60 {
			if i == 30 {
				w.keep()
			}
			c := g.condition(rnd.IntN(4))
			sel := Selection{From: time.Unix(0, 0), To: time.Unix(3600, 0), Where: []string{c.text}}
			if rnd.IntN(3) == 0 { // the conditions of a query are found in one message
				more := g.condition(0)
				first := c.of
				sel.Where = append(sel.Where, more.text)
				c.of = func(f map[string]message.Value) int { return min(first(f), more.of(f)) }
			}
			if rnd.IntN(4) == 0 {
				text := storedParsers()[rnd.IntN(len(storedParsers()))]
				var err error
				if sel.Parser, err = parse.CompileStored(text); err != nil {
					t.Fatal(err)
				}
			}
			var want []string
			users := map[string]uint64{}
			for _, b := range w.segments {
				parser := parserOf[b]
				if sel.Parser != nil {
					parser = sel.Parser
				}
				for r := range b.records(t) {
					fields := fieldsOf(parser, r.Message)
					if c.of(fields) != 1 {
						continue
					}
					want = append(want, "web "+strings.TrimSuffix(string(querytest.Stored(r)), "\n"))
					user := "-"
					if v, ok := fields["user"]; ok {
						user = string(v.Text)
					}
					users[user]++
				}
			}
			slices.Sort(want)
			matched += len(want)
			for _, plan := range []string{PlanList, PlanIndex} {
				q := w.query(sel, Options{Plan: plan})
				found := got(t, q)
				slices.Sort(found)
				if !slices.Equal(want, found) {
					missing := slices.DeleteFunc(slices.Clone(want), func(l string) bool { return slices.Contains(found, l) })
					extra := slices.DeleteFunc(slices.Clone(found), func(l string) bool { return slices.Contains(want, l) })
					t.Fatalf("%q of %v by %s: found %d, want %d\nmissing %.400q\nextra %.400q", sel.Where, sel.Parser, plan, len(found), len(want), missing, extra)
				}
				filtered += q.Report().BlocksFiltered + q.Report().SegmentsFiltered
			}
			q := w.query(sel, Options{})
			p, err := q.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			counted := countBy(t, q, p, []string{"user"}, nil)
			byUser := map[string]uint64{}
			for _, row := range counted.Rows {
				byUser[row.Key[0]] = row.Count
			}
			if diff := gocmp.Diff(users, byUser); diff != "" {
				t.Fatalf("%s by user (-reference +query)\n%s", sel.Where, diff)
			}
		}
	}
	t.Logf("%d matches, %d segments and blocks excluded by filters", matched, filtered)
	if matched < 100*rounds || filtered < int64(rounds) {
		t.Error("too few")
	}
}

// A value that is a part of a word of the message is found, though the token filter has only the word.
func TestCaptureInsideOfWord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(1, 2)), false)
	w.parse = "pattern/1 'request<id>x done'"
	var texts []string
	for range 1000 {
		texts = append(texts, fmt.Sprintf("request%016xx done", w.rnd.Uint64()))
	}
	w.add("web", "i", 0, w.salt(), querytest.Messages(texts...))
	sel := querytest.Everything()
	sel.Where = []string{fmt.Sprintf("id == %q", texts[500][len("request"):][:16])}
	if found := got(t, w.query(sel, Options{})); len(found) != 1 || !strings.HasSuffix(found[0], texts[500]) {
		t.Errorf("%q finds %q", sel.Where, found)
	}
}

// A segment of an unknown parser is searched by auto, and a note reports it, once.
func TestUnknownParser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), false)
	w.parse = "auto/2"
	for range 2 {
		w.add("web", "i", 0, w.salt(), querytest.Messages(`{"a":1}`, `{"a":2}`))
	}
	sel := querytest.Everything()
	sel.Where = []string{"a == 2"}
	q := w.query(sel, Options{})
	if n := len(got(t, q)); n != 2 {
		t.Errorf("%d matches, want 2", n)
	}
	notes := q.Report().Notes
	if len(notes) != 1 || !strings.Contains(notes[0], `unknown parser or version: "auto/2"; the fields of its messages are found by auto`) {
		t.Errorf("notes: %q", notes)
	}
}
