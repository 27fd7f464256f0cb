package fieldstats

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"logstow/internal/test/testrand"
	"logstow/message"
	"logstow/message/parse"
	"logstow/query/fetch"
	"logstow/query/source"
	"logstow/segment"
)

// Attributes count before fields of the message; one with the name of a fixed field has a name that finds it.
func TestAttributes(t *testing.T) {
	t.Parallel()
	c := newCollector(blockLimits())
	c.use(parse.Auto())
	c.add([]byte(`{"level":"own","n":1,"resource":{"n":2,"pod":"p"}}`), []byte(`n=3 m=4 level=text`))
	c.add(nil, []byte(`n=3`))
	all := newCollector(globalLimits())
	all.merge(c)
	var got []string
	for _, f := range all.result(2) {
		got = append(got, fmt.Sprint(f.Name, " ", f.Records, " ", f.Attributes, " ", f.Top))
	}
	want := []string{
		"n 2 1 [{number 1 false 1} {number 3 false 1}]", "attribute.level 1 1 [{string own false 1}]", "level 1 0 [{string text false 1}]",
		"m 1 0 [{number 4 false 1}]", "pod 1 1 [{string p false 1}]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func collect(l limits, messages ...string) *collector {
	c := newCollector(l)
	c.use(parse.Auto())
	for _, m := range messages {
		c.add(nil, []byte(strings.ReplaceAll(m, "\n", "\n\t")))
	}
	return c
}

func TestFields(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", MaxText)
	c := collect(blockLimits(),
		`{"status":200,"user":{"id":7},"ok":true,"none":null,"tags":["a"],"id":"7"}`,
		`{"status":500,"user":{"id":7},"ok":false,"id":"8","status":404}`,
		`status=500 ok=yes id=7 empty=`,
		`{"long":"`+long+`1"}`, `{"long":"`+long+`2"}`,
		"plain", "at=1\nx=2",
	)
	var got []string
	for _, f := range c.result(2) {
		line := fmt.Sprint(f.Name, " ", f.Records, " ", f.Types, " ", f.Distinct)
		for _, v := range f.Top {
			line += fmt.Sprintf(" %s:%s:%d", v.Type, v.Text[:min(len(v.Text), 8)], v.Count)
			if v.Cut != (f.Name == "long") || len(v.Text) > MaxText {
				t.Errorf("%s: %q, cut: %v", f.Name, v.Text, v.Cut)
			}
		}
		got = append(got, line)
	}
	want := []string{
		"id 3 [1 2 0 0 0 0] 3 number:7:1 string:7:1",
		"ok 3 [0 1 2 0 0 0] 3 string:yes:1 boolean:false:1",
		"status 3 [3 0 0 0 0 0] 2 number:500:2 number:200:1",
		"long 2 [0 2 0 0 0 0] 2 string:éééé:1 string:éééé:1",
		"user 2 [0 0 0 0 0 2] 0",
		"user.id 2 [2 0 0 0 0 0] 1 number:7:2",
		"at 1 [1 0 0 0 0 0] 1 number:1:1",
		"empty 1 [0 1 0 0 0 0] 1 string::1",
		"none 1 [0 0 0 1 0 0] 0",
		"tags 1 [0 0 0 0 1 0] 1 array:[\"a\"]:1",
		"x 1 [1 0 0 0 0 0] 1 number:2:1",
	}
	if !slices.Equal(got, want) || c.records != 7 {
		t.Errorf("%d records:\n%s", c.records, strings.Join(got, "\n"))
	}
}

// However many values there are, and however they are merged, a count is at most the right one, and less
// by what was lost at most; what is exact equals it.
func TestCountsAreBounds(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	pruned, exact := 0, 0
	for range 200 {
		scale := []int{8, 200}[rnd.IntN(2)]
		l := limits{names: 50, values: 1 + rnd.IntN(40), bytes: 1 << (13 + rnd.IntN(7))}
		all, want, records := newCollector(l), map[string]map[string]uint64{}, map[string]uint64{}
		for range 1 + rnd.IntN(8) {
			local := newCollector(limits{names: 100, values: 1 + rnd.IntN(60), bytes: 1 << (13 + rnd.IntN(7))})
			local.use(parse.Auto())
			most := 1 + rnd.IntN(scale)
			for range rnd.IntN(300) {
				name, value := fmt.Sprint("f", rnd.IntN(3)), fmt.Sprint("v", min(rnd.IntN(most), rnd.IntN(most)))
				local.add(nil, []byte(name+"="+value))
				if want[name] == nil {
					want[name] = map[string]uint64{}
				}
				want[name][value]++
				records[name]++
			}
			all.merge(local)
		}
		for _, f := range all.result(MaxTop) {
			lost := all.fields[f.Name].lost
			if f.Records != records[f.Name] || f.Distinct > len(want[f.Name]) || !f.More && (f.Distinct != len(want[f.Name]) || lost > 0) {
				t.Fatalf("%s: %d records, %d values, more: %v; %d records, %d values", f.Name, f.Records, f.Distinct, f.More, records[f.Name], len(want[f.Name]))
			}
			if f.More {
				pruned++
			} else if exact++; len(f.Top) != f.Distinct {
				t.Fatalf("%s: %d of %d values", f.Name, len(f.Top), f.Distinct)
			}
			shown := map[string]bool{}
			for _, v := range f.Top {
				if n := want[f.Name][v.Text]; v.Count > n || v.Count+lost < n || shown[v.Text] {
					t.Fatalf("%s=%s: %d, want %d, lost %d", f.Name, v.Text, v.Count, n, lost)
				}
				shown[v.Text] = true
			}
			for value, n := range want[f.Name] {
				if n > 2*lost && !shown[value] {
					t.Fatalf("%s=%s occurs %d times, and is missing; lost %d", f.Name, value, n, lost)
				}
			}
			if !slices.IsSortedFunc(f.Top, func(a, b Value) int { return int(b.Count) - int(a.Count) }) {
				t.Fatalf("%v", f.Top)
			}
		}
	}
	if pruned < 50 || exact < 50 {
		t.Errorf("%d fields with more values, %d without", pruned, exact)
	}
}

// Hostile messages, with new names and values in each, take bounded memory, and do not hide a field that
// most records have.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	all := newCollector(globalLimits())
	for block := range 20 {
		local := newCollector(blockLimits())
		local.use(parse.Auto())
		for i := range 2000 {
			var b strings.Builder
			b.WriteString(`{"common":1`)
			for k := range 10 {
				fmt.Fprintf(&b, `,"n%d-%d-%d":"%s%d"`, block, i, k, strings.Repeat("x", 300), i)
			}
			local.add(nil, []byte(b.String()+"}"))
		}
		if len(local.fields) > 2*local.names || local.used > 3*local.bytes {
			t.Fatalf("block: %d names, %d bytes", len(local.fields), local.used)
		}
		all.merge(local)
		if len(all.fields) > all.names || all.used > 3*all.bytes {
			t.Fatalf("%d names, %d bytes", len(all.fields), all.used)
		}
	}
	result := all.result(1)
	if f := result[0]; !all.leftOut || f.Name != "common" || f.Records != 40_000 || f.Top[0].Count != 40_000 || len(result) != all.names {
		t.Errorf("%d fields, the first %+v", len(result), f)
	}
	used := 0
	for name, f := range all.fields {
		used += len(name) + valueOverhead
		for key := range f.values {
			used += len(key) + valueOverhead
		}
	}
	if used != all.used {
		t.Errorf("%d bytes are used, not %d", used, all.used)
	}
}

