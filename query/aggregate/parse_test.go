package aggregate

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"logstow/field"
	"logstow/internal/hint"
)

func describe(f Function) string {
	text := fmt.Sprintf("%q %s", f.Header, f.Kind)
	if f.Expr != "" {
		text += fmt.Sprintf(" %q@%d", f.Expr, f.ExprAt)
	}
	if f.Field != (field.Name{}) {
		text += fmt.Sprintf(" %q %v", cmp.Or(string(f.Field.Fixed), f.Field.Field), f.Field.Fixed != "")
	}
	if f.Q != (Fraction{}) {
		text += fmt.Sprintf(" %d/%d", f.Q.Num, f.Q.Den)
	}
	return text
}

func TestParseCompute(t *testing.T) {
	t.Parallel()
	for list, want := range map[string][]string{
		"count":                                               {`"count" count`},
		" count , rate,share ":                                {`"count" count`, `"rate" rate`, `"share" share`},
		"count(a > 1, \"x,)\")":                               {`"count(a > 1, \"x,)\")" count "a > 1, \"x,)\""@7`},
		"ratio( status >= 500 ) as errors":                    {`"errors" ratio "status >= 500"@8`},
		`ratio(a == " as b") as "two words"`:                  {`"two words" ratio "a == \" as b\""@7`},
		"é(":                                                  nil,
		`count(b == "é"), count(c)`:                           {`"count(b == \"é\")" count "b == \"é\""@7`, `"count(c)" count "c"@24`},
		"sum(f), avg(f), min(f),max(f)":                       {`"sum(f)" sum "f" false`, `"avg(f)" avg "f" false`, `"min(f)" min "f" false`, `"max(f)" max "f" false`},
		"stddev(f), distinct(f), first(f), last(f)":           {`"stddev(f)" stddev "f" false`, `"distinct(f)" distinct "f" false`, `"first(f)" first "f" false`, `"last(f)" last "f" false`},
		"p50(http-status), p99.9( a.b )":                      {`"p50(http-status)" quantile "http-status" false 50/100`, `"p99.9( a.b )" quantile "a.b" false 999/1000`},
		"quantile(0.25, f), p0(f), p100(f)":                   {`"quantile(0.25, f)" quantile "f" false 25/100`, `"p0(f)" quantile "f" false 0/100`, `"p100(f)" quantile "f" false 100/100`},
		"quantile(1,f) as m, quantile(.5,f)":                  {`"m" quantile "f" false 1/1`, `"quantile(.5,f)" quantile "f" false 5/10`},
		`min(field("a, (b"))`:                                 {`"min(field(\"a, (b\"))" min "a, (b" false`},
		`min(attribute("a, (b"))`:                             {`"min(attribute(\"a, (b\"))" min "attribute.a, (b" false`},
		`min(field('it"s'))`:                                  {`"min(field('it\"s'))" min "it\"s" false`},
		`max(level), max(message.level), max(field("level"))`: {`"max(level)" max "level" true`, `"max(message.level)" max "message.level" false`, `"max(field(\"level\"))" max "level" false`},
		"count as a, count as b":                              {`"a" count`, `"b" count`},
	} {
		functions, err := ParseCompute([]string{list})
		var got []string
		for _, f := range functions {
			got = append(got, describe(f))
		}
		if (err != nil) != (want == nil) || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s:\n got %v, %v\nwant %v", list, got, err, want)
		}
	}
	two, err := ParseCompute([]string{"count, rate", "share"})
	if err != nil || len(two) != 3 {
		t.Error(two, err)
	}
}

