package field_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"logstow/field"
	"logstow/internal/hint"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
)

// denoted is what a name denotes, in words.
func denoted(n field.Name) string {
	switch {
	case n.Fixed != "":
		return "fixed " + string(n.Fixed)
	case !n.Step.IsZero():
		start := n.Step.Start(0, time.UTC)
		length := time.Duration(n.Step.End(start, time.UTC) - start)
		if day := 24 * time.Hour; length >= day {
			return fmt.Sprint("days ", int(length/day))
		}
		return fmt.Sprint("step ", length)
	}
	return "field " + n.Field
}

func TestParseName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"status": "field status", "http-status": "field http-status", "user.id": "field user.id", "é": "field é", "a=b": "field a=b",
		"time": "fixed time", "level": "fixed level", "service": "fixed service", "source": "fixed source", "instance": "fixed instance", "message": "fixed message",
		"message.time": "field message.time", "message.level": "field message.level", "message.message": "field message.message", "message.instance": "field message.instance",
		"message.status": "field message.status", "message.level.x": "field message.level.x", "message.": "field message.", "Level": "field Level",
		"minute": "step 1m0s", "hour": "step 1h0m0s", "day": "days 1", "5m": "step 5m0s", "250ms": "step 250ms", "1s": "step 1s", "12h": "step 12h0m0s", "24h": "days 1",
		"2d": "days 2", "1w": "days 7", "48h": "days 2", "36500d": "days 36500", "5214w": "days 36498", "05m": "step 5m0s",
		"5": "field 5", "m": "field m", "5M": "field 5M", "1.5h": "field 1.5h", "-5m": "field -5m", "5mm": "field 5mm", "5min": "field 5min", "٥m": "field ٥m", "5sm": "field 5sm",
		`field("level")`: "field level", `field('5m')`: "field 5m", `field("a,b")`: "field a,b", `field("say \"x\"")`: `field say "x"`, `field('it\'s')`: "field it's",
		`field("it's")`: "field it's", `field("message.level")`: "field message.level", `field("")`: "field ", `field("\u00e9\t")`: "field é\t", `field("\xff")`: "field \xff",
		"attribute.a.b": "field attribute.a.b", `attribute("a b")`: "field attribute.a b", `attribute('level')`: "field attribute.level", "attribute": "field attribute",
		"field": "field field", "fields": "field fields",
	} {
		if n, err := field.ParseName(text); err != nil || denoted(n) != want || n.Text != text {
			t.Errorf("%s: %q of %q, %v, want %q", text, denoted(n), n.Text, err, want)
		}
	}
	for text, want := range map[string]string{
		"":               "a name is empty",
		"a b":            `a b: a name cannot contain " " (at character 2); write field("a b")`,
		"é,x":            `é,x: a name cannot contain "," (at character 2); write field("é,x")`,
		"a[0]":           `a[0]: a name cannot contain "[" (at character 2); write field("a[0]")`,
		`"a"`:            `"a": a name cannot contain "\"" (at character 1); write field("\"a\"")`,
		"len(x)":         `len(x): a name cannot contain "(" (at character 4); write field("len(x)")`,
		"field(":         "field(: want a name in quotes (at character 7)",
		"field(x)":       "field(x): want a name in quotes (at character 7)",
		"attribute(x)":   "attribute(x): want a name in quotes (at character 11)",
		`attribute("a`:   `attribute("a: the quote is not closed (at character 13)`,
		`field("éa`:      `field("éa: the quote is not closed (at character 10)`,
		`field("a\")`:    `field("a\"): the quote is not closed (at character 12)`,
		`field("a"`:      `field("a": want ) at the end (at character 10)`,
		`field("a") `:    `field("a") : want ) at the end (at character 10)`,
		`field("a").b`:   `field("a").b: want ) at the end (at character 10)`,
		`field("é\q")`:   `field("é\q"): unknown escape (at character 9)`,
		`field("\'")`:    `field("\'"): unknown escape (at character 8)`,
		"0m":             `0m: a time step cannot be 0; for a field of the message with this name write field("0m")`,
		"36501d":         `36501d: a time step is at most 36500 days; for a field of the message with this name write field("36501d")`,
		"5215w":          `5215w: a time step is at most 36500 days; for a field of the message with this name write field("5215w")`,
		"9999999999999h": `9999999999999h: a time step is at most 36500 days; for a field of the message with this name write field("9999999999999h")`,
		"36h":            `36h: a time step of more than a day must be whole days; for a field of the message with this name write field("36h")`,
	} {
		_, err := field.ParseName(text)
		if err == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		if got := strings.Join(append([]string{err.Error()}, hint.All(err)...), "; "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestParseNames(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"time level message.level status": "",
		"5m level":                        "",
		"a b a":                           "a is named twice",
		"level level":                     "level is named twice",
		`a field("a")`:                    `a and field("a") are the same`,
		`attribute.a attribute("a")`:      `attribute.a and attribute("a") are the same`,
		`a attribute.a message.a`:         "",
		`message.level field("level")`:    `message.level and field("level") are the same`,
		"hour 60m":                        "hour and 60m are the same",
		"hour day":                        "hour and day: a query has one time step",
		"7d 1w":                           "7d and 1w: a query has one time step",
		"a b,c":                           `b,c: a name cannot contain "," (at character 2)`,
	} {
		names, err := field.ParseNames(strings.Fields(list))
		if got := fmt.Sprint(err); got != want && (want != "" || err != nil || len(names) != len(strings.Fields(list))) {
			t.Errorf("%s: %s, want %q", list, got, want)
		}
	}
}

func TestParseRecordNames(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		`time field("5m") message.level a`: "",
		"a 5m":                             "5m is a time step, not a field of a record; for a field of the message with this name write field(\"5m\")",
		"day":                              "day is a time step, not a field of a record; for a field of the message with this name write field(\"day\")",
		"a a":                              "a is named twice; ",
	} {
		names, err := field.ParseRecordNames(strings.Fields(list))
		if want == "" {
			if err != nil || len(names) != len(strings.Fields(list)) {
				t.Errorf("%s: %v, %v", list, names, err)
			}
		} else if got := fmt.Sprintf("%v; %s", err, hint.Of(err)); got != want {
			t.Errorf("%s: %s, want %s", list, got, want)
		}
	}
}