// As many names as are kept are no reason for a note, one more is.
func TestNamesLimit(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{2: false, 3: true} {
		all := newCollector(limits{names: 2, values: 10, bytes: 1 << 20})
		all.merge(collect(blockLimits(), []string{"a=1 b=1", "a=1 b=1 c=1"}[n-2], "b=1"))
		if result := all.result(0); all.leftOut != want || len(result) != 2 || result[0].Name != "b" || result[1].Name != "a" {
			t.Errorf("%d names: left out: %v, %+v", n, all.leftOut, result)
		}
	}
}

// Many values of one field.
func TestManyValues(t *testing.T) {
	t.Parallel()
	var messages []string
	for i := range 10_000 {
		messages = append(messages, fmt.Sprintf(`{"id":%d,"half":"%s"}`, i, []string{"often", fmt.Sprint(i)}[i%2]))
	}
	result := collect(blockLimits(), messages...).result(3)
	if f := result[1]; f.Name != "id" || !f.More || f.Distinct != 1000 || len(f.Top) > 0 {
		t.Errorf("%+v", f)
	}
	if f := result[0]; f.Name != "half" || !f.More || len(f.Top) != 1 || f.Top[0].Text != "often" || f.Top[0].Count < 4900 || f.Top[0].Count > 5000 {
		t.Errorf("%+v", f)
	}
}

func TestTypeOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Type{`{"a":1}`: Number, `{"a":"1"}`: String, `{"a":true}`: Bool, `{"a":null}`: Null, `{"a":[]}`: Array, `{"a":{}}`: Object, "a=1": Number, "a=true": Bool, "a=x": String, `a="1"`: String, "a=": String} {
		for name, v := range message.All([]byte(text)) {
			if got := typeOf(v); name == "a" && got != want {
				t.Errorf("%s: %s, want %s", text, got, want)
			}
		}
	}
}

// Every part comes once, and the beginning of the order is spread over all.
func TestReversed(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 3, 7, 64, 100, 1000} {
		var order []int
		for at := range reversed(n) {
			order = append(order, at)
		}
		sorted := slices.Sorted(slices.Values(order))
		for i, at := range sorted {
			if i != at {
				t.Fatalf("%d: %v", n, order)
			}
		}
		if len(order) != n {
			t.Fatalf("%d of %d", len(order), n)
		}
		for first := 8; first < n; first *= 2 { // of the first ones, some are in every quarter
			var quarters [4]int
			for _, at := range order[:first] {
				quarters[4*at/n]++
			}
			if slices.Min(quarters[:])*3 < slices.Max(quarters[:])-3 {
				t.Errorf("%d of %d: %v", first, n, quarters)
			}
		}
	}
	for range reversed(10) {
		break
	}
}

// Every task is in one part, the parts are of equal size, and a task that was taken is no longer in memory.
func TestParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ blocks, parts, most int }{{0, 1, 0}, {1, 1, 1}, {2, 5, 1}, {10, 3, 4}, {100, 7, 15}} {
		for _, step := range []int{1, 3} { // with 3, most blocks have no matches
			o := &opened{}
			kept := divided(o, c.blocks, c.parts, step)
			n := 0
			for part := range c.parts {
				taken := o.take(uint64(part))
				if len(taken) > c.most {
					t.Errorf("%+v: %d tasks in part %d", c, len(taken), part)
				}
				for _, one := range taken {
					if one.Block.Index != n*step {
						t.Errorf("%+v: block %d, want %d", c, one.Block.Index, n*step)
					}
					n++
				}
			}
			runtime.GC()
			for index, p := range kept {
				if p.Value() != nil {
					t.Errorf("%+v: task %d is kept", c, index)
				}
			}
			if n != len(kept) {
				t.Errorf("%+v: %d of %d tasks", c, n, len(kept))
			}
			runtime.KeepAlive(o)
		}
	}
}

// divided divides the tasks of every step-th block.
func divided(o *opened, blocks, parts, step int) (all []weak.Pointer[fetch.Task]) {
	var tasks []*fetch.Task
	for index := 0; index < blocks; index += step {
		tasks = append(tasks, &fetch.Task{Block: segment.Block{Index: index}})
		all = append(all, weak.Make(tasks[len(tasks)-1]))
	}
	o.divide(tasks, uint64(blocks), uint64(parts))
	return all
}

func TestBlocksOf(t *testing.T) {
	t.Parallel()
	seg := func(raw, records uint64) *source.Segment {
		s := &source.Segment{Size: 1000}
		s.Meta.RawBytes, s.Meta.Records = raw, records
		return s
	}
	segments := []*source.Segment{seg(0, 0), seg(1, 5), seg(segment.DefaultBlockSize, 6), seg(segment.DefaultBlockSize+1, 7)}
	if n := blocksOf(segments); n != 5 {
		t.Errorf("%d blocks", n)
	}
	if !atMost(segments, 18) || atMost(segments, 17) || atMost([]*source.Segment{{Foreign: true}}, 100) {
		t.Error("the numbers of records")
	}
}
