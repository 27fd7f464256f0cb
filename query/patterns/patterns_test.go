package patterns_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/query/patterns"
	"logstow/record"
)

// templates are those of lines, each with its number of records.
func templates(lines ...string) (texts []string) {
	c := patterns.NewCounter(patterns.Always())
	for _, line := range lines {
		c.Add("web", record.Record{Message: []byte(line)})
	}
	for _, t := range c.Result().Templates {
		texts = append(texts, fmt.Sprint(t.Counts[0], " ", t.Text))
	}
	return texts
}

// each is a line for each value in place of %s.
func each(format string, values string) (lines []string) {
	for value := range strings.SplitSeq(values, " ") {
		lines = append(lines, strings.ReplaceAll(format, "%s", value))
	}
	return lines
}

// named are n words that have no digits.
func named(n int) string {
	var names []string
	for i := range n {
		names = append(names, "z"+strings.NewReplacer("0", "k", "1", "l", "2", "m", "3", "n", "4", "o", "5", "p", "6", "q", "7", "r", "8", "s", "9", "t").Replace(fmt.Sprint(i)))
	}
	return strings.Join(names, " ")
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	var combined []string
	for i, name := range strings.Split(named(40), " ") {
		combined = append(combined, fmt.Sprintf("order from %s was shipped to %s today", name, strings.Split(named(99), " ")[i+50]))
	}
	for _, c := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"nothing", nil, nil},
		{"empty lines", []string{"", " \n"}, []string{"2 "}},
		{"equal", each("got %s items", "1 2 3"), []string{"3 got <_> items"}},
		{"four words", each("machine was %s at noon", "started stopped paused resumed"), []string{
			"1 machine was paused at noon", "1 machine was resumed at noon", "1 machine was started at noon", "1 machine was stopped at noon",
		}},
		{"five words", each("machine was %s at noon", "a b c d e"), []string{"5 machine was <_> at noon"}},
		{"five words, repeated", each("machine was %s at noon", "a b c d a b c d a"), []string{
			"3 machine was a at noon", "2 machine was b at noon", "2 machine was c at noon", "2 machine was d at noon",
		}},
		{"two identifiers", each("call of %s failed", "com.x.A com.y.B"), []string{"2 call of com.<_> failed"}},
		{"two words beside what is common", each("call of %s failed", "com.x.A com.x.B"), []string{"1 call of com.x.A failed", "1 call of com.x.B failed"}},
		{"suffix", each("call of %s failed", "host.a.x.com node.x.com"), []string{"2 call of <_>.x.com failed"}},
		{"prefix and suffix that overlap", each("call of %s failed", "a.b.c a.b.b.c"), []string{"2 call of a.b.<_> failed"}},
		{"one variable", each("block (%s) is lost", "rdd_1 x"), []string{"2 block (<_>) is lost"}},
		{"letters that are not ASCII", each("call of %s failed", "Āa Āb Āc Ād Āe"), []string{"5 call of <_> failed"}},
		{"parts of letters", each("call of %s failed", "aé aè aê aë aï"), []string{"5 call of <_> failed"}},
		{"ends in letters that are not ASCII", each("call of %s failed", "aĀ bĀ cĀ dĀ eĀ"), []string{"5 call of <_> failed"}},
		{"part of a wildcard", each("call of %s failed", "x1 x<_y"), []string{"2 call of <_> failed"}},
		{"only punctuation", each("all is %s now", "well. well, well"), []string{"1 all is well now", "1 all is well, now", "1 all is well. now"}},
		{"states", each("overlap is clip:%s or not", "true false"), []string{"1 overlap is clip:false or not", "1 overlap is clip:true or not"}},
		{"keys", each("value is %s=1 of more", "aa bb cc dd ee ff"), []string{
			"1 value is aa=<_> of more", "1 value is bb=<_> of more", "1 value is cc=<_> of more", "1 value is dd=<_> of more",
			"1 value is ee=<_> of more", "1 value is ff=<_> of more",
		}},
		{"too little is constant", each("%s done", "a b c d e f"), []string{"1 a done", "1 b done", "1 c done", "1 d done", "1 e done", "1 f done"}},
		{"two constant words", each("%s was done", "a b c d e f"), []string{"6 <_> was done"}},
		{"one after the other", slices.Concat(each("put %s into ax now", named(5)), each("put %s into bx now", named(5)), each("put %s into cx now", named(5)),
			each("put %s into dx now", named(5)), each("put %s into ex now", named(5))), []string{"25 put <_> into <_> now"}},
		{"together", combined, []string{"40 order from <_> was shipped to <_> today"}},
		{"together, few", combined[:9], nil},
		{"together, beside others", append(slices.Clone(combined), "order from all was not sent to us ever"), []string{
			"40 order from <_> was shipped to <_> today", "1 order from all was not sent to us ever",
		}},
		{"neighbours", []string{"[Sun Nov 22 10:00:00 2026] a", "x=Nov 22 x"}, []string{"1 [<_>] a", "1 x=<_> x"}},
		{"other numbers of words", []string{"a 1 2 b", "a 1 b", "a 1, 2, 3 b"}, []string{"2 a <_> b", "1 a <_>, <_> b"}},
	} {
		got := templates(c.lines...)
		if c.name == "together, few" {
			if len(got) != 9 {
				t.Errorf("%s: %q", c.name, got)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestResult(t *testing.T) {
	t.Parallel()
	c := patterns.NewCounter(patterns.Range{From: 10, To: 20})
	add := func(service string, at int64, level record.Level, message string) {
		b := []byte(message)
		c.Add(service, record.Record{Time: at, Level: level, Message: b})
		for i := range b {
			b[i] = 'x' // nothing is retained
		}
	}
	add("web", 9, record.Error, "got 0 items")
	add("web", 20, record.Error, "got 0 items")
	add("web", 15, record.Info, "  got 2 items")
	add("db", 12, record.Warn, `{"msg":"got 1 items"}`)
	add("web", 12, record.Info, "got 3 items\nand more")
	add("web", 19, record.Info, "got 4 items")
	add("db", 13, record.Level(99), "other\tmessage ")
	for _, n := range []int{3, 9, 1, 8, 2, 7, 4, 6, 5, 3} {
		add(fmt.Sprint("s", n), 14, record.None, "third message here")
	}
	if n := c.MostServices(); n != patterns.MaxServices+1 {
		t.Errorf("%d services of a shape are kept", n)
	}
	got := c.Result()
	got.Templates[0].Share = float64(int(got.Templates[0].Share*1000)) / 1000
	want := []patterns.Template{
		{
			Text: "third message here", Counts: [2]uint64{10, 0}, Share: 0.666, Levels: record.Counts{record.None: 10}, First: 14, Last: 14,
			Example: "third message here", Services: []string{"s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"}, MoreServices: true,
		},
		{
			Text: "got <_> items", Counts: [2]uint64{4, 0}, Share: 4. / 15, Levels: record.Counts{record.Info: 3, record.Warn: 1}, First: 12, Last: 19,
			Example: "got 1 items", Services: []string{"db", "web"},
		},
		{
			Text: "other message", Counts: [2]uint64{1, 0}, Share: 1. / 15, First: 13, Last: 13,
			Example: "other\tmessage", Services: []string{"db"},
		},
	}
	if diff := cmp.Diff(want, got.Templates); diff != "" {
		t.Errorf("templates (-want +got):\n%s", diff)
	}
	if got.Records != [2]uint64{15, 0} || got.Ungrouped != [2]uint64{} || got.Coarse {
		t.Errorf("%v records, %v ungrouped, coarse %v", got.Records, got.Ungrouped, got.Coarse)
	}
}

// An example is up to 1 KiB long.
func TestExampleLimit(t *testing.T) {
	t.Parallel()
	c := patterns.NewCounter(patterns.Always())
	c.Add("web", record.Record{Message: []byte("a " + strings.Repeat("b", 1<<20))})
	got := c.Result().Templates[0]
	if want := "a " + strings.Repeat("b", 1022); got.Example != want || got.Text != "a <_>" {
		t.Errorf("%q with an example of %d bytes", got.Text, len(got.Example))
	}
}

// randomLine is a line of few or many shapes.
func randomLine(r *rand.Rand, words int, names []string) string {
	var b strings.Builder
	vocabulary := []string{"alpha", "beta", "gamma", "delta", "user", "of", "the", "=", "id=", "x.y.z", "a/b", `"q`, "1", "22", "Nov", "\xff", "é"}
	for range 1 + r.IntN(words) {
		switch r.IntN(4) {
		case 0:
			b.WriteString(names[r.IntN(len(names))])
		case 1:
			fmt.Fprint(&b, r.IntN(1e6))
		default:
			b.WriteString(vocabulary[r.IntN(len(vocabulary))])
		}
		b.WriteString([]string{" ", " ", "  ", ":"}[r.IntN(4)])
	}
	return b.String()
}

// The result is the same for any order of records, any number of counters and any order in which they
// are merged; also when there are more shapes than a counter keeps as they are.
func TestLongSameResult(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many lines")
	rounds := effort.Cases{Test: 4, Full: 24, Long: 2000}.N()
	seed := testrand.Seed(t)
	coarse, names := 0, strings.Split(named(300), " ")
	for round := range rounds {
		r := rand.New(rand.NewPCG(seed, uint64(round)))
		before, after := patterns.Range{From: 0, To: 600}, patterns.Range{From: 500, To: 1000}
		limit := []int{60, 300, patterns.MaxShapes}[r.IntN(3)]
		type added struct {
			service string
			record.Record
		}
		var records []added
		words := 2 + r.IntN(8)
		for range r.IntN(4000) {
			records = append(records, added{fmt.Sprint("s", r.IntN(12)), record.Record{
				Time: r.Int64N(1100), Level: record.Level(r.IntN(record.Levels)), Message: []byte(randomLine(r, words, names)),
			}})
		}
		// The groups that are coarse may keep more than the limit: it is not what is tested here.
		newCounter := func() *patterns.Counter { return patterns.NewComparison(before, after).Limit(limit).Unlimited() }
		var want *patterns.Result
		for try := range 4 {
			workers := make([]*patterns.Counter, 1+r.IntN(5)*min(try, 1))
			for i := range workers {
				workers[i] = newCounter()
			}
			for _, a := range records {
				workers[r.IntN(len(workers))].Add(a.service, a.Record)
			}
			r.Shuffle(len(workers), func(i, k int) { workers[i], workers[k] = workers[k], workers[i] })
			for len(workers) > 1 {
				last := len(workers) - 1
				workers[r.IntN(last)].Merge(workers[last])
				workers = workers[:last]
			}
			got := workers[0].Result()
			if want == nil {
				want = got
				if got.Coarse {
					coarse++
				}
			} else if diff := cmp.Diff(want, got, cmp.AllowUnexported(patterns.Result{})); diff != "" {
				t.Fatalf("round %d, limit %d, try %d (-first +other):\n%s", round, limit, try, diff)
			}
			r.Shuffle(len(records), func(i, k int) { records[i], records[k] = records[k], records[i] })
		}
		sum := uint64(0)
		for _, template := range want.Templates {
			sum += template.Count()
			if !patterns.NewMatcher(template.Text).Matches([]byte(template.Example)) {
				t.Errorf("%q does not match its example %q", template.Text, template.Example)
			}
		}
		if sum != want.Records[0]+want.Records[1] || want.Ungrouped != [2]uint64{} {
			t.Errorf("%d records in templates of %v, %v ungrouped", sum, want.Records, want.Ungrouped)
		}
	}
	if coarse < rounds/8 {
		t.Errorf("%d of %d rounds had too many shapes: the test checks too little", coarse, rounds)
	}
}

// Every message matches the template in which it is counted.
func TestMessagesMatchTheirTemplate(t *testing.T) {
	t.Parallel()
	r, names := rand.New(rand.NewPCG(1, 2)), strings.Split(named(300), " ")
	var messages [][]byte
	for range 5000 {
		messages = append(messages, []byte(randomLine(r, 8, names)))
	}
	messages = append(messages, generated(t, "json", 1<<20)...)
	messages = append(messages, generated(t, "hdfs", 1<<20)...)
	for _, limit := range []int{100, patterns.MaxShapes} {
		c := patterns.NewCounter(patterns.Always()).Limit(limit).Unlimited()
		for n, template := range patterns.TemplatesOf(c, messages) {
			if !patterns.NewMatcher(template).Matches(messages[n]) {
				t.Fatalf("limit %d: %q is counted in %q", limit, messages[n], template)
			}
		}
		if c.Result().Coarse != (limit == 100) {
			t.Errorf("limit %d: %d shapes", limit, c.Shapes())
		}
	}
}

// A variable that the shapes keep does not take memory for each of its values.
func TestManyShapes(t *testing.T) {
	t.Parallel()
	c := patterns.NewCounter(patterns.Always()).Limit(2000)
	names := strings.Split(named(20000), " ")
	for n, name := range names {
		c.Add("web", record.Record{Message: []byte("signed in as " + name + " at last")})
		if n%10 == 0 {
			c.Add("web", record.Record{Message: []byte("signed out again")})
		}
		if c.Shapes() > 4000 {
			t.Fatalf("%d shapes", c.Shapes())
		}
	}
	got := c.Result()
	if c.Shapes() > 100 {
		t.Errorf("%d shapes are left", c.Shapes())
	}
	var texts []string
	for _, template := range got.Templates {
		texts = append(texts, fmt.Sprint(template.Counts[0], " ", template.Text))
	}
	if diff := cmp.Diff([]string{"20000 signed in as <_> at last", "2000 signed out again"}, texts); diff != "" || !got.Coarse || got.Ungrouped[0] != 0 {
		t.Errorf("coarse %v, %d ungrouped (-want +got):\n%s", got.Coarse, got.Ungrouped[0], diff)
	}
}

// Long messages that have nothing in common take memory for their words, not for each pair of a message and one
// of its words.
func TestResultMemory(t *testing.T) { // not parallel: it measures memory
	const shapes, words = 3000, 60
	r, names := rand.New(rand.NewPCG(1, 2)), strings.Split(named(3000), " ")
	c := patterns.NewCounter(patterns.Always())
	for range shapes {
		var b []byte
		for range words {
			b = append(append(b, names[r.IntN(len(names))]...), ' ')
		}
		c.Add("web", record.Record{Message: b})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := len(c.Result().Templates)
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / shapes; n != shapes || each > 10<<10 {
		t.Errorf("%d templates of %d shapes, %d bytes allocated for each", n, shapes, each)
	} else {
		t.Logf("%d bytes allocated for each shape", each)
	}
}

// Shapes are grouped by their number of words and the first three that are not wildcards.
func TestGroups(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"<_> %s a b c", "<_> a %s b c", "a b %s <_> c", "%s a b c <_>"} {
		groups := map[uint16]bool{}
		for _, shape := range each(format, named(100)) {
			groups[patterns.GroupKey(shape)] = true
		}
		if len(groups) < 14 || len(groups) > 16 {
			t.Errorf("%q: %d groups", format, len(groups))
		}
	}
	if patterns.GroupKey("a b c x <_>") != patterns.GroupKey("a b <_> c y") {
		t.Error("the fourth word decides")
	}
	if patterns.GroupKey("a b c")/16 == patterns.GroupKey("a b c <_>")/16 {
		t.Error("the number of words does not decide")
	}
}

// A counter keeps no more than twice its limit of shapes, and counts the records that it left out.
func TestTooManyShapes(t *testing.T) {
	t.Parallel()
	fill := func(prefix string) (*patterns.Counter, int) {
		c := patterns.NewComparison(patterns.Range{From: 0, To: 10}, patterns.Range{From: 5, To: 20}).Limit(20)
		n := 0
		for i := range 64 {
			for _, name := range strings.Split(named(40), " ") {
				c.Add("web", record.Record{Time: int64(n % 20), Message: []byte(prefix + strings.Repeat("w ", i) + name)})
				n++
			}
		}
		if c.Shapes() > 40 {
			t.Errorf("%d shapes", c.Shapes())
		}
		return c, n
	}
	a, n := fill("a ")
	b, _ := fill("b ")
	a.Merge(b)
	if a.Shapes() > 40 {
		t.Errorf("%d shapes after a merge", a.Shapes())
	}
	got := a.Result()
	sum := got.Ungrouped
	for _, template := range got.Templates {
		sum[0] += template.Counts[0]
		sum[1] += template.Counts[1]
	}
	if sum != got.Records || got.Records != [2]uint64{uint64(n), uint64(2 * n * 3 / 4)} || got.Ungrouped[0] == 0 || got.Ungrouped[1] <= got.Ungrouped[0] {
		t.Errorf("%v records, %v ungrouped, %v in all", got.Records, got.Ungrouped, sum)
	}
}

// Any message is in one template, which it matches.
func FuzzTemplates(f *testing.F) {
	f.Add([]byte(`{"msg":"user \"x\" came from 10.0.0.1"}`), []byte("a=b c"))
	f.Add([]byte("\x1b[31mERROR\x1b[0m /var/log \"GET /x HTTP/1.1\" 'a' Sun Nov 22 10:00:00"), []byte("\xff\x00 <_> <_"))
	f.Add([]byte("open C:\\x http://a ::1 fe80::1 4bf92f35-77b3-4da6-a3ce-929d0e0e4736 12 MB"), []byte(strings.Repeat("id-1 ", 300)))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		messages := [][]byte{first, second, append(slices.Clone(first), second...), append(append(slices.Clone(second), ' '), first...)}
		for n, template := range patterns.TemplatesOf(patterns.NewCounter(patterns.Always()).Limit(2), messages) {
			if !patterns.NewMatcher(template).Matches(messages[n]) {
				t.Errorf("%q is counted in %q", messages[n], template)
			}
		}
	})
}