func TestComputeErrors(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"":              "invalid --compute: empty item (at character 1)",
		"count,":        "invalid --compute: empty item (at character 7)",
		"count,,rate":   "invalid --compute: empty item (at character 7)",
		"cuont":         `invalid --compute: unknown function "cuont" (at character 1); hint: did you mean count?`,
		"count, sun(f)": `invalid --compute: unknown function "sun" (at character 8); hint: did you mean sum?`,
		"dcount(f)":     `invalid --compute: unknown function "dcount" (at character 1); hint: write distinct`,
		"countif(f)":    `invalid --compute: unknown function "countif" (at character 1); hint: write count(EXPR)`,
		"n=sum(f)": `invalid --compute: unknown function "n=sum" (at character 1); hint: write the name behind the function: ` +
			`count(status >= 500) as errors`,
		"mean(f)":                   `invalid --compute: unknown function "mean" (at character 1); hint: write avg`,
		"count, median(f)":          `invalid --compute: unknown function "median" (at character 8); hint: write p50`,
		"distnct(f)":                `invalid --compute: unknown function "distnct" (at character 1); hint: did you mean distinct?`,
		"xyzzy(f)":                  `invalid --compute: unknown function "xyzzy" (at character 1); hint: known: count, ratio, rate, share, sum, avg, min, max, stddev, geomean, p50, p90, p95, p99, quantile, distinct, first, last`,
		"count, count":              `invalid --compute: "count" occurs twice (at character 8)`,
		"count as a, rate as a":     `invalid --compute: "a" occurs twice (at character 13)`,
		"sum":                       "invalid --compute: sum requires a field: sum(FIELD) (at character 4)",
		"p99":                       "invalid --compute: p99 requires a field: p99(FIELD) (at character 4)",
		"sum()":                     "invalid --compute: missing field name (at character 5)",
		"sum(a b)":                  `invalid --compute: a b: a name cannot contain " " (at character 6); hint: write field("a b")`,
		"sum(f":                     "invalid --compute: ( is not closed (at character 4)",
		"sum f)":                    "invalid --compute: ) was not opened (at character 6)",
		"sum(f]":                    "invalid --compute: ] was not opened (at character 6)",
		"sum(f)x":                   "invalid --compute: unexpected text after the closing bracket (at character 7)",
		"sum(\"f\")":                `invalid --compute: "f": a name cannot contain "\"" (at character 5); hint: write field("\"f\"")`,
		"sum(\"f)":                  "invalid --compute: quote \" is not closed (at character 5)",
		"sum(a,b)":                  `invalid --compute: a,b: a name cannot contain "," (at character 6); hint: write field("a,b")`,
		"sum(feld(\"f\"))":          `invalid --compute: feld("f"): a name cannot contain "(" (at character 9); hint: write field("feld(\"f\")")`,
		"sum(field(f))":             `invalid --compute: field(f): want a name in quotes (at character 11)`,
		"count()":                   "invalid --compute: count requires a condition: count(EXPR) (at character 6)",
		"ratio":                     "invalid --compute: ratio requires a condition: ratio(EXPR) (at character 6)",
		"rate(f)":                   "invalid --compute: rate has no argument (at character 5)",
		"p101(f)":                   "invalid --compute: p101 is not a percentile from p0 to p100 (at character 1)",
		"p999(f)":                   "invalid --compute: p999 is not a percentile from p0 to p100 (at character 1)",
		"p9..9(f)":                  "invalid --compute: p9..9 is not a percentile from p0 to p100 (at character 1)",
		"quantile(2, f)":            `invalid --compute: "2" is not a number from 0 to 1 with at most 9 decimal places (at character 10)`,
		"quantile(0.1234567891, f)": `invalid --compute: "0.1234567891" is not a number from 0 to 1 with at most 9 decimal places (at character 10)`,
		"quantile(f)":               "invalid --compute: quantile requires a number from 0 to 1 and a field: quantile(0.99, FIELD) (at character 9)",
		"quantile":                  "invalid --compute: quantile requires a number from 0 to 1 and a field: quantile(0.99, FIELD) (at character 9)",
		"count as":                  `invalid --compute: unknown function "count as" (at character 1); hint: did you mean count?`,
		"count as a b":              "invalid --compute: unexpected   in a name; put it in quotes (at character 11)",
		"count as \"\"":             "invalid --compute: missing name (at character 10)",
		"(f)":                       "invalid --compute: unexpected ( (at character 1)",
		"é, cuont":                  `invalid --compute: unknown function "é" (at character 1); hint: known: count, ratio, rate, share, sum, avg, min, max, stddev, geomean, p50, p90, p95, p99, quantile, distinct, first, last`,
		"max(é), cuont":             `invalid --compute: unknown function "cuont" (at character 9); hint: did you mean count?`,
	} {
		functions, err := ParseCompute([]string{list})
		if err == nil {
			t.Errorf("%s: %v", list, functions)
		} else if got := hint.Text(err); got != want {
			t.Errorf("%s:\n got %s\nwant %s", list, got, want)
		}
	}
}

