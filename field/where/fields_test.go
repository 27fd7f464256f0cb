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
		`status >= 500 and user.name == "ann"`:     {{"status", message.Number, 0, nil}, {"user.name", message.String, 0, []string{"ann"}}},
		`-1.5 < a.b.c`:                             {{"a.b.c", message.Number, 0, nil}},
		`field("http-status") == 500`:              {{"http-status", message.Number, 0, nil}},
		`level >= "warn" and time > "-1h" and ok`:  {{"ok", message.Missing, 0, nil}},
		`user in ["ann", "bob"]`:                   {{"user", message.String, 0, []string{"ann", "bob"}}},
		`n in [1, "x"]`:                            {{"n", message.Missing, 0, nil}},
		`"ann" in users`:                           {{"users", message.Missing, 0, nil}},
		`path startsWith "/p" or not (ok == true)`: {{"path", message.String, 0, nil}, {"ok", message.Bool, 0, nil}},
		`"b" == a`:               {{"a", message.String, 0, []string{"b"}}},
		`a == b`:                 {{"a", message.Missing, 0, nil}, {"b", message.Missing, 0, nil}},
		`a == nil`:               {{"a", message.Missing, 0, nil}},
		`a > 100ms and 1h > b`:   {{"a", message.String, message.Duration, nil}, {"b", message.String, message.Duration, nil}},
		`a in [-1MiB, 2kB]`:      {{"a", message.String, message.Size, nil}},
		`a in [1MiB, 2]`:         {{"a", message.Missing, 0, nil}},
		`a in [1MiB, "x"]`:       {{"a", message.Missing, 0, nil}},
		`a in [1MiB, 2s]`:        {{"a", message.Missing, 0, nil}},
		`len(name) > 3`:          {{"name", message.Missing, 0, nil}},
		`let x = took; x > 3`:    {{"took", message.Missing, 0, nil}},
		`any(list, # > took.ms)`: {{"list", message.Missing, 0, nil}, {"took.ms", message.Missing, 0, nil}},
		`(a.b ?? "x") == "y"`:    {{"a.b", message.Missing, 0, nil}},
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
