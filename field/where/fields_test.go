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
		`status >= 500 and user.name == "ann"`:                {{"status", field.Number, nil}, {"user.name", field.String, []string{"ann"}}},
		`-1.5 < a.b.c`:                                        {{"a.b.c", field.Number, nil}},
		`message.level == "x" and level == "info"`:            {{"level", field.String, []string{"x"}}},
		`field("message.time") == 1 and message contains "x"`: {{"message.time", field.Number, nil}},
		`field("http-status") == 500`:                         {{"http-status", field.Number, nil}},
		`level >= "warn" and time > "-1h" and ok`:             {{"ok", field.Missing, nil}},
		`user in ["ann", "bob"]`:                              {{"user", field.String, []string{"ann", "bob"}}},
		`n in [1, "x"]`:                                       {{"n", field.Missing, nil}},
		`"ann" in users`:                                      {{"users", field.Missing, nil}},
		`path startsWith "/p" or not (ok == true)`:            {{"path", field.String, nil}, {"ok", field.Bool, nil}},
		`"b" == a`:               {{"a", field.String, []string{"b"}}},
		`a == b`:                 {{"a", field.Missing, nil}, {"b", field.Missing, nil}},
		`a == nil`:               {{"a", field.Missing, nil}},
		`len(name) > 3`:          {{"name", field.Missing, nil}},
		`let x = took; x > 3`:    {{"took", field.Missing, nil}},
		`any(list, # > took.ms)`: {{"list", field.Missing, nil}, {"took.ms", field.Missing, nil}},
		`(a.b ?? "x") == "y"`:    {{"a.b", field.Missing, nil}},
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
