package output_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"logstow/blobnaming"
	"logstow/query"
	"logstow/query/output"
	"logstow/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func match(message string) query.Match { return matchOf("", message) }

// matchOf is a match with attributes, which need not be valid: segments may be forged.
func matchOf(attributes, message string) query.Match {
	r := record.Record{Time: 1795187045123456789, Level: record.Error, Source: "app.log", Attributes: []byte(attributes), Message: []byte(message)}
	line := record.AppendText(nil, r)
	return query.Match{
		Segment:  &query.Segment{Name: blobnaming.Name{Service: "api"}},
		Instance: "pod-1", Time: r.Time, Line: line[:len(line)-1],
	}
}

func printed(t testing.TB, opts output.Options, messages ...string) string {
	t.Helper()
	var matches []query.Match
	for _, m := range messages {
		matches = append(matches, match(m))
	}
	return printedMatches(t, opts, matches...)
}

func printedMatches(t testing.TB, opts output.Options, matches ...query.Match) string {
	t.Helper()
	var out bytes.Buffer
	w, err := output.New(&out, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range matches {
		if err := w.Write(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestFormats(t *testing.T) {
	t.Parallel()
	const odd = "a\x1b[31m\r\nb\xff\u009b\u202e é\t\x00"
	zone := time.FixedZone("X", 3600)
	for _, c := range []struct {
		name string
		opts output.Options
		want string
	}{
		{"raw", output.Options{Format: output.Raw}, odd + "\n"},
		{"raw shown", output.Options{Format: output.Raw, Terminal: true}, "a\\x1b[31m\\r\nb\\xff\\u009b\\u202e é\t\\x00\n"},
		{"text", output.Options{Format: output.Text}, "2026-11-20T15:04:05.123456789Z\tERROR\tapp.log\ta\x1b[31m\r\n\tb\xff\u009b\u202e é\t\x00\n"},
		{"text shown", output.Options{Format: output.Text, Terminal: true}, "2026-11-20T15:04:05.123456789Z\tERROR\tapp.log\ta\\x1b[31m\\r\n\tb\\xff\\u009b\\u202e é\t\\x00\n"},
		{"pretty", output.Options{Format: output.Pretty, Location: zone}, "16:04:05.123 ERROR api app.log: a\\x1b[31m\n    b\\xff\\u009b\\u202e é\t\\x00\n"},
		{"pretty coloured", output.Options{Format: output.Pretty, Color: true, Dates: true}, "\x1b[38;5;244m2026-11-20 15:04:05.123\x1b[0m \x1b[38;5;160mERROR\x1b[0m \x1b[38;5;169mapi\x1b[0m\x1b[38;5;244m app.log:\x1b[0m a\\x1b[31m\n    b\\xff\\u009b\\u202e é\t\\x00\n"},
		{"json", output.Options{Format: output.JSON}, `{"time":"2026-11-20T15:04:05.123456789Z","level":"ERROR","service":"api","source":"app.log","instance":"pod-1",` +
			`"message":"a\u001b[31m\r\nb\ufffd\u009b\u202e é\t\u0000","message_base64":"` + base64.StdEncoding.EncodeToString([]byte(odd)) + "\"}\n"},
		{"csv", output.Options{Format: output.CSV}, "time,level,service,source,message\n2026-11-20T15:04:05.123456789Z,ERROR,api,app.log,\"" + odd + "\"\n"},
		{"columns", output.Options{Format: output.Text, Fields: []string{"level", "message", "none"}}, "ERROR\ta\x1b[31m\r\\nb\xff\u009b\u202e é\\t\x00\t\n"},
		{"columns shown", output.Options{Format: output.Pretty, Fields: []string{"message"}, Terminal: true}, "a\\x1b[31m\\r\\nb\\xff\\u009b\\u202e é\\t\\x00\n"},
	} {
		if got := printed(t, c.opts, odd); got != c.want {
			t.Errorf("%s:\n%q, want\n%q", c.name, got, c.want)
		}
	}
	if _, err := output.New(io.Discard, output.Options{Format: "xml"}); err == nil {
		t.Error("xml is a format")
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	const message = `{"status":500,"user":{"name":"a\"b, c","ok":true},"none":null,"list":[1,"\u009b"]}`
	fields := []string{"instance", "status", "user.name", "user.ok", "none", "list", "gone"}
	for format, want := range map[string]string{
		output.Text: "pod-1\t500\ta\"b, c\ttrue\tnull\t[1,\"\\u009b\"]\t\n",
		output.JSON: `{"instance":"pod-1","status":500,"user.name":"a\"b, c","user.ok":true,"none":null,"list":[1,"\u009b"]}` + "\n",
		output.CSV:  "instance,status,user.name,user.ok,none,list,gone\npod-1,500,\"a\"\"b, c\",true,null,\"[1,\"\"\\u009b\"\"]\",\n",
	} {
		if got := printed(t, output.Options{Format: format, Fields: fields}, message); got != want {
			t.Errorf("%s: %s, want %s", format, got, want)
		}
	}
}

// Whatever a message holds, the JSON gives it back, and nothing in it steers a terminal.
func FuzzJSON(f *testing.F) {
	f.Add("a\x1b\"\\\n\xff")
	f.Add("\u2028é\u009b")
	f.Fuzz(func(t *testing.T, message string) {
		line := printed(t, output.Options{Format: output.JSON}, message)
		var got struct {
			Message string
			Base64  *string `json:"message_base64"`
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		if (got.Base64 == nil) != utf8.ValidString(message) {
			t.Fatalf("%q: base64 %v", message, got.Base64)
		}
		if got.Base64 != nil {
			b, err := base64.StdEncoding.DecodeString(*got.Base64)
			if err != nil || string(b) != message {
				t.Fatalf("%q: %q, %v", message, b, err)
			}
		} else if got.Message != message {
			t.Fatalf("%q: %q", message, got.Message)
		}
		for _, opts := range []output.Options{
			{Format: output.JSON}, {Format: output.Raw, Terminal: true}, {Format: output.Text, Terminal: true}, {Format: output.Pretty},
		} {
			for _, r := range printed(t, opts, message) {
				if r < 0x20 && r != '\n' && r != '\t' || 0x7f <= r && r <= 0x9f || r == utf8.RuneError && !strings.ContainsRune(message, r) {
					t.Fatalf("%s of %q holds %q", opts.Format, message, r)
				}
			}
		}
	})
}

// A record does not wait for others for ever, and an error of the output is returned.
func TestFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		o, err := output.New(w, output.Options{Format: output.Raw})
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Write(match("one")); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 10)
		start := time.Now()
		if n, err := r.Read(buf); err != nil || string(buf[:n]) != "one\n" || time.Since(start) > time.Second {
			t.Errorf("%q, %v, after %v", buf[:n], err, time.Since(start))
		}
		closed := fmt.Errorf("closed pipe")
		r.CloseWithError(closed)
		if err := o.Write(match("two")); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if err := o.Write(match("three")); !errors.Is(err, closed) {
			t.Errorf("after the pipe was closed: %v", err)
		}
		if err := o.Close(); !errors.Is(err, closed) {
			t.Errorf("close: %v", err)
		}
	})
}

// Indented objects are the same objects; what is in strings is not changed.
func TestIndent(t *testing.T) {
	t.Parallel()
	const message = `{"a":{"b":[1, 2],"c":{}},"text":"{\"x\": 1}"}`
	for _, c := range []struct {
		opts output.Options
		want string
	}{
		{output.Options{Format: output.JSON, Fields: []string{"level", "a", "text"}}, `{
  "level": "ERROR",
  "a": {
    "b": [
      1,
      2
    ],
    "c": {}
  },
  "text": "{\"x\": 1}"
}
`},
		{output.Options{Format: output.Flat}, ""},
		{output.Options{Format: output.JSON, Around: true}, ""},
		{output.Options{Format: output.Raw}, message + "\n" + message + "\n"},
	} {
		lines := printed(t, c.opts, message, message)
		c.opts.Indent = true
		got := printed(t, c.opts, message, message)
		if c.opts.Format == output.Raw {
			if got != c.want {
				t.Errorf("%q", got)
			}
			continue
		}
		if half := len(got) / 2; got[:half] != got[half:] || !strings.HasPrefix(got, "{\n  \"") || c.want != "" && got[:half] != c.want {
			t.Errorf("%s: %s", c.opts.Format, got)
		}
		var compact bytes.Buffer
		for decoder := json.NewDecoder(strings.NewReader(got)); decoder.More(); {
			var document json.RawMessage
			if err := decoder.Decode(&document); err != nil {
				t.Fatal(err)
			}
			if err := json.Compact(&compact, document); err != nil {
				t.Fatal(err)
			}
			compact.WriteByte('\n')
		}
		if compact.String() != lines {
			t.Errorf("%s, want\n%s", compact.String(), lines)
		}
	}
}

// A line of CSV is never empty: readers would skip it.
func TestEmptyValueInCSV(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]string{"user": "user\nann\n\"\"\n", "user,gone": "user,gone\nann,\n,\n"} {
		got := printed(t, output.Options{Format: output.CSV, Fields: strings.Split(fields, ",")}, `{"user":"ann"}`, `{"user":""}`)
		if got != want {
			t.Errorf("%s: %q, want %q", fields, got, want)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	const message = `{"time":"2026-11-20T15:04:05.123456789Z","level":"error","msg":"upstream connection reset by peer","method":"PUT","path":"/api/v1/sessions/296364",` +
		`"status":502,"duration_ms":250.11,"bytes":43549,"trace_id":"a37f17ead913f5d18a3bebefaceeab02","user":"user-16468","pod":"api-6d5f7c9b4-zt4wv","http":{"region":"westeurope","note":""}}`
	for _, opts := range []output.Options{{Format: output.Raw}, {Format: output.Pretty}, {Format: output.Pretty, Width: 120, Color: true, Highlight: places}, {Format: output.Flat}} {
		b.Run(fmt.Sprintf("%s-%d", opts.Format, opts.Width), func(b *testing.B) {
			w, err := output.New(io.Discard, opts)
			if err != nil {
				b.Fatal(err)
			}
			m := match(message)
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			for b.Loop() {
				if err := w.Write(m); err != nil {
					b.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
