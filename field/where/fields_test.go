package where_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/field/where"
	"logstow/message"
)

func TestUses(t *testing.T) {
	t.Parallel()
	for source, want := range map[string][]where.Use{
		`status >= 500 and user.name == "ann"`:     {{"status", message.Number, 0, nil, false}, {"user.name", message.String, 0, []string{"ann"}, false}},
		`-1.5 < a.b.c`:                             {{"a.b.c", message.Number, 0, nil, false}},
		`attribute("a-b") == attribute.b.c`:        {{"attribute.a-b", message.Missing, 0, nil, false}, {"attribute.b.c", message.Missing, 0, nil, false}},
		`field("http-status") == 500`:              {{"http-status", message.Number, 0, nil, false}},
		`level >= "warn" and time > "-1h" and ok`:  {{"ok", message.Missing, 0, nil, false}},
		`user in ["ann", "bob"]`:                   {{"user", message.String, 0, []string{"ann", "bob"}, false}},
		`n in [1, "x"]`:                            {{"n", message.Missing, 0, nil, false}},
		`"ann" in users`:                           {{"users", message.Missing, 0, nil, false}},
		`path startsWith "/p" or not (ok == true)`: {{"path", message.String, 0, nil, false}, {"ok", message.Bool, 0, nil, false}},
		`"b" == a`:               {{"a", message.String, 0, []string{"b"}, false}},
		`a == b`:                 {{"a", message.Missing, 0, nil, false}, {"b", message.Missing, 0, nil, true}},
		`a in [b, "c"]`:          {{"a", message.Missing, 0, nil, false}, {"b", message.Missing, 0, nil, true}},
		`a > b`:                  {{"a", message.Missing, 0, nil, false}, {"b", message.Missing, 0, nil, false}},
		`a == nil`:               {{"a", message.Missing, 0, nil, false}},
		`a > 100ms and 1h > b`:   {{"a", message.String, message.Duration, nil, false}, {"b", message.String, message.Duration, nil, false}},
		`a in [-1MiB, 2kB]`:      {{"a", message.String, message.Size, nil, false}},
		`a in [1MiB, 2]`:         {{"a", message.Missing, 0, nil, false}},
		`a in [1MiB, "x"]`:       {{"a", message.Missing, 0, nil, false}},
		`a in [1MiB, 2s]`:        {{"a", message.Missing, 0, nil, false}},
		`len(name) > 3`:          {{"name", message.Missing, 0, nil, false}},
		`let x = took; x > 3`:    {{"took", message.Missing, 0, nil, false}},
		`any(list, # > took.ms)`: {{"list", message.Missing, 0, nil, false}, {"took.ms", message.Missing, 0, nil, false}},
		`(a.b ?? "x") == "y"`:    {{"a.b", message.Missing, 0, nil, false}},
	} {
		p, err := where.Compile(source, time.Now())
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if diff := cmp.Diff(want, p.Uses()); diff != "" {
			t.Errorf("%s: %s", source, diff)
		}
	}
}

// A field has comparisons if nothing but these depends on its number.
func TestComparisons(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]map[string]int{
		`a > 5`:                               {"a": 1},
		`a > 5 and a <= 9.5 or not (7 == a)`:  {"a": 3},
		`a > 5 and b < 3 or c == "x"`:         {"a": 1, "b": 1, "c": 0},
		`has(a) and a > 5`:                    {"a": 0},
		`a > 5 and string(a) endsWith "7"`:    {"a": 0},
		`a > 5 and a != b`:                    {"a": 0, "b": 0},
		`a > 5 and a in [6, 7]`:               {"a": 0},
		`a > 5ms`:                             {"a": 0},
		`a + 1 > 5`:                           {"a": 0},
		`let x = a; a > 5 and x < 9`:          {"a": 0},
		`a > 5 and (let x = a; x < 9)`:        {"a": 0},
		`any(list, # > a) or a > 5`:           {"list": 0, "a": 0},
		`(a > 5 ? b > 1 : false) and a > 6`:   {"a": 0, "b": 0},
		`a > 5 and (a > 6) == true`:           {"a": 0},
		`has(a)`:                              {"a": 0},
		`not (a > 5 and not (a >= 6 or b<1))`: {"a": 2, "b": 1},
	} {
		p, err := where.Compile(source, time.Now())
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		got := map[string]int{}
		for i, name := range p.Fields() {
			got[name] = 0
			if all, ok := p.Comparisons(i); ok {
				got[name] = len(all)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", source, diff)
		}
	}
}
