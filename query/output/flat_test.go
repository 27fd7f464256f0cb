package output_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"logstow/message/parse"
	"logstow/query"
	"logstow/query/output"
)

const flatHead = `{"time":"2026-11-20T15:04:05.123456789Z","level":"ERROR","service":"api","source":"app.log","instance":"pod-1","message":`

// The fields of the message stand beside the fixed ones; of equal names the first counts.
func TestFlat(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`{"a":1,"b":{"c":[1, "x"],"d":{}},"e":null,"f":true}`: `,"a":1,"b.c":[1,"x"],"b.d":{},"e":null,"f":true`,
		`{"b":{"c":{"d":1}}}`:               `,"b.c.d":1`,
		`{"a":1,"a":2,"b":{"c":3},"b.c":4}`: `,"a":1,"b.c":3`,
		`{"time":1,"level":2,"service":3,"source":4,"instance":5,"message":6}`:   `,"message.time":1,"message.level":2,"message.service":3,"message.source":4,"message.instance":5,"message.message":6`,
		`{"context":1,"late":2,"message_base64":3,"message.level":4,"level":5}`:  `,"message.context":1,"message.late":2,"message.message_base64":3,"message.level":4`,
		`{"message":{"id":7,"level":"x"},"level":"y"}`:                           `,"message.id":7,"message.level":"x"`,
		`{"a":[1,` + "\n\t" + `{"b": 2}]}`:                                       `,"a":[1,{"b":2}]`,
		`{"a":nope,"b":"é\u0000"}`:                                               `,"a":"nope","b":"é\u0000"`,
		`status=200 user="a b" time=now`:                                         `,"status":"200","user":"a b","message.time":"now"`,
		`plain text`:                                                             ``,
		`10.0.0.7 - - [20/Nov/2026:15:04:05 +0000] "GET /x?y=1 HTTP/1.1" 200 15`: `,"ip":"10.0.0.7","message.time":"20/Nov/2026:15:04:05 +0000","method":"GET","path":"/x","query":"y=1","protocol":"HTTP/1.1","status":"200","bytes":"15"`,
	} {
		quoted, err := json.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		if got := printed(t, output.Options{Format: output.Flat}, message); got != flatHead+string(quoted)+want+"}\n" {
			t.Errorf("%s: %s, want …%s}", message, got, want)
		}
	}
	// What is nested too deep stays an object.
	deep := strings.Repeat(`{"a":`, 8)
	got := printed(t, output.Options{Format: output.Flat}, deep+`{"x":1}`+strings.Repeat("}", 8), deep+`{"x":1},"b":2`+strings.Repeat("}", 8))
	for i, want := range []string{`,"` + strings.Repeat("a.", 7) + `a":{"x":1}}`, `,"` + strings.Repeat("a.", 7) + `a":{"x":1},"` + strings.Repeat("a.", 7) + `b":2}`} {
		if line := strings.Split(got, "\n")[i]; !strings.HasSuffix(line, want) {
			t.Errorf("%s, want …%s", line, want)
		}
	}
	parser, err := parse.Compile("pattern '<level> <what>'")
	if err != nil {
		t.Fatal(err)
	}
	opts := output.Options{Format: output.Flat, Parser: func(*query.Segment) *parse.Parser { return parser }, Zone: time.FixedZone("", 3600)}
	got = printed(t, opts, "a b")
	if want := `{"time":"2026-11-20T16:04:05.123456789+01:00","level":"ERROR","service":"api","source":"app.log","instance":"pod-1","message":"a b","message.level":"a","what":"b"}` + "\n"; got != want {
		t.Error(got)
	}
	opts.Fields = []string{"what", "level", "gone"}
	if got := printed(t, opts, "a b"); got != `{"what":"b","level":"ERROR"}`+"\n" {
		t.Error(got)
	}
}

// A line is a JSON object without a name twice, whatever the message is, and has the message.
func FuzzFlat(f *testing.F) {
	f.Add(`{"a":{"b":1},"a.b":[2],"level":"x"}`)
	f.Add("a=b c=\"d\\n\" message.level=\xff level=1")
	f.Add("{\"\xff\":1,\"\xfe\":[\"\xfd\"]}")
	f.Fuzz(func(t *testing.T, message string) {
		line := []byte(printed(t, output.Options{Format: output.Flat, Terminal: true}, message))
		if n := bytes.IndexByte(line, '\n'); n != len(line)-1 || !utf8.Valid(line) {
			t.Fatalf("%q: no line of UTF-8: %q", message, line)
		}
		d := json.NewDecoder(bytes.NewReader(line))
		if _, err := d.Token(); err != nil {
			t.Fatal(err)
		}
		seen := map[string]json.RawMessage{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				t.Fatalf("%q: %v in %q", message, err, line)
			}
			if seen[name.(string)] != nil {
				t.Fatalf("%q: %q twice in %q", message, name, line)
			}
			var value json.RawMessage
			if err := d.Decode(&value); err != nil {
				t.Fatalf("%q: %v in %q", message, err, line)
			}
			seen[name.(string)] = value
		}
		var text string
		if err := json.Unmarshal(seen["message"], &text); err != nil || utf8.ValidString(message) && text != message {
			t.Fatalf("%q: message %q, %v", message, text, err)
		}
	})
}
