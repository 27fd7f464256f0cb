package where_test

import (
	"strings"
	"testing"

	"logstow/field/where"
	"logstow/internal/hint"
)

// A mistake is one line that names its place as typed.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		`status >=`:               "unexpected end (at character 9)",
		`status = 5`:              `unexpected "=" (at character 8)`,
		`level > "huge"`:          `"huge" is not a level (at character 9)`,
		`level > 3`:               "cannot compare a string with a number (at character 7)",
		`time > "sometime"`:       "sometime",
		`user matches "("`:        "missing closing ): `(` (at character 14)",
		`nosuch(status) == 1`:     "unknown function nosuch (at character 1)",
		`"text"`:                  "a string is not true or false (at character 1)",
		`1 + 2`:                   "a number is not true or false (at character 3)",
		`a == 1 and len(b)`:       "a number is not true or false (at character 12)",
		``:                        "(at character 1)",
		strings.Repeat("(", 5000): "(at character ",
		// What does not change the length of the expression does not change the place.
		`18446744073709551615 == a and b = 1`:  "(at character 33)",
		"a == 1 and\nb = 1":                    "(at character 14)",
		`a 18446744073709551615`:               `unexpected "18446744073709551615" (at character 3)`,
		`名前 == 1.5e400 and b = 1`:              "(at character 21)",
		`a == 0xfffffffffffffffffffff and b =`: "(at character 36)",
		`a == 1e1000000000`:                    "invalid float literal",
		`a == 0x`:                              "invalid hex literal",
		// Types that cannot match.
		`"a" == 1`:                "cannot compare a string with a number (at character 5)",
		`not status == 500`:       "cannot compare a boolean with a number (at character 12)",
		`a in [1, [2]]`:           "cannot compare a value with an array",
		`len(a) in ["x"]`:         "cannot compare a number with a string (at character 12)",
		`level in [3]`:            "cannot compare a string with a number (at character 11)",
		`a < true`:                "< requires numbers or strings (at character 3)",
		`a > nil`:                 "nil can only be compared with == and != (at character 3)",
		`a contains 5`:            "contains requires a string, not a number (at character 3)",
		`a in 5`:                  "in requires an array or an object, not a number",
		`a in "x".."y"`:           "a range requires numbers, not a string",
		`1..3 == a`:               `a range is allowed only after "in"`,
		`a + true > 1`:            "cannot apply + to a value and a boolean (at character 3)",
		`"a" - 1 == 1`:            "cannot apply - to a string and a number",
		`-"a" == 1`:               "- requires numbers, not a string (at character 1)",
		`lower(5) == "5"`:         "lower requires a string, not a number (at character 7)",
		`lower() == "5"`:          "lower requires 1 argument, not 0 (at character 1)",
		`trim(a, b, c) == "5"`:    "trim requires 1 argument or 2 arguments, not 3",
		`min() == 1`:              "min requires 1 argument or more, not 0",
		`any(5, # > 1)`:           "any requires an array, not a number",
		`any(a, #acc > 1)`:        "#acc is not available here",
		`a["x"][true] == 1`:       "a value cannot be indexed by a boolean",
		`(5)[0] == 1`:             "a number cannot be indexed by a number",
		`(5)[1:] == 1`:            "a number has no parts",
		`has()`:                   "has requires the name of one field",
		`has("a")`:                "has requires the name of one field",
		`has(1)`:                  "has requires the name of one field (at character 5)",
		`field(a) == 1`:           "field requires the name of one field in quotes",
		`attribute(a) == 1`:       "attribute requires the name of one field in quotes",
		`a.lower() == "x"`:        "methods are not supported",
		`$env == 1`:               `write $env["name"]`,
		`{"a": 1} == b`:           "unsupported syntax",
		`b"x" == a`:               "unsupported syntax",
		`a == 1; b == 2`:          "unsupported syntax",
		`groupBy(a, #) == b`:      "unknown function groupBy",
		`now() > time`:            "unknown function now",
		`reduce(a, #acc + #) > 1`: "unknown function reduce",
	} {
		if _, err := where.Compile(expr, now); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %q", expr[:min(40, len(expr))], err, want)
		}
	}
}

func TestMistakesHaveHints(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		`lem(a) > 1`:            "did you mean len?",
		`startswith(a, "x")`:    "",
		`hasprefix(a, "x")`:     "did you mean hasPrefix?",
		`Lower(a) == "x"`:       "did you mean lower?",
		`attributes("a") == 1`:  "did you mean attribute?",
		`hass(a)`:               "did you mean has?",
		`status = 200`:          "write == to compare: status == 200",
		`status >`:              "",
		`status >=`:             "",
		`status => 200`:         "write >= to compare: status >= 500",
		`status =< 200`:         "write <= to compare: status <= 200",
		`status <> 200`:         "write != to compare: status != 200",
		`path =~ "^/p"`:         `write matches to compare with a regular expression: path matches "^/p"`,
		`path ~ "^/p"`:          `write matches to compare with a regular expression: path matches "^/p"`,
		`path !~ "^/p"`:         `write matches to compare with a regular expression: path matches "^/p"`,
		`user:ann`:              "write == to compare: status == 200",
		`a == 1 AND b == 2`:     "write and, or, not in lower case",
		`a == "ü" OR b == 2`:    "write and, or, not in lower case",
		`NOT has(a)`:            "write and, or, not in lower case",
		`a == 1 & b == 2`:       "write and: status == 200 and has(user)",
		`a in (1, 2)`:           "write brackets: status in [200, 404]",
		`max(a, 2`:              "",
		`a == “x”`:              `write straight quotes: "`,
		`path LIKE "/p%"`:       `write contains, startsWith, endsWith or matches: path startsWith "/p"`,
		`path starts with "/p"`: `write contains, startsWith, endsWith or matches: path startsWith "/p"`,
		`path has "pay"`:        `write contains, startsWith, endsWith or matches: path startsWith "/p"`,
		`.status >= 500`:        `write names without a dot in front, other names with field: field("@status") == 200`,
		`a == 1 and @b == 2`:    `write names without a dot in front, other names with field: field("@status") == 200`,
		`user is null`:          "write user == nil for null, and not has(user) for a missing field",
		`a between 1 and 2`:     "write a range: status in 500..599",
		`not status == 500`:     "write parentheses: not (a == b)",
		`toUpperCase(a) == "X"`: "did you mean upper?",
	} {
		_, err := where.Compile(expr, now)
		if err == nil || hint.Of(err) != want {
			t.Errorf("%s: %v, hint %q, want %q", expr, err, hint.Of(err), want)
		}
	}
}