func TestParseBy(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"route":                     `"route" {route false}`,
		"level, 5m":                 `"level" {level true}; "5m" step`,
		`field("5m"), minute`:       `"field(\"5m\")" {5m false}; "minute" step`,
		"bucket":                    `"bucket" {bucket false}`,
		`attribute("a b")`:          `"attribute(\"a b\")" {attribute.a b false}`,
		"bucket( took_ms )":         `"bucket( took_ms )" {took_ms false} bucket 0`,
		"bucket(f, 2.5)":            `"bucket(f, 2.5)" {f false} bucket 2.5`,
		"5x":                        `"5x" {5x false}`,
		"m":                         `"m" {m false}`,
		"message.service,message.x": `"message.service" {message.service false}; "message.x" {message.x false}`,
		// Errors.
		"a, a":                  "invalid --by: a is named twice (at character 4)",
		"5m, 1h":                `invalid --by: 5m and 1h: a query has one time step (at character 5); hint: for a field of the message with this name write field("1h")`,
		"0m":                    `invalid --by: 0m: a time step cannot be 0 (at character 1); hint: for a field of the message with this name write field("0m")`,
		"36h":                   `invalid --by: 36h: a time step of more than a day must be whole days (at character 1); hint: for a field of the message with this name write field("36h")`,
		"999999999999999w":      `invalid --by: 999999999999999w: a time step is at most 36500 days (at character 1); hint: for a field of the message with this name write field("999999999999999w")`,
		"99999999999999999999w": `invalid --by: 99999999999999999999w: a time step is at most 36500 days (at character 1); hint: for a field of the message with this name write field("99999999999999999999w")`,
		"bukcet(f)":             `invalid --by: unknown function "bukcet" (at character 1); hint: did you mean bucket?`,
		"bucket(f, 0)":          `invalid --by: "0" is not a width greater than 0 (at character 11)`,
		"bucket(f, x)":          `invalid --by: "x" is not a width greater than 0 (at character 11)`,
		"bucket(f, 1, 2)":       "invalid --by: bucket has at most two arguments: bucket(FIELD, WIDTH) (at character 14)",
		"bucket()":              "invalid --by: missing field name (at character 8)",
		"a b":                   `invalid --by: a b: a name cannot contain " " (at character 2); hint: write field("a b")`,
		"bucket(f), bucket(f)":  "invalid --by: bucket(f) is named twice (at character 12)",
		`a, field("a")`:         `invalid --by: a and field("a") are the same (at character 4)`,
		"bucket(5m)":            `invalid --by: 5m is a time step, not a field (at character 8); hint: for a field of the message with this name write field("5m")`,
		`"f"`:                   `invalid --by: "f": a name cannot contain "\"" (at character 1); hint: write field("\"f\"")`,
		"":                      "invalid --by: empty item (at character 1)",
	} {
		keys, err := ParseBy([]string{list})
		var parts []string
		for _, k := range keys {
			text := fmt.Sprintf("%q", k.Header)
			if !k.Step.IsZero() {
				text += " step"
			} else {
				text += fmt.Sprintf(" {%s %v}", cmp.Or(string(k.Field.Fixed), k.Field.Field), k.Field.Fixed != "")
			}
			if k.Bucket {
				text += " bucket " + string(k.Width.Append(nil))
			}
			parts = append(parts, text)
		}
		got := strings.Join(parts, "; ")
		if err != nil {
			got = hint.Text(err)
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", list, got, want)
		}
	}
}

