package process_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"logstow/internal/test/testrand"
	"logstow/process"
	"logstow/record"
)

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
		{"bearer", `{"m":"headers:\nBearer 17|Zx:y_&","n":1}`, `{"m":"headers:\nBearer [redacted:bearer]&","n":1}`},
		{"bearer", `WWW-Authenticate: Bearer realm="x", error="y"`, `WWW-Authenticate: Bearer realm="x", error="y"`},
		{"bearer", `{"token_type":"Bearer","bearer":"abcdefg"}`, `{"token_type":"Bearer","bearer":"[redacted:bearer]"}`},
		{"bearer", `{"m":"{\"m\":\"Bearer abcdefg` + strings.Repeat(`\`, 9) + `",\"n\":1}"}`, `{"m":"{\"m\":\"Bearer [redacted:bearer]` + strings.Repeat(`\`, 9) + `",\"n\":1}"}`},
		{"jwt", "token=" + webToken + ";", "token=[redacted:jwt];"},
		{"jwt", "eyJ is short", "eyJ is short"},
		{"sas", "GET https://a.blob.core.windows.net/c/b?sv=2025&sig=" + signature + "&se=2026", "GET https://a.blob.core.windows.net/c/b?sv=2025&sig=[redacted:sas]&se=2026"},
		{"sas", `{"url":"https://a/b?sv=1\u0026sig=` + signature + `\u0026x=1"}`, `{"url":"https://a/b?sv=1\u0026sig=[redacted:sas]\u0026x=1"}`},
		{"sas", "design=somethinglongerthanthat config=somethinglongerthanthat", "design=somethinglongerthanthat config=somethinglongerthanthat"},
		{"sas", `sig\u003d` + signature + `\u0026se=1`, `sig\u003d[redacted:sas]\u0026se=1`},
		{"sas", "to=https%3A%2F%2Fa%2Fb%3Fsig%3D" + strings.ReplaceAll(signature, "%", "%25") + "%26se%3D1", "to=https%3A%2F%2Fa%2Fb%3Fsig%3D[redacted:sas]%26se%3D1"},
		{"azure-key", `{"k":"` + strings.NewReplacer("/", `\/`, "+", `\u002B`, "=", `\u003D`).Replace(accountKey) + `"}`, `{"k":"[redacted:azure-key]"}`},
		{"azure-key", strings.NewReplacer("/", "%2F", "+", "%2b", "=", "%3D").Replace(accountKey), "[redacted:azure-key]"},
		{"azure-key", accountKey[1:] + " " + accountKey[:87], accountKey[1:] + " " + accountKey[:87]},
		{"azure-key", "key " + accountKey + " end", "key [redacted:azure-key] end"},
		{"connection-string", "AccountName=a;AccountKey=" + accountKey + ";EndpointSuffix=x", "AccountName=a;AccountKey=[redacted:connection-string];EndpointSuffix=x"},
		{"connection-string", `{"db":"Server=x;User=sa;Password=hunter22;Encrypt=true"}`, `{"db":"Server=x;User=sa;Password=[redacted:connection-string];Encrypt=true"}`},
		{"connection-string", `PWD="a;b c";x=1 db_password = 'it' pwd=` + "\n", `PWD="[redacted:connection-string]";x=1 db_password = '[redacted:connection-string]' pwd=` + "\n"},
		{"connection-string", "Driver={SQL Server};Pwd={a;b c};Uid=u Pwd={} Pwd={x;y", "Driver={SQL Server};Pwd={[redacted:connection-string]};Uid=u Pwd={} Pwd={[redacted:connection-string];y"},
		{"connection-string", `{"m":"Password=\"a;b\u002Bc\";x","q":"password=","n":1}`, `{"m":"Password=\"[redacted:connection-string]\";x","q":"password=","n":1}`},
		{"connection-string", `{"m":"Password=\"` + strings.Repeat("a", 511) + `\\\"b"}`, `{"m":"Password=\"[redacted:connection-string]\\\"b"}`},
		{"connection-string", `AccountKey=a\u002Bb\/c==;x`, `AccountKey=[redacted:connection-string];x`},
		{"connection-string", `{"m":"pwd='x","n":["it's"]}`, `{"m":"pwd='[redacted:connection-string]","n":["it's"]}`},
		{"connection-string", `{"m":"pwd='x","n":"it's"}`, `{"m":"pwd='[redacted:connection-string]","n":"it's"}`},
		{"url-password", `"a://u:p\u0026q@r@h:1/?x=a@b"`, `"a://u:[redacted:url-password]@h:1/?x=a@b"`},
		{"url-password", "http://h,a://u:p@h,b://u2:p2@h2", "http://h,a://u:[redacted:url-password]@h,b://u2:[redacted:url-password]@h2"},
		{"url-password", "postgres://bob:hunter2@db/x and https://a:b@c", "postgres://bob:[redacted:url-password]@db/x and https://a:[redacted:url-password]@c"},
		{"url-password", `"redis:\/\/:pass@host"`, `"redis:\/\/:[redacted:url-password]@host"`},
		{"url-password", "http://host:80/a@b mail bob@example.com https://bob@host", "http://host:80/a@b mail bob@example.com https://bob@host"},
		{"card", "card 4111111111111111 ok", "card [redacted:card] ok"},
		{"card", `{"pan":"4111 1111 1111 1111","amex":"3782-822463-10005"}`, `{"pan":"[redacted:card]","amex":"[redacted:card]"}`},
		{"card", "6759649826438453 6304000000000000000 6200000000000000000", "[redacted:card] [redacted:card] [redacted:card]"},
		{"card", "30569309025904 3566002020360505 2223000048400011", "[redacted:card] [redacted:card] [redacted:card]"},
		{"card", "261120 150000 3662 INFO 261120 150000 2237", "261120 150000 3662 INFO 261120 150000 2237"},
		{"card", "3782 822463 10005 30569-309025-904 3056-930902-5904 6200 0000 0000 0000 000", "[redacted:card] 30569-309025-904 [redacted:card] [redacted:card]"},
		{"card", "41111 11111 111111 4111 1111-1111 1111 411111111111 1111", "41111 11111 111111 4111 1111-1111 1111 411111111111 1111"},
		{"card", "blk_-4000000000000000006 id 5555555555555555556", "blk_-4000000000000000006 id 5555555555555555556"},
		{"card", "2026-11-20 4111111111111111", "2026-11-20 [redacted:card]"},
		{"card", "2026-11-20 4111 1111 1111 1111 2 3", "2026-11-20 [redacted:card] 2 3"},
		{"card", "4111111111111112 1795000100000000000 0.4111111111111111 x4111111111111111 4111111111111111x", "4111111111111112 1795000100000000000 0.4111111111111111 x4111111111111111 4111111111111111x"},
		{"card", `card.4111111111111111\n5500000000000004`, `card.[redacted:card]\n[redacted:card]`},
		{"card", `{"pan":4111111111111111,"m":"\"4111111111111111","all":[5500000000000004]}`, `{"pan":"[redacted:card]","m":"\"[redacted:card]","all":["[redacted:card]"]}`},
		{"all", "AccountKey=" + accountKey, "AccountKey=[redacted:azure-key]"},
		{"all", "amqp://user:5,pwd=x@host:5672/v 4111111111111111", "amqp://user:[redacted:connection-string] [redacted:card]"},
		{"all", `{"m":"Password=a://b:c@d\u003bx"}`, `{"m":"Password=[redacted:connection-string]\u003bx"}`},
		{"all", "a://b:" + webToken + ":rest@c", "a://b:[redacted:jwt]@c"},
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

// from is n characters of an alphabet.
func from(rnd *rand.Rand, alphabet string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[rnd.IntN(len(alphabet))])
	}
	return b.String()
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	base64s = letters + "0123456789+/"
)

// secret makes up a secret of any kind and what stands around it.
func secret(rnd *rand.Rand) (core, text string) {
	switch rnd.IntN(9) {
	case 0:
		core = from(rnd, letters, 1) + from(rnd, letters+"0123456789-._~+/:|%", 6+rnd.IntN(40))
		return core, "Authorization: Bearer " + core
	case 1:
		core = from(rnd, letters+"0123456789-_", 30)
		return core, "eyJhbGciOiJIUzI1NiJ9." + from(rnd, base64s[:62], 20) + "." + core
	case 2:
		core = strings.NewReplacer("+", "%2B", "/", "%2F").Replace(from(rnd, base64s, 43)) + "%3D"
		return core, "https://a.blob.core.windows.net/c/b?sv=2025-01-05&sig=" + core + "&se=2026"
	case 3:
		core = from(rnd, base64s, 86) + "=="
		return core, core
	case 4:
		core = from(rnd, base64s, 43) + "="
		return core, "Endpoint=sb://x/;SharedAccessKey=" + core + ";EntityPath=q"
	case 5:
		core = from(rnd, letters+"!$%&*+,-./:<=>?@^_|~", 5+rnd.IntN(12))
		return core, "Server=x;Password=" + core + ";Encrypt=true"
	case 6:
		core = from(rnd, letters, 1) + from(rnd, letters+" ;=,", 5+rnd.IntN(12))
		return core, `Server=x;Password="` + core + `";Encrypt=true`
	case 7:
		core = from(rnd, letters+"0123456789!$%&*+,-.:;=@[]^_|~", 5+rnd.IntN(12))
		return core, "amqp://user:" + core + "@host:5672/v"
	}
	core = []string{"4111111111111111", "5500 0000 0000 0004", "3782-822463-10005", "6011000990139424"}[rnd.IntN(4)]
	return core, core
}

// encodings are ways in which applications write text: what text becomes, and back.
func encodings() []func(t testing.TB, text string) (written string, read func(string) string) {
	object := func(escape *strings.Replacer) func(t testing.TB, text string) (string, func(string) string) {
		return func(t testing.TB, text string) (string, func(string) string) {
			t.Helper()
			quoted, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			written := `{"level":"info","message":` + `"` + escape.Replace(string(quoted[1:len(quoted)-1])) + `"` + `,"n":1}`
			return written, func(s string) string {
				var v struct{ Message string }
				if err := json.Unmarshal([]byte(s), &v); err != nil {
					t.Errorf("%s is no JSON any more: %v: %s", written, err, s)
				}
				return v.Message
			}
		}
	}
	goes := object(strings.NewReplacer())
	return []func(t testing.TB, text string) (string, func(string) string){
		func(_ testing.TB, text string) (string, func(string) string) {
			return text, func(s string) string { return s }
		},
		goes,
		object(strings.NewReplacer("+", `\u002B`, `\"`, `\u0022`, "'", `\u0027`)), // .NET
		object(strings.NewReplacer("=", `\u003d`, "'", `\u0027`)),                 // Gson
		object(strings.NewReplacer("/", `\/`)),                                    // PHP
		func(t testing.TB, text string) (string, func(string) string) { // JSON in JSON
			t.Helper()
			inner, readInner := goes(t, text)
			written, read := goes(t, inner)
			return written, func(s string) string { return readInner(read(s)) }
		},
	}
}

