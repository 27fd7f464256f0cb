package where_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/field"
	"logstow/field/where"
)

func TestUses(t *testing.T) {
	t.Parallel()
	for source, want := range map[string][]where.Use{
		`status >= 500 and user.name == "ann"`:     {{"status", field.Number, 0, nil}, {"user.name", field.String, 0, []string{"ann"}}},
		`-1.5 < a.b.c`:                             {{"a.b.c", field.Number, 0, nil}},
		`field("http-status") == 500`:              {{"http-status", field.Number, 0, nil}},
		`level >= "warn" and time > "-1h" and ok`:  {{"ok", field.Missing, 0, nil}},
		`user in ["ann", "bob"]`:                   {{"user", field.String, 0, []string{"ann", "bob"}}},
		`n in [1, "x"]`:                            {{"n", field.Missing, 0, nil}},
		`"ann" in users`:                           {{"users", field.Missing, 0, nil}},
		`path startsWith "/p" or not (ok == true)`: {{"path", field.String, 0, nil}, {"ok", field.Bool, 0, nil}},
		`"b" == a`:               {{"a", field.String, 0, []string{"b"}}},
		`a == b`:                 {{"a", field.Missing, 0, nil}, {"b", field.Missing, 0, nil}},
		`a == nil`:               {{"a", field.Missing, 0, nil}},
		`a > 100ms and 1h > b`:   {{"a", field.String, field.Duration, nil}, {"b", field.String, field.Duration, nil}},
		`a in [-1MiB, 2kB]`:      {{"a", field.String, field.Size, nil}},
		`a in [1MiB, 2]`:         {{"a", field.Missing, 0, nil}},
		`a in [1MiB, "x"]`:       {{"a", field.Missing, 0, nil}},
		`a in [1MiB, 2s]`:        {{"a", field.Missing, 0, nil}},
		`len(name) > 3`:          {{"name", field.Missing, 0, nil}},
		`let x = took; x > 3`:    {{"took", field.Missing, 0, nil}},
		`any(list, # > took.ms)`: {{"list", field.Missing, 0, nil}, {"took.ms", field.Missing, 0, nil}},
		`(a.b ?? "x") == "y"`:    {{"a.b", field.Missing, 0, nil}},
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