func TestParseSort(t *testing.T) {
	t.Parallel()
	keys, err := ParseBy([]string{"route, asc, 5m"})
	if err != nil {
		t.Fatal(err)
	}
	functions, err := ParseCompute([]string{`p99(took_ms), ratio(a == "x y") as errors, count`})
	if err != nil {
		t.Fatal(err)
	}
	for list, want := range map[string]string{
		"count":                       "[{-1 2 true}]",
		"count asc":                   "[{-1 2 false}]",
		"p99( took_ms )  DESC, route": "[{-1 0 true} {0 -1 false}]",
		"errors, 5m desc":             "[{-1 1 true} {2 -1 true}]",
		`ratio(a=="x y")`:             "[{-1 1 true}]",
		"asc":                         "[{1 -1 false}]",
		"asc desc":                    "[{1 -1 true}]",
		`ratio(a=="xy")`:              `invalid --sort: unknown item "ratio(a==\"xy\")" (at character 1); hint: known: p99(took_ms), errors, count, route, asc, 5m`,
		"p99(took_m)":                 `invalid --sort: unknown item "p99(took_m)" (at character 1); hint: did you mean p99(took_ms)?`,
		"route, cont desc":            `invalid --sort: unknown item "cont" (at character 8); hint: did you mean count?`,
		"count, count asc":            `invalid --sort: "count asc" occurs twice (at character 8)`,
		"":                            "invalid --sort: empty item (at character 1)",
	} {
		orders, err := ParseSort([]string{list}, keys, functions)
		got := fmt.Sprint(orders)
		if err != nil {
			got = hint.Text(err)
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", list, got, want)
		}
	}
}

func TestSpecErrors(t *testing.T) {
	t.Parallel()
	by, _ := ParseBy([]string{"count, 5m"})
	compute, _ := ParseCompute([]string{"count"})
	many := make([]Key, 33)
	for i := range many {
		many[i] = Key{Header: fmt.Sprint(i), Field: field.Name{Field: fmt.Sprint(i)}}
	}
	for want, s := range map[string]Spec{
		`"count" occurs in --by and in --compute`:                                 {By: by, Compute: compute, Pivot: -1},
		"invalid --pivot: not one of the keys of --by other than the time step":   {By: by[1:], Pivot: 0},
		"invalid --pivot: not one of the keys of --by other than the time step ":  {By: by, Pivot: 2},
		"invalid --pivot: not one of the keys of --by other than the time step  ": {By: by, Pivot: -2},
		"invalid range or limit":                             {From: 2, To: 1, Pivot: -1},
		"invalid range or limit ":                            {Limit: -1, Pivot: -1},
		"invalid --by: more than 32 keys":                    {By: many, Pivot: -1},
		"invalid --sort: the key of --pivot is not a column": {By: many[:1], Pivot: 0, Sort: []Order{{Key: 0, Function: -1}}},
	} {
		if _, err := Compile(s); err == nil || err.Error() != strings.TrimRight(want, " ") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"count", "ratio(a == 'b') as c, p99.9(field(\"x y\"))", "quantile(0.5, f), bucket(f, 3), 5m", "sum(f) desc", "é(\"\\u00e9\""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		functions, err := ParseCompute([]string{text})
		for _, p := range functions {
			if err == nil && p.Expr != "" {
				if at := []rune(text); string(at[p.ExprAt-1:p.ExprAt-1+len([]rune(p.Expr))]) != string([]rune(p.Expr)) {
					t.Fatalf("%q is not at %d", p.Expr, p.ExprAt)
				}
			}
		}
		keys, byErr := ParseBy([]string{text})
		_, _ = ParseSort([]string{text}, keys, functions)
		if err == nil && byErr == nil {
			return
		}
		for _, err := range []error{err, byErr} {
			if err != nil && !strings.HasPrefix(err.Error(), "invalid --") {
				t.Fatal(err)
			}
		}
	})
}