// No secret stays, whatever stands around it and however it is written; JSON stays
// JSON; and the bytes that the input owns are not changed.
func TestSecretsDoNotStay(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	p := newProcessor(t, process.Options{Redact: []string{"all"}})
	const around, beside = letters + " ,;:{}[]\"'\t\n/\\=&?@.-%", " ,;:\"'()\n\t[]{}"
	for range 20_000 {
		core, text := secret(rnd)
		before := from(rnd, around, rnd.IntN(20))
		if strings.Contains(strings.ToLower(before), "pwd") {
			continue // it may be a key itself, whose value ends where the secret begins
		}
		message := before + from(rnd, beside, 1) + text + from(rnd, beside, 1) + from(rnd, around, rnd.IntN(20))
		all := encodings()
		written, read := all[rnd.IntN(len(all))](t, message)
		was := []byte(written)
		r := record.Record{Message: was}
		p.Process("x", &r)
		if got := read(string(r.Message)); strings.Contains(got, core) || bytes.Contains(r.Message, []byte(core)) {
			t.Fatalf("%q stays in %s of %s", core, r.Message, written)
		}
		if string(was) != written {
			t.Fatalf("the bytes of %q were changed to %q", written, was)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add([]byte("Bearer " + webToken + " 4111 1111-1111 1111 a://b:c@d sig=" + signature))
	f.Add([]byte(`AccountKey=` + accountKey))
	f.Add([]byte(`{"m":"pwd='x","n":["it's",4111111111111111],"url":"a:\/\/b:c@d"}`))
	f.Add([]byte(`{"m":"{\"password\":\"a\\\"b\",\"auth\":\"Bearer abcdefgh\"}","sig\u003d":1}`))
	p := newProcessor(f, process.Options{Redact: []string{"all"}})
	f.Fuzz(func(t *testing.T, message []byte) {
		r := record.Record{Message: bytes.Clone(message)}
		if !p.Process("x", &r) {
			t.Fatal("dropped")
		}
		if json.Valid(message) && message[0] == '{' && !json.Valid(r.Message) {
			t.Errorf("%s is no JSON any more: %s", message, r.Message)
		}
		if len(r.Message) > 5*len(message)+40 {
			t.Errorf("%d bytes became %d", len(message), len(r.Message))
		}
		if n, m := bytes.Count(message, []byte("\n")), bytes.Count(r.Message, []byte("\n")); n != m {
			t.Errorf("%d newlines became %d", n, m)
		}
	})
}

// BenchmarkRedact takes all built-in secrets out of JSON lines that hold none, that
// hold what secrets begin with, and that hold one.
func BenchmarkRedact(b *testing.B) {
	line := `{"time":"2026-11-20T15:04:05.123456789Z","level":"info","msg":"request done","method":"GET","path":"/api/orders/48151623","status":200,"took_ms":12.5,"trace":"4bf92f3577b34da6a3ce929d0e0e4736","user":"u-42"`
	for name, end := range map[string]string{
		"none": `}`, "url": `,"url":"https://shop.example.com/a?page=2&from=x@y"}`, "one": `,"auth":"Bearer abcdefghijkl"}`,
	} {
		b.Run(name, func(b *testing.B) {
			p := newProcessor(b, process.Options{Redact: []string{"all"}})
			message := []byte(line + end)
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			for b.Loop() {
				r := record.Record{Message: message}
				p.Process("x", &r)
			}
		})
	}
}