// wantName is what a text denotes, by expressions; "" if it is invalid.
func wantName(text string) string {
	fixed := "(time|level|service|source|instance|message)"
	if regexp.MustCompile("^" + fixed + "$").MatchString(text) {
		return "fixed " + text
	}
	if words := map[string]string{"minute": "1m", "hour": "1h", "day": "1d"}; words[text] != "" {
		text = words[text]
	}
	if m := regexp.MustCompile(`^([0-9]+)(ms|s|m|h|d|w)$`).FindStringSubmatch(text); m != nil {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return ""
		}
		ms := n * map[string]float64{"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}[m[2]]
		days := ms / 86_400_000
		switch {
		case ms == 0 || days > 36_500 || days > 1 && days != float64(int(days)):
			return ""
		case days >= 1:
			return fmt.Sprint("days ", int(days))
		}
		return fmt.Sprint("step ", time.Duration(ms)*time.Millisecond)
	}
	if m := regexp.MustCompile(`^field\("((?:[^"\\]|\\[nt"\\])*)"\)$`).FindStringSubmatch(text); m != nil {
		return "field " + strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\\`, `\`).Replace(m[1])
	}
	if m := regexp.MustCompile(`^field\('((?:[^'\\]|\\[nt'\\])*)'\)$`).FindStringSubmatch(text); m != nil {
		return "field " + strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\'`, `'`, `\\`, `\`).Replace(m[1])
	}
	if !regexp.MustCompile("^[^\\s,()\\[\\]{}\"'`]+$").MatchString(text) {
		return ""
	}
	return "field " + text
}

// Names equal an obvious reference on random texts.
func TestParseNameRandom(t *testing.T) {
	effort.Need(t, effort.Test, "many random names")
	t.Parallel()
	rnd := testrand.New(t)
	pieces := []string{
		"field(", `"`, "'", ")", "(", `\`, `\n`, `\"`, `\'`, "a", "é", ".", "message.", "message", "level", "time", "5", "0", "24", "m", "ms", "s", "h", "d", "w", "day", "hour",
		",", " ", "[", "]", "{", "}", "`", "-", "_", "=",
	}
	escape, supported := regexp.MustCompile(`\\.`), strings.NewReplacer(`\n`, "", `\t`, "", `\"`, "", `\'`, "", `\\`, "")
	valid, kinds := 0, map[string]bool{}
	cases := effort.Cases{Test: 15_000, Full: 60_000}.N()
	for range cases {
		var b strings.Builder
		quoted := rnd.IntN(3) == 0
		if quoted {
			b.WriteString(`field("`)
		}
		for range rnd.IntN(6) {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		if quoted {
			b.WriteString(`")`)
		}
		text := b.String()
		if escape.MatchString(supported.Replace(text)) {
			continue // the reference supports no other escapes
		}
		got := ""
		if n, err := field.ParseName(text); err == nil {
			got = denoted(n)
			valid++
			kinds[strings.Fields(got)[0]] = true
		}
		if want := wantName(text); got != want {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
	}
	if valid < cases/6 || len(kinds) != 4 {
		t.Errorf("%d valid names, of %v", valid, kinds)
	}
}

// Any name of a field can be written so that it is found again, also in a list.
func FuzzWriteName(f *testing.F) {
	for _, name := range []string{"status", "level", "message.level", "5m", "day", "a,b", `q"'\`, "", " ", "\xff", "field(x)", "\u2028", "é", "a\u00a0b", "\ufeff", "attribute.a b", "attribute.level"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		written := field.WriteName(name)
		n, err := field.ParseName(written)
		if field.IsFixed(name) {
			name = "message." + name
		}
		if err != nil || n.Field != name || n.Fixed != "" || !n.Step.IsZero() {
			t.Errorf("%q is written %s, which denotes %q, %v", name, written, denoted(n), err)
		}
		if again, err := field.ParseName(name); err == nil && again.Text != name {
			t.Errorf("%q: its text is %q", name, again.Text)
		}
	})
}
