package process_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/testrand"
	"logstow/process"
	"logstow/record"
	"logstow/record/attributes"
)

func text(name, value string) attributes.Member {
	return attributes.Member{Name: name, Value: attributes.AppendText(nil, value)}
}

func encoded(own ...attributes.Member) []byte {
	b, _ := (&attributes.Set{Own: own}).Append(nil)
	return b
}

// Secrets are found in values as they were before they were encoded, and by the names of their attributes.
func TestRedactAttributes(t *testing.T) {
	t.Parallel()
	p := newProcessor(t, process.Options{Redact: []string{"all"}, Replace: []process.Replacement{
		{Regexp: regexp.MustCompile(`ssn=\d+`), With: "ssn=***"}, {Regexp: regexp.MustCompile(`(?i)token=\S+`)}, {Regexp: regexp.MustCompile(`^(\d)\d$`), With: "${1}x"},
	}})
	for _, c := range []struct{ in, want string }{
		{`{"a":"x"}`, `{"a":"x"}`},
		{`{"db.password":"a;b \"c"}`, `{"db.password":"[redacted:connection-string]"}`},
		{`{"DB_PASSWORD":1234,"password":"","pwd":null,"pwds":"x","secret":"[redacted]"}`, `{"DB_PASSWORD":"[redacted:connection-string]","password":"","pwd":null,"pwds":"x","secret":"[redacted]"}`},
		{`{"password":{"$bytes":"/w=="}}`, `{"password":"[redacted:connection-string]"}`},
		{`{"password":["a",{"pwd":"b","x":"c"}]}`, `{"password":["[redacted:connection-string]",{"pwd":"[redacted:connection-string]","x":"c"}]}`},
		{`{"raw":{"$bytes":"/3B3ZD1odW50ZXIyIA=="}}`, `{"raw":{"$bytes":"/3B3ZD1bcmVkYWN0ZWQ6Y29ubmVjdGlvbi1zdHJpbmddIA=="}}`}, // \xffpwd=hunter2
		{`{"resource":{"process.command_args":["x","Password=y"]},"scope":{"bearer":"abcdefgh"}}`, `{"resource":{"process.command_args":["x","Password=[redacted:connection-string]"]},"scope":{"bearer":"[redacted:bearer]"}}`},
		{`{"http.request.header.authorization":["Bearer abcdefgh"],"url":"a://b:c@d?design=1","z":"sig=` + signature + `"}`, `{"http.request.header.authorization":["Bearer [redacted:bearer]"],"url":"a://b:[redacted:url-password]@d?design=1","z":"sig=[redacted:sas]"}`},
		{`{"azure.sig":"` + signature + `","design":"short"}`, `{"azure.sig":"[redacted:sas]","design":"short"}`},
		{`{"json":"{\"pan\":4111111111111111}","pan":4111111111111111}`, `{"json":"{\"pan\":\"[redacted:card]\"}","pan":"[redacted:card]"}`},
		{`{"span_id":"4111111111111111","trace_id":"not hex 4111111111111111"}`, `{"span_id":"4111111111111111","trace_id":"not hex [redacted:card]"}`},
		{`{"api-token":"x y","ssn":123,"t":"ssn=7 ssn=8"}`, `{"api-token":"[redacted] y","ssn":"***","t":"ssn=*** ssn=***"}`},
		{`{"n":"42","o":"421"}`, `{"n":"4x","o":"421"}`},
		{`{"newline":"a\nPassword=b\nc"}`, `{"newline":"a\nPassword=[redacted:connection-string]\nc"}`},
	} {
		was := []byte(c.in)
		r := record.Record{Message: []byte("m"), Attributes: was}
		if !attributes.Valid(was) || !p.Process("x", &r) || string(r.Attributes) != c.want || string(was) != c.in || !attributes.Valid(r.Attributes) {
			t.Errorf("in   %s\n got %s\nwant %s", c.in, r.Attributes, c.want)
		}
		again := record.Record{Attributes: r.Attributes}
		if p.Process("x", &again); string(again.Attributes) != c.want {
			t.Errorf("again: %s", again.Attributes)
		}
	}
}

