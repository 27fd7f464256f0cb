package container_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/input/container"
)

const at = "2026-11-20T15:04:05.123456789Z"

// got is a decoded line in words.
type got struct {
	Format, Stream, Time, Text string
	Partial                    bool
}

func decode(t *testing.T, text string) got {
	t.Helper()
	line := []byte(text)
	f := container.Detect(line)
	if string(line) != text {
		t.Errorf("Detect changed %q to %q", text, line)
	}
	l, ok := container.Decode(f, line)
	if ok != (f != container.None) {
		t.Errorf("%q: detected as %v, decoded: %v", text, f, ok)
	}
	if !ok && string(line) != text {
		t.Errorf("%q changed to %q", text, line)
	}
	return got{f.String(), l.Stream.String(), string(l.Time), string(l.Text), l.Partial}
}

func TestCRI(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]got{
		at + " stdout F hello":                           {"cri", "stdout", at, "hello", false},
		at + " stderr P hel":                             {"cri", "stderr", at, "hel", true},
		at + " stdout F   indented \r":                   {"cri", "stdout", at, "  indented \r", false},
		at + " stdout F ":                                {"cri", "stdout", at, "", false},
		at + " stdout F":                                 {"cri", "stdout", at, "", false},
		at + " stdout P:a:b text":                        {"cri", "stdout", at, "text", true},
		at + " stdout F:a":                               {"cri", "stdout", at, "", false},
		"2016-10-06T00:17:09.669794202+02:00 stdout F x": {"cri", "stdout", "2016-10-06T00:17:09.669794202+02:00", "x", false},
		"2016-10-06T00:17:09Z stdout F x":                {"cri", "stdout", "2016-10-06T00:17:09Z", "x", false},
		at + " stdin F x":                                {Format: "none"},
		at + " stdout X x":                               {Format: "none"},
		at + " stdout Fx":                                {Format: "none"},
		at + " stdout":                                   {Format: "none"},
		at + "  stdout F x":                              {Format: "none"},
		"2026-11-20 15:04:05Z stdout F x":                {Format: "none"},
		"2026-11-20T15:04:05.Z stdout F x":               {Format: "none"},
		"2026-11-20T15:04:05.1234567890Z stdout F x":     {Format: "none"},
		"2026-11-20T15:04:05 stdout F x and more":        {Format: "none"},
		"":                       {Format: "none"},
		strings.Repeat("2", 100): {Format: "none"},
	} {
		if diff := cmp.Diff(want, decode(t, line)); diff != "" {
			t.Errorf("%q: %s", line, diff)
		}
	}
}

