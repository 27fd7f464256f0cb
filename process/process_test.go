package process_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/input"
	"logstow/process"
	"logstow/record"
)

func newProcessor(t testing.TB, opts process.Options) input.Processor {
	t.Helper()
	p, err := process.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// redact is what one message becomes.
func redact(t testing.TB, p input.Processor, message string) string {
	t.Helper()
	r := record.Record{Message: []byte(message)}
	if !p.Process("web", &r) {
		t.Errorf("%q is dropped", message)
	}
	return string(r.Message)
}

func TestNothing(t *testing.T) {
	t.Parallel()
	if p, err := process.New(process.Options{Stats: new(process.Stats)}); p != nil || err != nil {
		t.Errorf("%v, %v", p, err)
	}
}

func TestOwnExpressions(t *testing.T) {
	t.Parallel()
	var stats process.Stats
	p := newProcessor(t, process.Options{Stats: &stats, Replace: []process.Replacement{
		{Regexp: regexp.MustCompile(`user=(\w)\w*`), With: "user=$1***"}, {Regexp: regexp.MustCompile(`\d{3}-\d{2}`)},
	}})
	if got := redact(t, p, "user=alice id 123-45 user=bob"); got != "user=a*** id [redacted] user=b***" {
		t.Errorf("%s", got)
	}
	redact(t, p, "nothing here")
	if diff := cmp.Diff(map[string]int64{"redact:regexp": 2, "drop": 0, "keep": 0}, stats.Counts()); diff != "" {
		t.Error(diff)
	}
}

// What is put in may be longer than what it replaces, but a record stays one.
func TestGrowth(t *testing.T) {
	t.Parallel()
	p := newProcessor(t, process.Options{Redact: []string{"url-password"}})
	r := record.Record{Message: bytes.Repeat([]byte("a://b:c@ "), 1<<20)}
	if !p.Process("x", &r) || len(r.Message) > record.MaxSize || bytes.Contains(r.Message, []byte("b:c@")) {
		t.Errorf("%d bytes", len(r.Message))
	}
}

func levels(t *testing.T, text string) record.LevelSet {
	t.Helper()
	set, err := record.ParseLevels(text)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestRules(t *testing.T) {
	t.Parallel()
	var stats process.Stats
	p := newProcessor(t, process.Options{
		Stats: &stats,
		Drop: []process.Rule{
			{Levels: levels(t, "trace,debug")},
			{Contains: []string{"healthz", "readyz"}, Regexp: regexp.MustCompile(` 2\d\d$`)},
		},
		Keep:   []process.Rule{{Levels: levels(t, "warn+")}, {Regexp: regexp.MustCompile("^(GET|order)")}},
		Sample: []process.Sample{{Rule: process.Rule{Contains: []string{"order"}}, OneIn: 3}, {OneIn: 1}},
	})
	var kept []string
	for _, r := range []struct {
		level   record.Level
		message string
	}{
		{record.Debug, "order debug"},
		{record.Info, "GET /healthz 200"},
		{record.Info, "GET /healthz 500"},
		{record.Info, "POST /x 200"},
		{record.Error, "anything"},
		{record.None, "order 1"},
		{record.None, "order 2"},
		{record.None, "order 3"},
		{record.None, "order 4"},
	} {
		if p.Process("x", &record.Record{Level: r.level, Message: []byte(r.message)}) {
			kept = append(kept, r.message)
		}
	}
	if diff := cmp.Diff([]string{"GET /healthz 500", "anything", "order 1", "order 4"}, kept); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int64{"drop": 2, "keep": 1, "sample": 2}, stats.Counts()); diff != "" {
		t.Error(diff)
	}
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	var stats process.Stats
	var log bytes.Buffer
	p := newProcessor(t, process.Options{
		RateLimit: 10, Burst: 20, Stats: &stats, Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	count := func(service string, n int) (kept int) {
		for range n {
			if p.Process(service, &record.Record{}) {
				kept++
			}
		}
		return kept
	}
	if got := count("a", 100); got != 20 {
		t.Errorf("%d kept of a burst", got)
	}
	if got := count("b", 5); got != 5 {
		t.Errorf("%d kept of another service", got)
	}
	now = now.Add(time.Second)
	if got := count("a", 100); got != 10 {
		t.Errorf("%d kept after a second", got)
	}
	if n := strings.Count(log.String(), "rate limit"); n != 1 {
		t.Errorf("said %d times", n)
	}
	now = now.Add(time.Minute)
	if got := count("a", 100); got != 20 {
		t.Errorf("%d kept after a minute", got)
	}
	if got := stats.Counts()["rate-limit"]; got != 80+90+80 {
		t.Errorf("%d counted", got)
	}
	if n := strings.Count(log.String(), "rate limit"); n != 2 {
		t.Errorf("said %d times", n)
	}
}

func TestByteLimit(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	p := newProcessor(t, process.Options{RateLimit: 3, ByteLimit: 100, ByteBurst: 250, Now: func() time.Time { return now }})
	for i, c := range []struct {
		wait time.Duration
		size int
		want bool
	}{
		{0, 200, true},
		{0, 60, false},
		{0, 50, true},             // what was dropped took nothing
		{0, 0, true},              // the third record of this second
		{time.Second, 101, false}, // 100 are there
		{time.Second, 200, true},
		{time.Hour, 1000, true}, // all of the burst
		{0, 1, false},
	} {
		now = now.Add(c.wait)
		if got := p.Process("a", &record.Record{Message: make([]byte, c.size)}); got != c.want {
			t.Errorf("%d: %v", i, got)
		}
	}
}

// What is done is said at first, and then at most once a minute.
func TestLogged(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	var log bytes.Buffer
	p := newProcessor(t, process.Options{
		Redact: []string{"card"}, Drop: []process.Rule{{Contains: []string{"no"}}}, Keep: []process.Rule{{Contains: []string{"41", "yes"}}},
		Sample: []process.Sample{{Rule: process.Rule{Contains: []string{"yes"}}, OneIn: 2}},
		Now:    func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	round := func() {
		for _, message := range []string{"4111111111111111 41", "no", "neither", "yes", "yes"} {
			p.Process("a", &record.Record{Message: []byte(message)})
		}
	}
	said := func(records int) {
		t.Helper()
		for _, what := range []string{"kind=card", "reason=drop", "reason=keep", "reason=sample"} {
			if want := fmt.Sprintf("%s records=%d\n", what, records); strings.Count(log.String(), want) != 1 {
				t.Errorf("want once %sgot:\n%s", want, log.String())
			}
		}
		if n := strings.Count(log.String(), "\n"); n != 4 {
			t.Errorf("%d lines:\n%s", n, log.String())
		}
		log.Reset()
	}
	round()
	said(1)
	round()
	now = now.Add(time.Minute - 1)
	round()
	if log.Len() > 0 {
		t.Errorf("said within a minute:\n%s", log.String())
	}
	now = now.Add(1)
	round()
	said(3)
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]process.Options{
		`redact "tokens": want bearer, jwt`: {Redact: []string{"tokens"}},
		"sample one in 0":                   {Sample: []process.Sample{{}}},
		"rate limit of -1":                  {RateLimit: -1},
		"burst 5":                           {Burst: 5},
		"want more than 0":                  {ByteLimit: -1},
		"burst 9: want":                     {ByteBurst: 9},
		"must be one line":                  {Replace: []process.Replacement{{Regexp: regexp.MustCompile("x"), With: "a\nb"}}},
		"an expression is missing":          {Replace: []process.Replacement{{}}},
	} {
		if p, err := process.New(opts); err == nil || p != nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
