package parse_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/internal/test/testrand"
	"logstow/message"
	"logstow/message/parse"
)

func TestPattern(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, message, want string }{
		{`<ip> - <user> [<_>] "<method> <path> <_>" <status> <bytes>`, `10.0.0.1 - ann [20/Nov] "GET /a HTTP/1.1" 200 5`, `ip=10.0.0.1|user=ann|method=GET|path=/a|status=200|bytes=5`},
		{`<path>?<query>`, `/a?b?c`, `path=/a|query=b?c`},
		{`<path>?<query>`, `/a`, `path=/a`}, // the text behind a capture is missing: it ends with the message
		{`took <n>ms`, `took 12ms to go`, `n=12`},
		{`took <n>ms`, `it took 12ms`, ``}, // anchored
		{`<_>took <n>ms`, `it took 12ms`, `n=12`},
		{`took <n>ms`, `took 12`, `n=12`},
		{`<a>, <b>`, `, x`, `a=|b=x`},
		{`<a> <b>`, `-  -`, `a=-|b= -`},
		{`<a> <b>`, ``, `a=`},
		{`<34>1 <a>`, `<34>1 host`, `a=host`},
		{`é<a.b>ü<c>`, `éxüy`, `a.b=x|c=y`},
		{`<a>|<b>`, "1\n2|\x003", "a=1\n2|b=\x003"},
	} {
		if got := strings.Join(all(t, "pattern '"+c.pattern+"'", c.message), "|"); got != c.want {
			t.Errorf("%s: %q: %q, want %q", c.pattern, c.message, got, c.want)
		}
	}
}

// slowPattern is what a pattern means, in terms of regular expressions: text is itself, a capture
// is the shortest text before the next. Where a text does not occur, the pattern ends there.
func slowPattern(pattern, message string) (got []string) {
	capture := regexp.MustCompile(`<([A-Za-z_][A-Za-z0-9_.]*)>`)
	at := capture.FindAllStringSubmatchIndex(pattern, -1)
	for n := len(at); n > 0; n-- { // as many captures as possible, each with the text behind it
		for _, last := range []bool{false, true} { // the last one without the text behind it
			expression, i := `(?s)^`, 0
			for k, c := range at[:n] {
				end := len(pattern)
				if k+1 < len(at) {
					end = at[k+1][0]
				}
				expression += regexp.QuoteMeta(pattern[i:c[0]])
				i = end
				if k == n-1 && (last || c[1] == end) {
					expression += `(.*)`
					break
				}
				expression += `(.*?)` + regexp.QuoteMeta(pattern[c[1]:end])
			}
			found := regexp.MustCompile(expression).FindStringSubmatch(message)
			if found == nil {
				continue
			}
			for k, c := range at[:n] {
				if name := pattern[c[2]:c[3]]; name != "_" {
					got = append(got, name+"="+found[k+1])
				}
			}
			return got
		}
	}
	return nil
}

func TestPatternAgainstReference(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	text := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = `ab -["<>`[rnd.IntN(8)]
		}
		return string(b)
	}
	fields := 0
	for range 5_000 {
		pattern := text(rnd.IntN(2))
		for i := range 1 + rnd.IntN(4) {
			name := fmt.Sprintf("<n%d>", i)
			if i > 0 && rnd.IntN(4) == 0 {
				name = "<_>"
			}
			pattern += name + text(1+rnd.IntN(2))
		}
		if rnd.IntN(2) == 0 {
			pattern += "<last>"
		}
		message := text(rnd.IntN(20))
		want := slowPattern(pattern, message)
		got := all(t, "pattern '"+pattern+"'", message)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s: %q: %s", pattern, message, diff)
		}
		fields += len(got)
	}
	if fields < 2_500 {
		t.Errorf("%d fields only", fields)
	}
}

func FuzzPattern(f *testing.F) {
	f.Add(`<a> - <_> "<b>"`, `1 - x "y"`)
	f.Add(`<34><a>`, `<34>`)
	f.Fuzz(func(t *testing.T, pattern, message string) {
		p, err := parse.Compile("pattern '" + pattern + "'")
		if err != nil {
			return
		}
		checkStored(t, p)
		checkSplitter(t, p, []byte(message))
		if want, got := slowPattern(pattern, message), all(t, p.String()[:7]+p.String()[9:], message); !cmp.Equal(want, got) {
			t.Fatalf("%q: %q: %q, want %q", pattern, message, got, want)
		}
	})
}

func FuzzRegexp(f *testing.F) {
	f.Add(`(?P<a>\d+)(x)?`, `1 - x "y"`)
	f.Fuzz(func(t *testing.T, expression, msg string) {
		p, err := parse.Compile("regexp '" + expression + "'")
		if err != nil {
			return
		}
		checkStored(t, p)
		checkSplitter(t, p, []byte(msg))
		found := regexp.MustCompile(expression).FindStringSubmatch(msg)
		for name, v := range fieldsOf(p, []byte(msg)) {
			if i := regexp.MustCompile(expression).SubexpIndex(name); string(v.Text) != found[i] || v.Kind != message.Bare {
				t.Fatalf("%s: %q is %q, want %q", expression, name, v.Text, found[i])
			}
		}
	})
}

func FuzzCompile(f *testing.F) {
	f.Add("auto")
	f.Add("pattern '<a>'")
	f.Add("pattern '<a>\t<b>\u0085'")
	f.Add("pattern/1 '<a>'")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := parse.Compile(text); err == nil {
			checkStored(t, p)
		}
		if p, err := parse.CompileStored(text); err == nil && p.String() != text && p.Stored() != text {
			t.Fatalf("%q is stored as %q", text, p)
		}
	})
}

// checkStored checks that a parser's stored form means the same.
func checkStored(t *testing.T, p *parse.Parser) {
	t.Helper()
	stored := p.String()
	again, err := parse.CompileStored(stored)
	if err != nil || again.String() != stored {
		t.Fatalf("%q: %v, %v", stored, again, err)
	}
	if !blobnaming.ValidParse(stored) {
		t.Fatalf("%q cannot be stored", stored)
	}
}