func TestDocker(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]got{
		`{"log":"hello\n","stream":"stdout","time":"` + at + `"}`:                          {"docker", "stdout", at, "hello", false},
		`{"log":"hel","stream":"stderr","time":"` + at + `"}`:                              {"docker", "stderr", at, "hel", true},
		`{"log":"\n","stream":"stderr","time":"` + at + `"}`:                               {"docker", "stderr", at, "", false},
		`{"log":"","stream":"stderr","time":"` + at + `"}`:                                 {"docker", "stderr", at, "", true},
		`{"log":"a\r\n","stream":"stdout","time":"` + at + `"}`:                            {"docker", "stdout", at, "a\r", false},
		`{"log":"{\"a\":\"b\\n\"}\n","stream":"stdout","time":"` + at + `"}`:               {"docker", "stdout", at, `{"a":"b\n"}`, false},
		`{"log":"\u003c\u00e9\ud83e\udeb5\u0000\n","stream":"stdout","time":"` + at + `"}`: {"docker", "stdout", at, "<é🪵\x00", false},
		`{"log":"x\n","stream":"stdout","attrs":{"tag":"a}\"","n":[1,{}]},"time":"` + at + `"}`: {
			"docker", "stdout", at, "x", false,
		},
		` {"log":"x\n"}`: {Format: "none"},
		`{ "time" : "` + at + `" , "n" : 12 , "stream" : "stdout" , "log" : "x\n" } ` + "\r": {"docker", "stdout", at, "x", false},
		// Escapes that are none, and halves of pairs, stay.
		`{"log":"\q\u12g4\ud83ex\udeb5\n","stream":"stdout","time":"` + at + `"}`: {"docker", "stdout", at, `\q\u12g4\ud83ex\udeb5`, false},
		`{"log":"x\\","stream":"stdout","time":"` + at + `"}`:                     {"docker", "stdout", at, `x\`, true},
		// Not Docker's, or damaged.
		`{"log":"x\n","stream":"stdout","time":"` + at + `"`:           {Format: "none"},
		`{"log":"x\n","stream":"stdout","time":"` + at + `"}{`:         {Format: "none"},
		`{"log":"x\n","stream":"stdin","time":"` + at + `"}`:           {Format: "none"},
		`{"log":"x\n","stream":"stdout","time":"yesterday, at noon"}`:  {Format: "none"},
		`{"log":"x\n","stream":"stdout"}`:                              {Format: "none"},
		`{"log":{"a":1},"stream":"stdout","time":"` + at + `"}`:        {Format: "none"},
		`{"log":"x{"log":"y\n","stream":"stdout","time":"` + at + `"}`: {Format: "none"},
		`{"log":"x\n","n":1 2,"stream":"stdout","time":"` + at + `"}`:  {Format: "none"},
		`{"log":"x\n","n":,"stream":"stdout","time":"` + at + `"}`:     {Format: "none"},
		`{"log":"x\n","stream":"stdout","time":"` + at + `",}`:         {Format: "none"},
		`{"log":"x\n" "stream":"stdout","time":"` + at + `"}`:          {Format: "none"},
		`{,"log":"x\n","stream":"stdout","time":"` + at + `"}`:         {Format: "none"},
		`{}`:               {Format: "none"},
		`{`:                {Format: "none"},
		`{"level":"info"}`: {Format: "none"},
		`{"a":[[[[`:        {Format: "none"},
		`{"log":"\`:        {Format: "none"},
	} {
		if diff := cmp.Diff(want, decode(t, line)); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

// What encoding/json escapes comes back, whatever the text.
func TestDockerRoundTrip(t *testing.T) {
	t.Parallel()
	const seed = 3
	r := rand.New(rand.NewPCG(seed, seed))
	pieces := []string{"a", `"`, `\`, "\n", "\t", "<", "é", "🪵", "\x00", "\u2028", "/", "{", `\u0041`, " "}
	for range 5000 {
		var text strings.Builder
		for range r.IntN(20) {
			text.WriteString(pieces[r.IntN(len(pieces))])
		}
		line, err := json.Marshal(map[string]string{"log": text.String() + "\n", "stream": "stderr", "time": at})
		if err != nil {
			t.Fatal(err)
		}
		l, ok := container.Decode(container.Docker, line)
		if !ok || string(l.Text) != text.String() || l.Partial {
			t.Fatalf("seed %d: %q came back as %q, %v", seed, text.String(), l.Text, ok)
		}
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	var c container.Clock
	for _, s := range []string{
		at, "2026-11-20T15:04:05Z", "2026-11-20T15:04:05.5Z", "2026-11-20T15:04:05.000000001Z", "2026-11-20T15:04:06.1Z",
		"2026-11-20T15:04:06.1+02:00", "2026-11-20T15:04:06.1Z", "1969-12-31T23:59:59.9Z", "1969-12-31T23:59:59.1Z",
	} {
		want, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Unix([]byte(s)); got != want.UnixNano() {
			t.Errorf("%s: %v", s, time.Unix(0, got).UTC())
		}
	}
	for _, s := range []string{"", "2026-13-20T15:04:05Z", "0001-01-01T00:00:00Z", "9999-01-01T00:00:00Z", "2026-11-20T15:04:05"} {
		if got := c.Unix([]byte(s)); got != 0 {
			t.Errorf("%s: %d", s, got)
		}
	}
}

func TestParseFormat(t *testing.T) {
	t.Parallel()
	for _, f := range []container.Format{container.Auto, container.None, container.CRI, container.Docker} {
		if got, err := container.ParseFormat(f.String()); err != nil || got != f {
			t.Errorf("%v: %v, %v", f, got, err)
		}
	}
	if _, err := container.ParseFormat("kubernetes"); err == nil || !strings.Contains(err.Error(), "docker") {
		t.Errorf("error %v", err)
	}
}

// Whatever a line holds, decoding does not panic, gives parts of the line, and
// leaves what it refuses as it was.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(at + " stdout P:x hello"))
	f.Add([]byte(`{"log":"a\u00e9\ud83e\udeb5\n","stream":"stdout","attrs":{"a":["b"]},"time":"` + at + `"}`))
	f.Add([]byte(`{"log":"\\\"","stream":"stderr","time":"2026-11-20T15:04:05+01:00"} `))
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, format := range []container.Format{container.CRI, container.Docker, container.None, container.Auto} {
			work := bytes.Clone(line)
			l, ok := container.Decode(format, work)
			if !ok {
				if !bytes.Equal(work, line) {
					t.Fatalf("%v changed %q to %q", format, line, work)
				}
				continue
			}
			if l.Stream == container.NoStream || len(l.Text) > len(line) {
				t.Fatalf("%v: %q gives %+v", format, line, l)
			}
			var c container.Clock
			if first, again := c.Unix(l.Time), c.Unix(l.Time); first != again {
				t.Fatalf("%q is %d, then %d", l.Time, first, again)
			}
			if format == container.CRI && !bytes.Equal(work, line) {
				t.Fatalf("CRI changed %q to %q", line, work)
			}
			// A line of Docker's that encoding/json can read means the same to it.
			var want struct{ Log, Stream string }
			if format == container.Docker && bytes.Count(line, []byte(`"log"`)) == 1 && json.Unmarshal(line, &want) == nil &&
				!strings.ContainsRune(want.Log, '\uFFFD') && want.Stream == l.Stream.String() {
				if text := strings.TrimSuffix(want.Log, "\n"); text != string(l.Text) {
					t.Fatalf("%s: %q, want %q", line, l.Text, text)
				}
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	message := `{\"time\":\"2026-11-20T15:04:05.123Z\",\"level\":\"info\",\"msg\":\"order accepted\",\"trace_id\":\"4bf92f3577b34da6a3ce929d0e0e4736\"}`
	for name, c := range map[string]struct {
		format container.Format
		line   string
	}{
		"cri":    {container.CRI, at + " stdout F " + message},
		"docker": {container.Docker, `{"log":"` + message + `\n","stream":"stdout","time":"` + at + `"}`},
	} {
		b.Run(name, func(b *testing.B) {
			work := make([]byte, len(c.line))
			var clock container.Clock
			b.SetBytes(int64(len(work)))
			b.ReportAllocs()
			for b.Loop() {
				copy(work, c.line)
				l, ok := container.Decode(c.format, work)
				if !ok || clock.Unix(l.Time) == 0 {
					b.Fatal("not decoded")
				}
			}
		})
	}
}
