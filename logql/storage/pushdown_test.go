package storage_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/logql/engine"
	"logstow/logql/storage"
	"logstow/logql/syntax"
)

// Random queries find over segments and outputs of compaction what they find without pushdown.
func TestLongPushdown(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many queries")
	rnd := testrand.New(t)
	queries := effort.Cases{Test: 100, Full: 800, Long: 30_000}.N()
	worlds := pushdownWorlds(t, rnd)
	found := 0
	for range queries {
		name := pick(rnd, []string{"plain", "compacted", "late"})
		w := worlds[name]
		text := randomQuery(rnd)
		expr, err := syntax.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		from, to := randomRange(rnd)
		p := engine.LogParams{From: from, To: to, Newest: rnd.IntN(2) == 0, Limit: rnd.IntN(3) * rnd.IntN(20)}
		log := expr.(*syntax.LogExpr)
		want, err := answer(t.Context(), w.reference().Source, log, p)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := answer(t.Context(), w.view(storage.Access{}), log, p)
		if err != nil {
			t.Fatalf("%s: %s: %v", name, text, err)
		}
		found += len(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s\n%+v (-without pushdown +with)\n%s", name, text, p, diff)
		}
	}
	if found < queries {
		t.Errorf("%d records found: the queries do not show much", found)
	}
}

// The same for metric queries, which count by footers and read in any order.
func TestLongPushdownMetrics(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	queries := effort.Cases{Short: 10, Test: 30, Full: 200, Long: 10_000}.N()
	worlds := pushdownWorlds(t, rnd)
	for range queries {
		name := pick(rnd, []string{"plain", "compacted", "late"})
		w := worlds[name]
		log := randomQuery(rnd)
		if rnd.IntN(2) == 0 {
			log = randomSelector(rnd)
		}
		window := pick(rnd, []string{"1h", "5m", "7s", "1500ms", "5s273ms437us500ns", "1d", "26h", "1h1s"})
		text := fmt.Sprintf("sum by (%s) (count_over_time(%s [%s]))", pick(rnd, []string{"level", "service_name", "service", "source", "instance,detected_level", "user", ""}), log, window)
		expr, err := syntax.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		from, to := randomRange(rnd)
		p := engine.MetricParams{Start: to, End: to}
		if rnd.IntN(3) > 0 {
			p = engine.MetricParams{Start: from, End: to, Step: time.Duration(max(int64(time.Second), (to-from)/int64(1+rnd.IntN(40))))}
			if rnd.IntN(2) == 0 {
				p.Step = p.Step.Truncate(time.Second)
				p.Start -= p.Start % int64(p.Step)
			}
		}
		want, wantErr := w.reference().Metric(t.Context(), expr.(syntax.SampleExpr), p)
		got, gotErr := (&engine.Engine{Source: w.view(storage.Access{})}).Metric(t.Context(), expr.(syntax.SampleExpr), p)
		if (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("%s: %s: %v, without pushdown %v", name, text, gotErr, wantErr)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s: %s\n%+v (-without pushdown +with)\n%s", name, text, p, diff)
		}
	}
}

// pushdownWorlds are records in segments, in outputs of compaction, and in both.
func pushdownWorlds(t *testing.T, rnd *rand.Rand) map[string]*world {
	worlds := map[string]*world{}
	for _, name := range []string{"plain", "compacted", "late"} {
		w := newWorld(t, rnd)
		w.fill(30, 30)
		if name != "plain" {
			w.compact()
		}
		if name == "late" {
			w.fill(10, 20)
		}
		worlds[name] = w
	}
	return worlds
}

func randomRange(rnd *rand.Rand) (from, to int64) {
	first, length := origin().Add(-time.Minute), int64(4*time.Hour+2*time.Minute)
	if rnd.IntN(3) == 0 {
		return first.UnixNano(), first.UnixNano() + length
	}
	a, b := rnd.Int64N(length), rnd.Int64N(length)
	if rnd.IntN(2) == 0 {
		a, b = a-a%int64(time.Second), b-b%int64(time.Minute)
	}
	return first.UnixNano() + min(a, b), first.UnixNano() + max(a, b) + 1
}

