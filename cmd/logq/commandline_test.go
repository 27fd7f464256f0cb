package main

import (
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/query"
	"logstow/query/explain"
	"logstow/record"
)

// typed writes flags in all their spellings, with arguments between them.
type typed struct {
	rnd   *rand.Rand
	words [][]string
}

// text is a value as people and programs type it.
func (c *typed) text() string {
	const letters = "ab ,\t\"'=-[](){}\\é\xff\n*."
	n := 1 + c.rnd.IntN(6)
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[c.rnd.IntN(len(letters))]
	}
	return string(b)
}

// flag writes a flag with a value; long and short are its names, short may be "".
func (c *typed) flag(long, short, value string) {
	spellings := [][]string{{"--" + long, value}, {"--" + long + "=" + value}}
	if short != "" {
		spellings = append(spellings, []string{"-" + short, value}, []string{"-i" + short, value}, []string{"-" + short + "=" + value})
		if !strings.HasPrefix(value, "=") {
			spellings = append(spellings, []string{"-" + short + value})
		}
	}
	c.words = append(c.words, spellings[c.rnd.IntN(len(spellings))])
}

// line is the whole: arguments that look like flags come behind "--".
func (c *typed) line(patterns []string) []string {
	words := slices.Insert(c.words, c.rnd.IntN(len(c.words)+1), []string{"-i"})
	var behind []string
	at := 0
	for _, p := range patterns { // their order counts
		if len(behind) == 0 && !strings.HasPrefix(p, "-") && c.rnd.IntN(2) == 0 {
			at += c.rnd.IntN(len(words) - at + 1)
			words = slices.Insert(words, at, []string{p})
			at++
			continue
		}
		behind = append(behind, p)
	}
	line := slices.Concat(words...)
	if len(behind) > 0 {
		line = append(append(line, "--"), behind...)
	}
	return line
}

// What a query selects is what was typed, in whatever spelling; and a mistake in it is a
// usage error. make long tries more.
func TestLongCommandLines(t *testing.T) {
	t.Parallel()
	n := effort.Cases{Short: 30, Test: 60, Full: 500, Long: 100_000}.N()
	rnd := testrand.New(t)
	now := time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC)
	for range n {
		c := &typed{rnd: rnd}
		want := query.Selection{Now: now, IgnoreCase: true, From: now.Add(-time.Hour), To: now.Add(time.Hour)}
		list := func(long, short string, to *[]string) {
			for range rnd.IntN(3) {
				value := c.text()
				*to = append(*to, value)
				c.flag(long, short, value)
			}
		}
		list("service", "s", &want.Services)
		list("source", "", &want.Sources)
		list("regexp", "e", &want.Regexps)
		list("exclude", "x", &want.Excludes)
		list("pattern", "", &want.Templates)
		list("where", "", &want.Where)
		for range rnd.IntN(3) {
			names := explain.LevelNames()[rnd.IntN(3):]
			names = names[:1+rnd.IntN(3)]
			levels, err := record.ParseLevels(strings.Join(names, ","))
			if err != nil {
				t.Fatal(err)
			}
			want.Levels |= levels
			c.flag("level", "l", strings.Join(names, []string{",", " , ", ", "}[rnd.IntN(3)]))
		}
		if rnd.IntN(2) == 0 {
			want.Limit = 1 + rnd.IntN(100)
			c.flag("limit", "n", strconv.Itoa(want.Limit))
		}
		if rnd.IntN(2) == 0 {
			minutes := 1 + rnd.IntN(100)
			want.From = now.Add(-time.Duration(minutes) * time.Minute)
			c.flag("since", "", []string{strconv.Itoa(minutes) + "m", strconv.Itoa(minutes) + " minutes ago", "-" + strconv.Itoa(minutes) + "m"}[rnd.IntN(3)])
		}
		for range rnd.IntN(3) {
			want.Patterns = append(want.Patterns, c.text())
		}
		mistake := rnd.IntN(8) == 0
		if mistake {
			mistakes := [][]string{
				{"--since", "1h", "--since", "1h"},
				{"-n", "1", "--limit=1"},
				{"-x", ""},
				{"--where="},
				{"--fields", "a,,b"},
				{"--level", "loud"},
				{"-n", "five"},
				{"--nope"},
				{"--utc", "--utc=false"},
				{"-o", "raw", "-o", "raw"},
				{"--color", ""},
			}
			c.words = append(c.words, mistakes[rnd.IntN(len(mistakes))])
		}
		line := c.line(want.Patterns)
		var got *request
		p := program(environment{stdout: io.Discard, stderr: io.Discard, getenv: func(string) string { return "" }, now: func() time.Time { return now }})
		p.Command("query").Action = func(ctx *ucli.Context) (err error) {
			got, err = readRequest(ctx, environment{getenv: func(string) string { return "" }, now: func() time.Time { return now }})
			return err
		}
		status := cli.Run(t.Context(), *p, append([]string{"logq", "query"}, line...))
		if mistake {
			if status != cli.Usage {
				t.Fatalf("%q: status %d, want a usage error", line, status)
			}
			continue
		}
		if status != cli.OK {
			t.Fatalf("%q: status %d", line, status)
		}
		if diff := cmp.Diff(want, got.sel, cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(0)); diff != "" {
			t.Fatalf("%q: %s", line, diff)
		}
	}
}
