package config_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"logstow/internal/test/testpki"
	"logstow/process"
	"logstow/record"
)

const page = "../docs/configuration.md"

// The example of the documentation is taken as it stands, but for its certificates.
func TestDocumentedExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(text)
	if example == nil {
		t.Fatal("no example")
	}
	pki := testpki.New(t)
	yaml := strings.NewReplacer("/etc/logstow/tls.crt", pki.Path("server.pem"), "/etc/logstow/tls.key", pki.Path("server.key")).Replace(string(example[1]))
	c, err := parse(yaml)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Inputs) != 5 || c.Inputs[1].Class != "audit" || c.Inputs[2].Parse == "" || c.Inputs[3].Kind().Name != "syslog" || c.Inputs[4].Service != "shop" {
		t.Errorf("%+v", c)
	}
}

// What the pages about records show is taken as it stands.
func TestDocumentedFragments(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"../docs/processing.md", "../docs/time-and-level.md", "../docs/log-metrics.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		fragments := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
		if len(fragments) == 0 {
			t.Fatalf("%s: no example", page)
		}
		for _, f := range fragments {
			if _, err := parse(string(f[1])); err != nil {
				t.Errorf("%s:\n%s: %v", page, f[1], err)
			}
		}
	}
}

// The expression for secrets in fields of JSON does what is documented.
func TestDocumentedExpression(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/processing.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)by name:\n\n```yaml\n(.*?)```").FindSubmatch(text)
	if example == nil {
		t.Fatal("no example")
	}
	c, err := parse("inputs:\n  - stdin: true\n" + regexp.MustCompile("(?m)^").ReplaceAllString(string(example[1]), "    "))
	if err != nil {
		t.Fatal(err)
	}
	p, err := process.New(c.Inputs[0].Process)
	if err != nil {
		t.Fatal(err)
	}
	r := record.Record{Message: []byte(`{"Password": "a\"b","user":"x","api_key":"k","tokens":"2"}`)}
	if !p.Process("web", &r) || string(r.Message) != `{"Password": "[redacted]","user":"x","api_key":"[redacted]","tokens":"2"}` {
		t.Errorf("%s", r.Message)
	}
}
