package match

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"logstow/filter/token"
)

func TestRequiredText(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string][2]string{
		"abc": {"abc"}, "a(bcd)e": {"bcd"}, "(?:abc)+": {"abc"}, "(?:abc){2,}": {"abc"}, "(?:abc)?": {""}, "abc|abd": {"ab"},
		"a.*longer": {"longer"}, "(?i)trace": {"trace"}, "(?i)broken": {"bro", "broken"}, "(?i)sés": {"", "s"}, "(?i)größe": {"gr"},
		"x\ufffdyz": {"yz"}, "": {""}, "[a-z]": {""},
	} {
		if want[1] == "" {
			want[1] = want[0]
		}
		_, every, ascii, err := compileRegexp(expr, false)
		if err != nil || string(every.text) != want[0] || string(ascii.text) != want[1] {
			t.Errorf("%s: %q, %q, %v; want %q", expr, every.text, ascii.text, err, want)
		}
	}
	for _, bad := range []string{"a)(b", "(", "a{2000}"} {
		if _, _, _, err := compileRegexp(bad, true); err == nil {
			t.Errorf("%s compiles", bad)
		}
	}
}

func TestAppendLower(t *testing.T) {
	t.Parallel()
	all := make([]byte, 256+5)
	for i := range all {
		all[i] = byte(i)
	}
	for cut := range 9 {
		for i, b := range appendLower(nil, all[cut:]) {
			if want := token.Lower(all[cut+i]); b != want {
				t.Fatalf("byte %#x: %#x, want %#x", all[cut+i], b, want)
			}
		}
	}
}

// The first occurrence is found wherever the rarest byte is, and whether it is rare in the text or not.
func TestIndex(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	text := func(length int, letters string) []byte {
		b := make([]byte, length)
		for i := range b {
			b[i] = letters[random.IntN(len(letters))]
		}
		return b
	}
	for range 20_000 {
		letters := []string{"eq", "eeeeeeeeeeeeq", "etq1", "q"}[random.IntN(4)]
		s, sought := text(random.IntN(300), letters), text(random.IntN(6), letters)
		want := bytes.Index(s, sought)
		if l := NewLiteral(sought, false, false); l.Index(s) != want {
			t.Fatalf("%q in %q: %d, want %d", sought, s, l.Index(s), want)
		}
		if l := NewLiteral(bytes.ToUpper(sought), true, false); l.Index(s) != want {
			t.Fatalf("%q in %q without case: %d, want %d", sought, s, l.Index(s), want)
		}
	}
}

func BenchmarkIndex(b *testing.B) {
	line := `2026-11-23T05:06:40.000391000Z	INFO	app.log	{"level":"info","msg":"job finished 49","method":"GET","path":"/api/orders","status":500,"took_ms":15.352}` + "\n"
	text := []byte(strings.Repeat(line, 1<<20/len(line)))
	for _, sought := range []string{"timed out", `"trace_id"`, "Exception", "2026-11-24", `"user":`} {
		b.Run(sought, func(b *testing.B) {
			l := NewLiteral([]byte(sought), false, false)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if l.Index(text) >= 0 {
					b.Fatal("found")
				}
			}
		})
	}
}
