package compaction_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/field/where"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/message/parse"
	"logstow/query"
	"logstow/query/output"
	"logstow/record"
	"logstow/store"
)

// whereLines make messages of several formats of the same few values.
type whereLines struct {
	*rand.Rand
	all map[logged][]string // the messages as logged
}

// logged is what an instance logged in segments of a parser.
type logged struct{ parser, instance string }

func (l *whereLines) one(choices ...string) string { return choices[l.IntN(len(choices))] }

func (l *whereLines) user() string {
	return l.one("ann", "bob", "user-1234567", "user-12345678", `o"neil`, "é-7654321", "a b")
}

func (l *whereLines) line() string {
	status := l.one("200", "404", "500", "5e2", "500.0")
	took := l.one("20ms", "0.02s", "1.5s", "7")
	switch l.IntN(5) {
	case 0:
		return fmt.Sprintf(`10.0.0.%d - %s [20/Nov/2026:15:04:05 +0000] "GET /%s HTTP/1.1" %d 12 "-" "curl" took=%s`,
			l.IntN(9), l.one("-", "ann", "user-1234567"), l.one("a", "pay?id=1"), 200+100*l.IntN(4), took)
	case 1:
		return fmt.Sprintf(`user=%q status=%s took=%s`, l.user(), status, took)
	case 2:
		return "plain text of " + l.user()
	}
	user, err := json.Marshal(l.user())
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"user":%s,"status":%s,"took":%q,"http":{"path":"/pay"},"n":%d}`, user, status, took, l.IntN(5))
}

func (l *whereLines) message(parser string) func(string) string {
	return func(instance string) string {
		m := l.line()
		if l.IntN(5) == 0 {
			wrapped, err := json.Marshal(m)
			if err != nil {
				panic(err)
			}
			m = fmt.Sprintf(`{"log":%s,"user":"outer"}`, wrapped)
		}
		of := logged{parser, instance}
		l.all[of] = append(l.all[of], m)
		return m
	}
}

func (l *whereLines) condition(depth int) string {
	if depth > 0 {
		switch a, b := l.condition(depth-1), l.condition(depth-1); l.IntN(3) {
		case 0:
			return "not (" + a + ")"
		case 1:
			return "(" + a + ") and (" + b + ")"
		default:
			return "(" + a + ") or (" + b + ")"
		}
	}
	pod := fmt.Sprintf("pod-%d", l.IntN(8))
	return l.one(fmt.Sprintf("instance == %q", pod), fmt.Sprintf(`instance in [%q, "pod-1"]`, pod), `instance matches "[135]"`,
		`status >= 500`, `status == 500`, `status != 200`, `took > 20ms`, `took == 20ms`, `took > 5`, `has(http.path)`, `http.path startsWith "/p"`,
		`message.user == "outer"`, `ip == "10.0.0.3"`, `path == "/pay"`, `n in [1, 3]`, `not has(user)`, `message contains "text"`,
		fmt.Sprintf("user == %q", l.user()), fmt.Sprintf("user in [%q, %q]", l.user(), l.user()), `user startsWith "user-123456"`)
}

// --where finds the same before and after compaction of an hour with segments of several parsers, by both
// plans, with and without a cache: the records of which the expression is true with the parser of their segment.
func TestLongWhere(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "compares many answers")
	rnd := testrand.New(t)
	s := openStore(t)
	lines := &whereLines{Rand: rnd, all: map[logged][]string{}}
	expressions := effort.Cases{Test: 5, Full: 20, Long: 400}.N()
	for i, parser := range []string{"", "pattern/1 '<ip> - <user> [<_>] \"<_> <path> <_>\" <status> <_>'", `regexp/1 'user=(?P<user>\S+)|(?P<status>\d{3})'`, "none/1"} {
		f := newFleet(t, s, rnd, "web")
		f.parse, f.number, f.message = parser, uint64(1000*i), lines.message(parser)
		f.fill(hour(), 7, 12)
	}
	var sources []string
	for range expressions {
		sources = append(sources, lines.condition(rnd.IntN(4)))
	}
	want := map[string]string{}
	for _, source := range sources {
		want[source] = lines.answer(t, source)
	}
	compare := func(when string, a *asker) {
		t.Helper()
		for _, source := range sources {
			for _, plan := range []string{query.PlanList, query.PlanIndex} {
				if got := found(t, a, source, plan); got != want[source] {
					t.Fatalf("%s, %s by %s: %d bytes, want %d", when, source, plan, len(got), len(want[source]))
				}
			}
		}
	}
	a := &asker{tb: t, s: s}
	compare("before", a)
	a.cache = openCache(t)
	compare("before, cold cache", a)
	o := options(t)
	o.KeepInputs = true
	if made := run(t, s, o); made.Outputs < 3 { // segments of different parsers are not merged
		t.Fatalf("%+v", made)
	}
	compare("with inputs", a)
	o.KeepInputs = false
	run(t, s, o)
	compare("after", a)
	a.cache = nil
	compare("after, no cache", a)
	for _, source := range []string{`instance == "pod-9"`, `status >= 500 and instance in ["pod-8", "pod-9"]`} {
		if got := blocksRead(t, s, source); got > 0 {
			t.Errorf("%s: %d blocks read", source, got)
		}
	}
}

// blocksRead is the number of blocks that a query reads.
func blocksRead(t *testing.T, s store.Store, source string) int64 {
	t.Helper()
	q, err := query.New([]query.Store{query.ReadOnly(s)}, query.Selection{From: hour(), To: hour().Add(time.Hour), Where: []string{source}}, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Run(t.Context(), p, func(query.Match) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return q.Report().BlocksRead
}

// answer are the messages of which an expression is true, sorted.
func (l *whereLines) answer(t *testing.T, source string) string {
	t.Helper()
	p, err := where.Compile(source, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	e := p.Evaluator()
	var all []string
	for of, messages := range l.all {
		parser, err := parse.CompileStored(of.parser)
		if err != nil {
			t.Fatal(err)
		}
		s := parser.Splitter(p.Fields()...)
		for _, m := range messages {
			s.Split(nil, []byte(m))
			if e.Holds(&where.Record{Message: []byte(m), Fields: s, Level: record.Info, Instance: of.instance}) {
				all = append(all, m)
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// found are the messages that a query finds, sorted, without what follows their first line.
func found(t *testing.T, a *asker, source, plan string) string {
	t.Helper()
	st := query.ReadOnly(a.s)
	st.Cache = a.cache
	sel := query.Selection{From: hour(), To: hour().Add(time.Hour), Where: []string{source}}
	q, err := query.New([]query.Store{st}, sel, query.Options{Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := output.New(&b, output.Options{Format: output.Raw})
	if err == nil {
		err = q.Run(t.Context(), p, w.Write)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "\t") && line != "\n" {
			all = append(all, strings.TrimSuffix(line, "\n"))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}
