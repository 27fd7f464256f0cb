package where_test

import (
	"strings"
	"testing"

	"logstow/field/where"
)

// A constant with a unit compares with values that have one of the same dimension, in any spelling; anything
// else is unknown.
func TestUnits(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{ // the values for which it is true, then those for which it is false
		`v > 100ms`:                 `"150ms" "0.2s" "1m" "100.000001ms" "1w" "200 ms" / "100ms" "0.1s" "100000us" "100000µs" "-1h" "99ms" "0s"`,
		`v == 100ms`:                `"100ms" "0.1s" "100000us" "100000000ns" "0.10 s" / "101ms" "-100ms"`,
		`v != 1.5s`:                 `"1s" "1500s" / "1500ms" "1.50s" "1s500ms"`,
		`90m <= v`:                  `"1h30m" "5400s" "90m" / "1h29m59.999999999s"`,
		`v < -5s`:                   `"-6s" "-1m" / "-5s" "5s" "-5000ms"`,
		`v >= 1MiB`:                 `"1MiB" "1048576B" "1024KiB" "1.1MB" "1 GB" / "1MB" "1048575B" "0B"`,
		`v in [1s, 2s]`:             `"1s" "2000ms" / "3s"`,
		`v not in [1s, 2s]`:         `"3s" / "1s" "2000ms"`,
		`1s < v <= 2s`:              `"2s" "1001ms" / "1s" "2001ms"`,
		`(v ?? 1s) > 500ms`:         `"1s" / "499ms"`,
		`v > (true ? 1s : 2s)`:      `"1001ms" / "1s"`,
		`let least = 1s; v > least`: `"1001ms" / "1s"`,
		`not (v > 100ms)`:           `"100ms" / "101ms"`,
		`trim(v) > 1s`:              `" 2s" / "1s "`,
		"v > 1s // 5ms\n":           `"2s" / "1s"`,
		`v /* 'it''s 5ms */ > 1s`:   `"2s" / "1s"`,
		`v > 1s and "5ms" == '5ms' and "\"5ms" != '5ms'`: `"2s" / "1s"`,
		"v > 1s and `5ms` == \"5ms\"":                    `"2s" / "1s"`,
		`[1, 2][1] == 2 and v > 1s`:                      `"2s" / "1s"`,
	} {
		yes, no, _ := strings.Cut(want, " / ")
		for text, truth := range map[string]string{yes: "true", no: "false", `1 100 150.5 true null [] {} "" "1" "ann" "1S" "1e3ms" ".5s" "1s "`: "unknown"} {
			for _, v := range values(text) {
				if v == `"1s "` && strings.HasPrefix(expr, "trim") || truth == "unknown" && strings.HasPrefix(expr, "(v ??") && v == "null" {
					continue
				}
				for _, message := range []string{`{"v":` + v + `}`, "v=" + v, "v=" + strings.Trim(v, `"`)} {
					if strings.ContainsAny(message[2:], "{[ ") && message[0] == 'v' && !strings.Contains(message, `"`) {
						continue // logfmt without quotes
					}
					if got := truthFor(t, expr, message); got != truth {
						t.Errorf("%s of %s: %s, want %s", expr, message, got, truth)
					}
				}
			}
		}
	}
	for expr, want := range map[string]string{ // of a record without v
		`v > 100ms`: "unknown", `v in [1s]`: "unknown", `(v ?? 1s) > 500ms`: "true", `has(v)`: "false",
		`1s == 1000ms`: "true", `1s in [1000ms]`: "true", `1s > 1001ms`: "false", `100ms in d`: "true", `7ms in d`: "unknown", `any(d, # > 50ms)`: "true", `d[0] >= 0.1s`: "true",
		`a.s == 5 and a.5s == 5`: "mistake", `5s`: "mistake", `v5s == 3`: "unknown",
	} {
		if got := truthFor(t, expr, `{"d":["100ms",5],"a":{"s":5}}`); got != want {
			t.Errorf("%s: %s, want %s", expr, got, want)
		}
	}
}

// values are those of a text, which are separated by blanks outside of quotes.
func values(text string) (all []string) {
	for text != "" {
		end := strings.IndexByte(text, ' ')
		if text[0] == '"' {
			end = strings.IndexByte(text[1:], '"') + 2
		}
		if end < 0 || end >= len(text) {
			return append(all, text)
		}
		all, text = append(all, text[:end]), text[end+1:]
	}
	return all
}

// truthFor is what an expression is for a message.
func truthFor(t *testing.T, expr, message string) string {
	t.Helper()
	p, err := where.Compile(expr, now)
	if err != nil {
		return "mistake"
	}
	r := where.Record{Message: []byte(message)}
	switch {
	case p.Evaluator().Holds(&r):
		return "true"
	case compileNot(t, strings.TrimSuffix(expr, " // 5ms\n")).Holds(&r):
		return "false"
	}
	return "unknown"
}

// A constant with a unit where it has no meaning is a mistake, at its place as typed.
func TestUnitMistakes(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		`(a ?? 1KiB) == "a"`:   `cannot compare a size with "a" (at character 13)`,
		`"5KiB" > (a ?? 1s)`:   `cannot compare a duration with "5KiB" (at character 8)`,
		`5s == 1MiB`:           "cannot compare a duration with a size (at character 4)",
		`len(a) > 5s`:          "cannot compare a number with a duration (at character 8)",
		`5 > 5s`:               "cannot compare a number with a duration",
		`a in [5s, 1kB] or 5s`: "a duration is not true or false (at character 19)",
		`a + 5s > 1`:           "cannot apply + to a value and a duration",
		`-(a ?? 5s) > 1`:       "- requires numbers, not a duration",
		`a in 1s..5s`:          "a range requires numbers, not a duration",
		`a contains 5ms`:       "contains requires a string, not a duration",
		`string(5ms) == a`:     "a duration can only be compared (at character 8)",
		`any([5ms], # == a)`:   "a duration can only be compared (at character 6)",
		`map(a, 5MB)[0] == b`:  "a size can only be compared (at character 8)",
		`sum(a, 5MB) == b`:     "a size can only be compared",
		`min(a, 5MB) == b`:     "a size can only be compared",
		`(a ? 5s : 7) == b`:    "cannot choose between a duration and a number",
		`(a ? 5s : 7MB) == b`:  "cannot choose between",
		`(len(a) ?? 5s) == b`:  "cannot choose between a duration and a number",
		`a > 5mx`:              `bad number syntax: "5m"`,
		`a > 5s and b = 1`:     "(at character 14)",
		`名前 > 250µs and b = 1`: "(at character 18)",
		`a 250µs`:              `unexpected "250µs" (at character 3)`,
	} {
		_, err := where.Compile(expr, now)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", expr, err, want)
		}
	}
}
