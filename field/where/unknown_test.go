package where_test

import (
	"slices"
	"strings"
	"testing"

	"logstow/field/where"
)

// A condition on a missing field, or of one of another type, is neither true nor false.
func TestUnknown(t *testing.T) {
	t.Parallel()
	operations := []string{
		`X == 1`, `X != 1`, `X < 1`, `X <= 1`, `X > 1`, `X >= 1`, `1 == X`, `1 < X`, `X == "x"`, `"x" != X`, `X == true`, `X != false`,
		`X == y`, `y != X`, `X in [1, 2]`, `X in ["x"]`, `X not in [1, 2]`, `X in []`, `X in tags`, `1 in X`, `X in 1..2`, `X not in 1..2`,
		`X contains "x"`, `X not contains "x"`, `X startsWith "x"`, `X endsWith "x"`, `X matches "x"`, `"x" contains X`, `X`, `-X == 1`,
		`X + 1 == 2`, `1 - X != 2`, `X * 2 > 1`, `X / 2 > 1`, `X % 2 == 1`, `X ** 2 == 1`, `X + "x" == "xx"`, `X ? true : false`,
		`len(X) == 1`, `lower(X) == "x"`, `upper(X) != "Y"`, `trim(X) == ""`, `hasPrefix(X, "x")`, `indexOf(X, "x") == 1`, `replace(X, "a", "b") == "b"`,
		`split(X, ",")[0] == "x"`, `join(X) == "x"`, `string(X) == "x"`, `fromJSON(X) == 1`, `type(X) == "string"`, `int(X) == 1`, `float(X) == 1`, `abs(X) == 1`,
		`floor(X) == 1`, `round(X) == 1`, `min(X, 1) == 1`, `max(1, X) == 1`, `first(X) == 1`, `last(X) == 1`, `X[0] == 1`, `X["a"] == 1`, `X[1:] == "x"`,
		`any(X, # == 1)`, `all(X, # == 1)`, `none(X, # == 1)`, `one(X, # == 1)`, `count(X, # == 1) == 0`, `sum(X) == 0`, `find(X, true) == 1`,
		`len(filter(X, true)) == 0`, `len(map(X, 1)) == 0`, `(let v = X; v == 1)`, `X == nil`, `X != nil`, `X and true`, `X or false`,
	}
	record := where.Record{Message: []byte(`{"y":1,"tags":[1,"x"],"none":null,"object":{"a":{}}}`)}
	fits := map[string][]string{ // operations that are known for these
		"none":   {`X in []`, `X == nil`, `X != nil`, `type(X) == "string"`},
		"object": {`X in []`, `X == nil`, `X != nil`, `type(X) == "string"`, `len(X) == 1`, `1 in X`, `string(X) == "x"`},
	}
	for _, name := range []string{"gone", "gone.deep", "y.deep", "none", "object", `field("go-ne")`} {
		for _, operation := range operations {
			expr := strings.ReplaceAll(operation, "X", name)
			for _, source := range []string{
				expr, "not (" + expr + ")", "not not (" + expr + ")", "(" + expr + ") == true", "(" + expr + ") != true",
				"(" + expr + ") and true", "(" + expr + ") or false", "not ((" + expr + ") or false)", "any([1], " + expr + ")", "(" + expr + ") ? true : true",
			} {
				p, err := where.Compile(source, now)
				if err != nil {
					t.Errorf("%s: %v", source, err)
					continue
				}
				if p.Evaluator().Holds(&record) && !slices.Contains(fits[name], operation) {
					t.Errorf("%s matches", source)
				}
			}
		}
	}
	// What is certain all the same is known.
	for expr, want := range map[string]bool{
		`gone == 1 or y == 1`: true, `y == 1 or gone == 1`: true, `not (gone == 1 and y == 2)`: true, `gone == 1 and y == 1`: false,
		`has(gone)`: false, `not has(gone)`: true, `has(none)`: true, `has(object.a)`: true, `has(y) and not has(y.deep)`: true,
		`none == nil`: true, `not (none != nil)`: true, `not (y == nil)`: true, `y != nil`: true, `(gone ?? 5) == 5`: true, `(none ?? 5) == 5`: true,
		`1 in tags`: true, `"x" in tags`: true, `any(tags, # == 1)`: true, `all(tags, # == 1)`: false, `not all(tags, # == 2)`: true, `"a" in object`: true,
		`y in [1, "x", gone]`: true, `y in [2, gone]`: false, `y not in [2, gone]`: false, `y not in [2, 3]`: true, `y not in [2, "x"]`: false,
	} {
		p, err := where.Compile(expr, now)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		if got := p.Evaluator().Holds(&record); got != want {
			t.Errorf("%s: %v", expr, got)
		}
	}
}

// Numbers are neither rounded in a record nor in an expression.
func TestNumbersAreExact(t *testing.T) {
	t.Parallel()
	numbers := []string{ // in ascending order
		"-1e400", "-18446744073709551616", "-9223372036854775809", "-9223372036854775808", "-9223372036854775807", "-1234567890123456789", "-1234567890123456788",
		"-1e-400", "0", "1e-400", "0.1", "0.10000000000000001", "9007199254740991", "9007199254740992", "9007199254740992.5", "9007199254740993", "1234567890123456788", "1234567890123456788.9",
		"1234567890123456789", "9223372036854775806", "9223372036854775807", "9223372036854775808", "18446744073709551614", "18446744073709551615",
		"18446744073709551616", "123456789012345678901234567890", "123456789012345678901234567891", "1e400", "1.0000000000000000001e400",
	}
	for i, constant := range numbers {
		for j, n := range numbers {
			for expr, want := range map[string]bool{
				"n == " + constant: i == j, "n != " + constant: i != j, "n < " + constant: j < i, "n >= " + constant: j >= i, constant + " <= n": i <= j,
				"n in [" + constant + "]": i == j, "n == m": i == j, "n > m": j > i,
			} {
				p, err := where.Compile(expr, now)
				if err != nil {
					t.Fatalf("%s: %v", expr, err)
				}
				for _, message := range []string{`{"n":` + n + `,"m":` + constant + `}`, `n=` + n + ` m=` + constant} {
					if got := p.Evaluator().Holds(&where.Record{Message: []byte(message)}); got != want {
						t.Errorf("%s of %s: %v", expr, message, got)
					}
				}
			}
		}
	}
	for _, expr := range []string{
		`a == 0xffffffffffffffff`, `a == 18_446_744_073_709_551_615`, `a == 18446744073709551615.`, `a - 1 == 18446744073709551614`, `-a + a == 0`,
		`a == 0b1111111111111111111111111111111111111111111111111111111111111111`, `b == .5`, `b * 2 == 1`, `a % 10 == 5`, `a / 5 == 3689348814741910323`,
	} {
		p, err := where.Compile(expr, now)
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		if !p.Evaluator().Holds(&where.Record{Message: []byte(`{"a":18446744073709551615,"b":0.50}`)}) {
			t.Error(expr)
		}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	p, err := where.Compile(`status >= 500 and (let s = user.name; s == "x" or level == "error" or len(status) > 1 or field("k-1") contains "y")`, now)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.Fields(), " "); got != "status user.name k-1" {
		t.Errorf("%s", got)
	}
}