// randomSelector is a selector, of which most select something.
func randomSelector(rnd *rand.Rand) string {
	matchers := []string{pick(rnd, []string{
		`service_name="api"`, `service_name=~"api|web"`, `service_name=~"api|web|none"`, `service=~".+"`, `instance=~".+",service_name!="web"`, `service_name=~"(?i)API"`,
		`service_name=~"a.*|w[e]b"`, `level=~".+",service_name!~"db.*"`, `source=~".+",service_name=~"|api"`, `service="db-1"`, `level=~".+",service_name=~".*"`,
	})}
	for range rnd.IntN(3) {
		matchers = append(matchers, pick(rnd, []string{
			`level="error"`, `level=~"error|warn|unknown"`, `detected_level!="info"`, `level!~"x"`, `level="ERROR"`,
			`instance="a-0"`, `instance=~"a-.*"`, `instance!="b"`, `source=` + strconv.Quote(pick(rnd, sources())), `source!="app.log"`, `source=~".*u.*"`,
			`nothing=""`, `nothing!="x"`, `source!=""`, `service_name!="x"`,
		}))
	}
	return "{" + strings.Join(matchers, ",") + "}"
}

func randomQuery(rnd *rand.Rand) string {
	text := randomSelector(rnd)
	for range 1 + rnd.IntN(4) {
		text += " " + randomStage(rnd)
	}
	return text
}

func quoted(rnd *rand.Rand) string {
	word := pick(rnd, words())
	switch rnd.IntN(6) {
	case 0:
		word = word[:rnd.IntN(len(word)+1)]
	case 1:
		word += " " + pick(rnd, words())
	case 2:
		word = strings.ToUpper(word)
	case 3:
		if rnd.IntN(4) == 0 {
			word = pick(rnd, []string{"", "\n", "a\nb", "\n\n\t"})
		}
	}
	return strconv.Quote(word)
}

func randomStage(rnd *rand.Rand) string {
	alternatives := func(op string) string {
		text := op + " " + quoted(rnd)
		for rnd.IntN(3) == 0 {
			text += " or " + quoted(rnd)
		}
		return text
	}
	switch rnd.IntN(12) {
	case 0, 1:
		return alternatives("|=")
	case 2:
		return alternatives("!=")
	case 3:
		return pick(rnd, []string{"|~", "!~"}) + " " + strconv.Quote(pick(rnd, []string{
			"err.r", "(?i)ERROR", "^.", "user.*id", "^$", `\d{3}`, "größe|502", "error", "(?i)größe", "", `timeout\s`, "a1b2.*$", "[^x]",
		}))
	case 4:
		return pick(rnd, []string{"|>", "!>"}) + " " + strconv.Quote(pick(rnd, []string{
			"<_>error<_>", "<_>502<_>req-1234567<_>", "{<_>}", "msg=<_> user=<_>", "<_>a1b2c3d4e5f6<_>", "<_>\n<_>",
		}))
	case 5, 6:
		return pick(rnd, []string{
			"| json", "| json", "| json", "| logfmt", "| logfmt", `| json user="id", id`, `| json o="o"`, `| logfmt user="msg"`, "| unpack", "| decolorize",
			`| regexp "(?P<user>\\w+)"`, `| pattern "<user> - <id> [<n>]"`, `| logfmt --strict --keep-empty`,
		})
	case 7, 8:
		name := pick(rnd, []string{"user", "user", "id", "id", "o_x", "msg", "o"})
		return "| json | " + name + pick(rnd, []string{"=", "=", "=", "!="}) + quoted(rnd)
	case 9:
		return "| " + pick(rnd, []string{
			`level="error"`, `source="app.log"`, `instance!="b", level=~"error|fatal"`, `status>=500`, `status=502`, `level="error" or user="k"`, `service="api"`,
			`detected_level="warn" and id="1234567"`, `__error__=""`, `__error__!=""`, `level_extracted="error"`, `source_extracted="timeout"`, `user=~"a.*"`, `user!~".+"`,
			`service_name="api"`, `user=ip("10.0.0.0/8")`, `(level="info" and user="502") id="k"`,
		})
	case 10:
		return pick(rnd, []string{
			`| line_format "{{.user}} {{__line__}}"`, `| label_format user=id`, `| label_format level="x"`, `| drop level=~".+"`, `| keep user, id=~".+"`, `| drop __error__=~".+"`, `| label_format source=user`,
			`| drop source="app.log"`, `| keep user, level="error"`,
		})
	}
	return "| logfmt | " + pick(rnd, []string{"user", "id", "msg"}) + "=" + quoted(rnd)
}
