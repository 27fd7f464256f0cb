package process_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
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

const (
	accountKey = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
	signature  = "c2lnbmF0dXJlLW9mLXNvbWUtbGVuZ3Ro%2Fabc%3D"
	webToken   = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, message, want string }{
		{"bearer", "Authorization: Bearer abc.DEF-123_~+/==", "Authorization: Bearer [redacted:bearer]"},
		{"bearer", `{"authorization":"bearer ` + webToken + `","n":1}`, `{"authorization":"bearer [redacted:bearer]","n":1}`},
		{"bearer", "the bearer of this", "the bearer of this"},
		{"bearer", "BEARER\tsecret-token", "BEARER\t[redacted:bearer]"},
		{"bearer", "forbearer abcdefgh", "forbearer abcdefgh"},
		{"jwt", "token=" + webToken + ";", "token=[redacted:jwt];"},
		{"jwt", "eyJ is short", "eyJ is short"},
		{"sas", "GET https://a.blob.core.windows.net/c/b?sv=2025&sig=" + signature + "&se=2026", "GET https://a.blob.core.windows.net/c/b?sv=2025&sig=[redacted:sas]&se=2026"},
		{"sas", `{"url":"https://a/b?sv=1\u0026sig=` + signature + `\u0026x=1"}`, `{"url":"https://a/b?sv=1\u0026sig=[redacted:sas]\u0026x=1"}`},
		{"sas", "design=somethinglongerthanthat config=somethinglongerthanthat", "design=somethinglongerthanthat config=somethinglongerthanthat"},
		{"azure-key", "key " + accountKey + " end", "key [redacted:azure-key] end"},
		{"connection-string", "AccountName=a;AccountKey=" + accountKey + ";EndpointSuffix=x", "AccountName=a;AccountKey=[redacted:connection-string];EndpointSuffix=x"},
		{"connection-string", `{"db":"Server=x;User=sa;Password=hunter22;Encrypt=true"}`, `{"db":"Server=x;User=sa;Password=[redacted:connection-string];Encrypt=true"}`},
		{"url-password", "postgres://bob:hunter2@db/x and https://a:b@c", "postgres://bob:[redacted:url-password]@db/x and https://a:[redacted:url-password]@c"},
		{"url-password", `"redis:\/\/:pass@host"`, `"redis:\/\/:[redacted:url-password]@host"`},
		{"url-password", "http://host:80/a@b mail bob@example.com https://bob@host", "http://host:80/a@b mail bob@example.com https://bob@host"},
		{"card", "card 4111111111111111 ok", "card [redacted:card] ok"},
		{"card", `{"pan":"4111 1111 1111 1111","amex":"3782-822463-10005"}`, `{"pan":"[redacted:card]","amex":"[redacted:card]"}`},
		{"card", "2026-11-20 4111111111111111", "2026-11-20 [redacted:card]"},
		{"card", "2026-11-20 4111 1111 1111 1111 2 3", "2026-11-20 [redacted:card] 2 3"},
		{"card", "4111111111111112 1795000100000000000 0.4111111111111111 x4111111111111111 4111111111111111x", "4111111111111112 1795000100000000000 0.4111111111111111 x4111111111111111 4111111111111111x"},
		{"all", "Bearer " + webToken + " https://u:p@h/?sig=" + signature + " 4111111111111111", "Bearer [redacted:bearer] https://u:[redacted:url-password]@h/?sig=[redacted:sas] [redacted:card]"},
	} {
		p := newProcessor(t, process.Options{Redact: []string{c.kind}})
		if got := redact(t, p, c.message); got != c.want {
			t.Errorf("%s:\n in  %s\n got %s\nwant %s", c.kind, c.message, got, c.want)
		}
		if got := redact(t, p, c.want); got != c.want {
			t.Errorf("%s: again: %s", c.kind, got)
		}
	}
}

// No secret stays, whatever stands around it, as text or in JSON; and the bytes
// that the input owns are not changed.
func TestSecretsDoNotStay(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	p := newProcessor(t, process.Options{Redact: []string{"all"}})
	secrets := map[string]string{
		"abcdefGHIJ0123": "Bearer abcdefGHIJ0123", webToken[40:80]: "x " + webToken, signature: "?a=b&sig=" + signature, accountKey: accountKey,
		"hunter22": "Password=hunter22;", "correct-horse": "amqp://u:correct-horse@h/", "4111111111111111": "4111111111111111", "5500 0000 0000 0004": "5500 0000 0000 0004",
	}
	const around = "abz ,;:{}[]\"'\t\n/\\é=&?@.-"
	for range 5000 {
		for secret, text := range secrets {
			var before, after strings.Builder
			for range rnd.IntN(12) {
				before.WriteByte(around[rnd.IntN(len(around))])
				after.WriteByte(around[rnd.IntN(len(around))])
			}
			message := before.String() + " " + text + " " + after.String()
			if rnd.IntN(2) == 0 {
				quoted, err := json.Marshal(map[string]string{"msg": message})
				if err != nil {
					t.Fatal(err)
				}
				message = string(quoted)
			}
			was := []byte(message)
			r := record.Record{Message: was}
			p.Process("x", &r)
			if bytes.Contains(r.Message, []byte(secret)) {
				t.Fatalf("%q stays in %q of %q", secret, r.Message, message)
			}
			if string(was) != message {
				t.Fatalf("the bytes of %q were changed to %q", message, was)
			}
		}
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

func TestMistakes(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]process.Options{
		`redact "tokens": want bearer, jwt`: {Redact: []string{"tokens"}},
		"sample one in 0":                   {Sample: []process.Sample{{}}},
		"rate limit of -1":                  {RateLimit: -1},
		"burst 5":                           {Burst: 5},
		"an expression is missing":          {Replace: []process.Replacement{{}}},
	} {
		if p, err := process.New(opts); err == nil || p != nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add([]byte("Bearer " + webToken + " 4111 1111-1111 1111 a://b:c@d sig=" + signature))
	f.Add([]byte(`AccountKey=` + accountKey))
	p := newProcessor(f, process.Options{Redact: []string{"all"}})
	f.Fuzz(func(t *testing.T, message []byte) {
		r := record.Record{Message: bytes.Clone(message)}
		if !p.Process("x", &r) {
			t.Fatal("dropped")
		}
		if len(r.Message) > 5*len(message)+40 {
			t.Errorf("%d bytes became %d", len(message), len(r.Message))
		}
		if n, m := bytes.Count(message, []byte("\n")), bytes.Count(r.Message, []byte("\n")); n != m {
			t.Errorf("%d newlines became %d", n, m)
		}
	})
}

// BenchmarkRedact takes all built-in secrets out of JSON lines that hold none, and of
// such that hold one.
func BenchmarkRedact(b *testing.B) {
	line := `{"time":"2026-11-20T15:04:05.123456789Z","level":"info","msg":"request done","method":"GET","path":"/api/orders/48151623","status":200,"took_ms":12.5,"trace":"4bf92f3577b34da6a3ce929d0e0e4736","user":"u-%d"}`
	for name, extra := range map[string]string{"none": "", "one": " Bearer abcdefghijkl"} {
		b.Run(name, func(b *testing.B) {
			p := newProcessor(b, process.Options{Redact: []string{"all"}})
			message := fmt.Appendf(nil, line+extra, 42)
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			for b.Loop() {
				r := record.Record{Message: message}
				p.Process("x", &r)
			}
		})
	}
}