// A kind counts once for a record.
func TestAttributesCount(t *testing.T) {
	t.Parallel()
	var stats process.Stats
	o := &observer{enabled: true}
	p := newProcessor(t, process.Options{Stats: &stats, Redact: []string{"card", "connection-string"}, Replace: []process.Replacement{{Regexp: regexp.MustCompile("x")}}, Observer: o})
	const card = "4111111111111111"
	r := record.Record{Message: []byte(card), Attributes: encoded(text("a", card), text("b", card+" x x"), text("pwd", "y"), text("x", "x"))}
	p.Process("x", &r)
	if diff := cmp.Diff(map[string]int64{"redact:card": 1, "redact:connection-string": 1, "redact:regexp": 1, "drop": 0, "keep": 0}, stats.Counts()); diff != "" {
		t.Error(diff)
	}
	if len(o.seen) != 1 || !strings.HasSuffix(o.seen[0], `["card" "regexp" "connection-string"] `) {
		t.Errorf("%q", o.seen)
	}
}

// No secret stays in attributes, wherever it stands; they stay valid and within the limits.
func TestSecretsDoNotStayInAttributes(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	p := newProcessor(t, process.Options{Redact: []string{"all"}})
	for range 5000 {
		core, secret := secret(rnd)
		value := attributes.AppendText(nil, from(rnd, " \n\"\xff", rnd.IntN(2))+secret)
		switch rnd.IntN(3) {
		case 0:
			value = attributes.AppendArray(nil, [][]byte{value, value})
		case 1:
			value, _ = attributes.AppendMap(nil, []attributes.Member{{Name: from(rnd, letters, 3), Value: value}})
		}
		set := attributes.Set{Own: []attributes.Member{text("other", "x")}}
		if member := (attributes.Member{Name: "k." + from(rnd, letters, 3), Value: value}); rnd.IntN(2) == 0 {
			set.Own = append(set.Own, member)
		} else {
			set.Resource = attributes.NewGroup([]attributes.Member{member})
		}
		was, _ := set.Append(nil)
		r := record.Record{Attributes: bytes.Clone(was)}
		p.Process("x", &r)
		if !attributes.Valid(r.Attributes) {
			t.Fatalf("%s became %s", was, r.Attributes)
		}
		attributes.Rewrite(r.Attributes, func(name, value []byte) []byte {
			if strings.Contains(string(value), core) {
				t.Fatalf("%q stays in %s=%s", core, name, value)
			}
			return value
		})
	}
}

