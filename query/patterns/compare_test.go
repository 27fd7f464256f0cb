package patterns_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/testrand"
	"logstow/query/patterns"
	"logstow/record"
)

// changes are those of a comparison in short.
func changes(r *patterns.Result) (short []string) {
	for _, c := range r.Changes() {
		short = append(short, fmt.Sprintf("%v %d %d %.4g %.4g %s", c.Kind, c.Counts[0], c.Counts[1], c.Rates[0], c.Rates[1], c.Text))
	}
	return short
}

func TestChanges(t *testing.T) {
	t.Parallel()
	second := int64(time.Second)
	for _, c := range []struct {
		name          string
		seconds       [2]int64
		before, after int
		want          []string
	}{
		{"equal", [2]int64{10, 10}, 10, 10, nil},
		{"new", [2]int64{10, 10}, 0, 1, []string{"new 0 1 0 0.1 m"}},
		{"gone", [2]int64{10, 20}, 1, 0, []string{"gone 1 0 0.1 0 m"}},
		{"doubled", [2]int64{10, 10}, 5, 10, []string{"up 5 10 0.5 1 m"}},
		{"doubled, few", [2]int64{10, 10}, 4, 9, nil},
		{"nearly doubled", [2]int64{10, 10}, 6, 11, nil},
		{"halved", [2]int64{10, 10}, 10, 5, []string{"down 10 5 1 0.5 m"}},
		{"halved, few", [2]int64{10, 10}, 9, 4, nil},
		{"nearly halved", [2]int64{10, 10}, 11, 6, nil},
		{"rate doubled", [2]int64{20, 10}, 10, 10, []string{"up 10 10 0.5 1 m"}},
		{"rate halved", [2]int64{10, 20}, 10, 10, []string{"down 10 10 1 0.5 m"}},
		{"rate equal", [2]int64{10, 20}, 10, 20, nil},
	} {
		from, to := patterns.Range{From: 0, To: c.seconds[0] * second}, patterns.Range{From: 100 * second, To: (100 + c.seconds[1]) * second}
		counter := patterns.NewComparison(from, to)
		for n := range c.before {
			counter.Add("web", record.Record{Time: int64(n), Message: []byte("m")})
		}
		for n := range c.after {
			counter.Add("web", record.Record{Time: to.From + int64(n), Message: []byte("m")})
		}
		if diff := cmp.Diff(c.want, changes(counter.Result())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// Rates are compared exactly, also over the longest ranges; an empty range has no records.
func TestChangesAtLimits(t *testing.T) {
	t.Parallel()
	add := func(c *patterns.Counter, n int, at int64) *patterns.Counter {
		for range n {
			c.Add("web", record.Record{Time: at, Message: []byte("m")})
		}
		return c
	}
	long := patterns.Range{From: math.MinInt64, To: 0}
	got := changes(add(add(patterns.NewComparison(long, patterns.Range{From: 0, To: math.MaxInt64}), 10, -1), 19, 1).Result())
	if got != nil {
		t.Errorf("19 to 10 in equally long ranges: %q", got)
	}
	// One nanosecond less makes the rate of the second range more than twice that of the first.
	got = changes(add(add(patterns.NewComparison(long, patterns.Range{From: 1, To: math.MaxInt64 - 1}), 10, -1), 20, 1).Result())
	if want := []string{"up 10 20 1.084e-09 2.168e-09 m"}; !cmp.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	got = changes(add(patterns.NewComparison(patterns.Range{From: 5, To: 5}, patterns.Range{From: 5, To: 4}), 10, 5).Result())
	if got != nil {
		t.Errorf("empty ranges: %q", got)
	}
}

// Changes are in the order of their kinds, then of the difference of their rates.
func TestChangesOrder(t *testing.T) {
	t.Parallel()
	c := patterns.NewComparison(patterns.Range{From: 0, To: 10}, patterns.Range{From: 10, To: 20})
	for text, counts := range map[string][2]int{
		"down a b": {20, 3}, "up a b": {4, 20}, "gone a b": {3, 0}, "new a b": {0, 3}, "new more of": {0, 4}, "up more of": {4, 30}, "up from many": {24, 48}, "new also so": {0, 3},
	} {
		for side, n := range counts {
			for range n {
				c.Add("web", record.Record{Time: int64(10 * side), Message: []byte(text)})
			}
		}
	}
	var got []string
	for _, change := range c.Result().Changes() {
		got = append(got, change.Kind.String()+": "+change.Text)
	}
	want := []string{
		"new: new more of", "new: new a b", "new: new also so", "gone: gone a b", "up: up more of", "up: up from many", "up: up a b", "down: down a b",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Among 100,000 lines, a message that is new, one that vanished and one that doubled are found, and
// nothing else.
func TestPlantedChanges(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	hour := int64(time.Hour)
	ranges := [2]patterns.Range{{From: 0, To: 2 * hour}, {From: 3 * hour, To: 4 * hour}}
	formats := []string{
		`{"level":"info","msg":"user %n signed in from %a","n":%i}`, `{"msg":"request %i served","took_ms":%i,"path":"/v1/orders/%i"}`,
		`{"msg":"cache miss for key order:%i:%n"}`, `level=info msg="order %i of %n confirmed" total=%i`, `msg="payment of %n by card declined" code=%i`,
		`2026-11-20 15:04:%i INFO db.Pool: connection %i to %a opened`, `2026-11-20 15:04:%i INFO db.Pool: connection %i to %a closed`,
		`2026-11-20 15:04:%i WARN db.Query: slow statement took %i ms: "select %n"`, `%a - - "GET /v1/%n/%i HTTP/1.1" 200 %i`, `%a - - "POST /v1/%n HTTP/1.1" 500 %i`,
		`Nov 20 15:04:%i %n sshd[%i]: Failed password for %n from %a port %i ssh2`, `Nov 20 15:04:%i %n sshd[%i]: Connection closed by %a [preauth]`,
		`worker-%i: job 4bf92f35-77b3-4da6-a3ce-%i29d0e0e4736 done in %i.%is`, `worker-%i: job 4bf92f35-77b3-4da6-a3ce-%i29d0e0e4736 failed: timeout after %ims`,
		`retry of message %i to %n in %is`, `file /var/spool/%n/%i.dat uploaded (%i bytes)`, "panic: runtime error: index out of range [%i]\n\tat %n:%i",
		`GC pause %i ms, heap %i MB`, `leader is node-%i at %a`, `config %n=%i reloaded by %n at last`,
	}
	names := strings.Split(named(400), " ")
	fill := func(format string) []byte {
		var b []byte
		for i := 0; i < len(format); i++ {
			if format[i] != '%' {
				b = append(b, format[i])
				continue
			}
			switch i++; format[i] {
			case 'i':
				b = fmt.Append(b, 10+r.IntN(90))
			case 'n':
				b = append(b, names[r.IntN(len(names))]...)
			case 'a':
				b = fmt.Appendf(b, "10.%d.0.%d", r.IntN(250), r.IntN(250))
			}
		}
		return b
	}
	workers := []*patterns.Counter{
		patterns.NewComparison(ranges[0], ranges[1]), patterns.NewComparison(ranges[0], ranges[1]), patterns.NewComparison(ranges[0], ranges[1]),
	}
	lines := 0
	add := func(side int, message []byte) {
		lines++
		at := ranges[side].From + r.Int64N(ranges[side].To-ranges[side].From)
		workers[r.IntN(len(workers))].Add("web", record.Record{Time: at, Message: message})
	}
	planted := func(side, n int, format string) {
		for range n {
			add(side, fill(format))
		}
	}
	planted(1, 1, `{"msg":"replication to %a lost: %n"}`)
	planted(0, 3, `checkpoint %i written to /data/%i`)
	planted(0, 20, `msg="queue of %n is full" depth=%i`)
	planted(1, 20, `msg="queue of %n is full" depth=%i`) // in half the time
	planted(0, 18, `msg="disk of %n is slow" depth=%i`)
	planted(1, 17, `msg="disk of %n is slow" depth=%i`)
	for lines < 100_000 {
		add(min(1, r.IntN(3)/2), fill(formats[lines%len(formats)]))
	}
	for len(workers) > 1 {
		workers[0].Merge(workers[1])
		workers = append(workers[:1], workers[2:]...)
	}
	result := workers[0].Result()
	want := []string{
		"new 0 1 0 0.0002778 replication to <_> lost: ",
		"gone 3 0 0.0004167 0 checkpoint <_> written to <_>",
		"up 20 20 0.002778 0.005556 queue of <_> is full",
	}
	got := changes(result)
	if len(got) == len(want) {
		got[0] = got[0][:min(len(got[0]), len(want[0]))] // then a name
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if n := len(result.Templates); n < len(formats) || n > len(formats)+10 {
		for _, template := range result.Templates {
			t.Log(template.Counts, template.Text)
		}
		t.Errorf("%d templates of %d formats", n, len(formats))
	}
}
