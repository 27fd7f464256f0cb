package parse_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"logstow/message"
	"logstow/message/parse"
)

// fieldsOf are the fields that a splitter iterates over, the first of each name.
func fieldsOf(p *parse.Parser, msg []byte) map[string]message.Value {
	s := p.Splitter()
	s.Split(nil, msg)
	found := map[string]message.Value{}
	for name, v := range s.All() {
		if _, ok := found[name]; !ok {
			found[name] = message.Value{Kind: v.Kind, Text: bytes.Clone(v.Text)}
		}
	}
	return found
}

// checkSplitter checks that the values of a splitter by name and those that it iterates over are
// the same, that each is a part of the message or such a part without escapes, and that the message
// is not changed.
func checkSplitter(t *testing.T, p *parse.Parser, msg []byte) {
	t.Helper()
	original := bytes.Clone(msg)
	found := fieldsOf(p, msg)
	names := []string{"status", "user_agent", "none"}
	for name := range found {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	s := p.Splitter(names...)
	s.Split(nil, msg)
	for i, got := range s.Values() {
		one := p.Splitter(names[i])
		one.Split(nil, msg)
		if want := one.Value(0); got.Kind != want.Kind || !bytes.Equal(got.Text, want.Text) {
			t.Fatalf("%s: %q of %q is %d %q with all values, else %d %q", p, names[i], msg, got.Kind, got.Text, want.Kind, want.Text)
		}
	}
	// The same with each field alone: how much of a line is read depends on the names.
	s.Split(nil, msg)
	for i, name := range names {
		want := found[name]
		got := s.Value(i)
		one := p.Splitter(name)
		one.Split(nil, msg)
		for _, v := range []message.Value{got, one.Value(0)} {
			same := v.Kind == want.Kind && bytes.Equal(v.Text, want.Text)
			if !same && !malformed(p, msg) {
				t.Fatalf("%s: %q of %q is %d %q, but %d %q of all", p, name, msg, v.Kind, v.Text, want.Kind, want.Text)
			}
			if !bytes.Contains(msg, v.Text) && !bytes.ContainsAny(msg, "\\#\x1b") && p.TextInMessage(name, string(v.Text)) {
				t.Fatalf("%s: %q of %q is %q", p, name, msg, v.Text)
			}
			if len(v.Text) > len(msg) {
				t.Fatalf("%s: %q of %q is longer: %q", p, name, msg, v.Text)
			}
		}
	}
	checkValues(t, p, msg, names)
	p.Leveler().Level(msg)
	if !bytes.Equal(original, msg) {
		t.Fatalf("%q is changed to %q", original, msg)
	}
}

// checkValues checks that Values are those of Value.
func checkValues(t *testing.T, p *parse.Parser, message []byte, names []string) {
	t.Helper()
	slices.Sort(names)
	names = slices.Compact(names)
	s, one := p.Splitter(names...), p.Splitter(names...)
	s.Split(nil, message)
	one.Split(nil, message)
	for i, got := range s.Values() {
		if want := one.Value(i); got.Kind != want.Kind || !bytes.Equal(got.Text, want.Text) {
			t.Fatalf("%s: %q of %q is %d %q of all names, want %d %q", p, names[i], message, got.Kind, got.Text, want.Kind, want.Text)
		}
	}
}

// malformed reports whether package message may find other members than it lists: in an object that is
// none, or in one that is nested very deeply.
func malformed(p *parse.Parser, message []byte) bool {
	if p.String() != "auto/1" {
		return false
	}
	invalid := func(text []byte) bool {
		i := bytes.IndexByte(text, '{')
		return i >= 0 && (!json.Valid(bytes.TrimSpace(text[i:])) || bytes.Count(text, []byte("{")) > 8)
	}
	if invalid(message) {
		return true
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(message, &members) != nil {
		return false
	}
	for _, value := range members { // a line that it wraps
		var text string
		if json.Unmarshal(value, &text) == nil && invalid([]byte(text)) {
			return true
		}
	}
	return false
}

func FuzzAuto(f *testing.F) {
	for _, line := range samples() {
		f.Add([]byte(line))
		f.Add([]byte(line[:len(line)/2]))
		f.Add([]byte(line + " …[logstow: cut 9 bytes]"))
	}
	f.Add([]byte("192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] \"\xff\x00\\x1\" 4"))
	f.Add([]byte("\n0[00/000/0000:00000000 00000]"))
	f.Add([]byte(`[0000-00-00T00:] "A"       "" "0" 0`))
	for _, line := range samples() {
		wrapped, err := json.Marshal(map[string]string{"log": line, "status": "outer"})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wrapped)
		f.Add(wrapped[:len(wrapped)/2])
	}
	p := parse.Auto()
	f.Fuzz(func(t *testing.T, message []byte) {
		checkSplitter(t, p, message)
	})
}

// Every beginning of a line of each format has the fields of the line that are complete in it.
func TestCutOff(t *testing.T) {
	t.Parallel()
	p := parse.Auto()
	for format, line := range samples() {
		if format == "json" || format == "message" || format == "logfmt" || format == "text" {
			continue
		}
		whole := fieldsOf(p, []byte(line))
		most := 0
		for end := 60; end <= len(line); end++ { // fewer bytes may not be recognized
			for _, mark := range []string{"", " …[logstow: cut 9 bytes]"} {
				part := append([]byte(line[:end]), mark...)
				checkSplitter(t, p, part)
				found := fieldsOf(p, part)
				for name, v := range found {
					if want := whole[name].Text; !bytes.Equal(v.Text, want) && !mayEnd(format, name, mark != "") {
						t.Errorf("%s: %q of %s is %q, want %q", format, name, part, v.Text, want)
					}
				}
				most = max(most, len(found))
			}
		}
		if most < len(whole) || most < 8 {
			t.Errorf("%s: at most %d fields of %d", format, most, len(whole))
		}
	}
}

// mayEnd reports whether the line of a format may end with a field, so that it is one even if it
// is cut off.
func mayEnd(format, name string, marked bool) bool {
	switch name {
	case "message", "pod", "status": // what a message contains is not of the format
		return format == "klog"
	case "bytes", "duration", "rt", "req_id", "conn_trace_id":
		return !marked
	case "bytes_received", "bytes_sent": // what ingress-nginx writes begins as Apache's combinedio
		return !marked && format == "ingress"
	}
	return false
}