// Rules see the message and attributes after redaction, also those that are removed then.
func TestRulesOfAttributes(t *testing.T) {
	t.Parallel()
	p := newProcessor(t, process.Options{
		Redact: []string{"card"}, Parse: "", Instance: "i1",
		Drop: []process.Rule{
			{Where: `http.route == "/healthz" and level < "warn"`},
			{Where: `status >= 600 and instance == "i1" and service == "shop" and source == "src"`},
			{Contains: []string{"noise"}},
			{Regexp: regexp.MustCompile(`^exact$`)},
			{Where: `card == "[redacted:card]"`},
		},
		Keep:   []process.Rule{{Where: `attribute.k8s.namespace != "kube-system" or not has(attribute.k8s.namespace)`}},
		Sample: []process.Sample{{Rule: process.Rule{Where: `message == "often"`}, OneIn: 2}}, DropAttributes: []string{"k8s.*"},
	})
	for _, c := range []struct {
		level               record.Level
		attributes, message string
		want                string
	}{
		{record.Info, `{"http.route":"/healthz"}`, "x", ""},
		{record.Warn, `{"http.route":"/healthz"}`, "x", `{"http.route":"/healthz"}`},
		{record.Info, `{"http.route":"/other"}`, `{"http.route":"/healthz"}`, `{"http.route":"/other"}`},
		{record.Info, `{"status":601}`, "x", ""},
		{record.Info, ``, "status=602", ""},
		{record.Info, `{"l":["a","some noise"]}`, "x", ""},
		{record.Info, `{"noise":1}`, "x", `{"noise":1}`},
		{record.Info, `{"resource":{"a":"exact"}}`, "x", ""},
		{record.Info, `{"card":4111111111111111}`, "x", ""},
		{record.Info, `{"resource":{"k8s.namespace":"kube-system"}}`, "x", ""},
		{record.Info, `{"resource":{"k8s.namespace":"shop"}}`, "x", "-"},
		{record.Info, `{"a":1}`, "often", `{"a":1}`},
		{record.Info, `{"a":1}`, "often", ""},
	} {
		r := record.Record{Level: c.level, Source: "src", Message: []byte(c.message), Attributes: []byte(c.attributes)}
		got := ""
		if p.Process("shop", &r) {
			if got = string(r.Attributes); got == "" {
				got = "-"
			}
		}
		if got != c.want {
			t.Errorf("%s %s: %q, want %q", c.attributes, c.message, got, c.want)
		}
	}
	for want, opts := range map[string]process.Options{
		"drop: where a ==:":       {Drop: []process.Rule{{Where: "a =="}}},
		"keep: where time >":      {Keep: []process.Rule{{Where: `time > "-1h"`}}},
		"where (:":                {Sample: []process.Sample{{Rule: process.Rule{Where: "("}, OneIn: 2}}},
		"is not a glob":           {KeepAttributes: []string{""}},
		"is not a glob of names:": {DropAttributes: []string{strings.Repeat("*", 2000)}},
	} {
		if _, err := process.New(opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Rules of one processor may be evaluated at the same time.
func TestConcurrentConditions(t *testing.T) {
	t.Parallel()
	p := newProcessor(t, process.Options{Drop: []process.Rule{{Where: "n == 1"}, {Where: "n == 3 or m == 3"}}})
	t.Run("all", func(t *testing.T) {
		for i := range 4 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for range 2000 {
					r := record.Record{Attributes: fmt.Appendf(nil, `{"n":%d}`, i)}
					if p.Process("x", &r) != (i%2 == 0) {
						t.Fatalf("%d", i)
					}
				}
			})
		}
	})
}

// FuzzAttributes shows that no attributes make processing fail, and that valid ones stay valid.
func FuzzAttributes(f *testing.F) {
	f.Add([]byte(`{"$cut":2,"a":[1,{"password":"\n"}],"c":{"$bytes":"/w=="},"resource":{"sig":"` + signature + `","x":true}}`))
	p := newProcessor(f, process.Options{
		Redact: []string{"all"}, Replace: []process.Replacement{{Regexp: regexp.MustCompile(`a=.|b*`), With: "<\t$0>"}}, DropAttributes: []string{"c*"},
		Drop: []process.Rule{{Contains: []string{"never seen"}, Regexp: regexp.MustCompile("x"), Where: "c == 1"}},
	})
	f.Fuzz(func(t *testing.T, text []byte) {
		r := record.Record{Attributes: bytes.Clone(text)}
		valid := attributes.Valid(text)
		p.Process("x", &r)
		if valid && len(r.Attributes) > 0 && !attributes.Valid(r.Attributes) && string(r.Attributes) != "{}" {
			t.Errorf("%s became %s", text, r.Attributes)
		}
	})
}

// Attributes become labels after others were removed, also without any other processing.
func TestLabelAttributes(t *testing.T) {
	t.Parallel()
	for want, opts := range map[string]process.Options{
		`{"resource":{"host":"h"},"stream":{"team":"a"}}`: {LabelAttributes: []string{"team"}},
		`{"resource":{"host":"h"}}`:                       {LabelAttributes: []string{"team"}, DropAttributes: []string{"team"}},
	} {
		r := record.Record{Message: []byte("x"), Attributes: []byte(`{"resource":{"host":"h"},"team":"a"}`)}
		if !newProcessor(t, opts).Process("shop", &r) || string(r.Attributes) != want {
			t.Errorf("%s, want %s", r.Attributes, want)
		}
	}
}
