package where_test

import (
	"testing"

	"logstow/field/where"
)

// Each function gives the value that docs/where.md documents, of fields and of constants.
func TestFunctions(t *testing.T) {
	t.Parallel()
	r := where.Record{Time: now.UnixNano(), Message: []byte(`{"csv":"a,b,,c","padded":" x ","dashed":"--x-","word":"Été-Été","part":"t","n":-2.5,"half":2.5,"i":-3,` +
		`"list":["b","a","c"],"nums":[3,-1,2.5],"object":{"k":1,"l":2},"text":"{\"k\":[1,2]}","number":" 12","decimal":"12.75","ok":true,"none":null}`)}
	for _, expr := range []string{
		`len(word) == 7 and len(list) == 3 and len(object) == 2 and len(csv) == 6`,
		`lower(word) == "été-été" and upper(word) == "ÉTÉ-ÉTÉ"`,
		`trim(padded) == "x" and trim(dashed, "-") == "x" and trim(dashed, "x") == "--x-"`,
		`trimPrefix(dashed, "-") == "-x-" and trimSuffix(dashed, "x-") == "--" and trimSuffix(dashed, "x") == "--x-"`,
		`hasPrefix(word, "Ét") and not hasPrefix("Ét", word) and hasSuffix(word, "té") and not hasSuffix("té", word)`,
		`indexOf(word, part) == 1 and lastIndexOf(word, part) == 5 and indexOf(part, word) == -1 and indexOf(word, "É") == 0`,
		`replace(csv, ",", ";") == "a;b;;c" and replace(csv, ",", "") == "abc" and replace(csv, "x", "y") == csv`,
		`len(split(csv, ",")) == 4 and split(csv, ",")[0] == "a" and split(csv, ",")[2] == "" and last(split(csv, ",")) == "c"`,
		`len(split(csv, "b")) == 2 and first(split(",", csv)) == ","`,
		`join(list) == "bac" and join(list, "-") == "b-a-c" and join(split(csv, ","), "+") == "a+b++c"`,
		`string(n) == "-2.5" and string(ok) == "true" and string(word) == word and string(object) == '{"k":1,"l":2}'`,
		`fromJSON(text).k[1] == 2 and fromJSON("17") == 17 and len(fromJSON(" [1, 2, 3] ")) == 3`,
		`type(n) == "number" and type(word) == "string" and type(ok) == "bool" and type(none) == "nil" and type(list) == "array" and type(object) == "object"`,
		`int(n) == -2 and int(half) == 2 and int(i) == -3 and int(decimal) == 12`,
		`float(decimal) == 12.75 and float(i) == -3 and float("1e3") == 1000`,
		`abs(n) == 2.5 and abs(i) == 3 and abs(half) == 2.5`,
		`floor(n) == -3 and floor(half) == 2 and floor(i) == -3`,
		`ceil(n) == -2 and ceil(half) == 3 and ceil(i) == -3`,
		`round(n) == -3 and round(half) == 3 and round(i) == -3 and round(2.4) == 2`,
		`min(nums) == -1 and max(nums) == 3 and min(n, half, i) == -3 and max(n, half, i) == 2.5 and min(half) == 2.5`,
		`first(list) == "b" and last(list) == "c"`,
	} {
		p, err := where.Compile(expr, now)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		if !p.Evaluator().Holds(&r) {
			t.Errorf("%s does not hold", expr)
		}
	}
}
