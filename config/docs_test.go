package config_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"logstow/config"
	"logstow/internal/testpki"
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
	if len(c.Inputs) != 4 || c.Inputs[1].Class != "audit" || c.Inputs[2].Kind != config.KindSyslog || c.Inputs[3].Service != "shop" {
		t.Errorf("%+v", c)
	}
}

// Every key that is known is documented: a key that is like none makes the message tell all.
func TestKeysAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const unlike = "0000000000000000000000000000000000000000: 1"
	known := regexp.MustCompile(`known here are (.*)`)
	seen := 0
	for _, yaml := range []string{
		unlike, "buffer: { " + unlike + " }",
		"inputs: [ { files: a, " + unlike + " } ]", "inputs: [ { stdin: true, " + unlike + " } ]",
		"inputs: [ { syslog: 'udp://:1', " + unlike + " } ]", "inputs: [ { forward: ':1', " + unlike + " } ]",
		"inputs: [ { http: ':1', " + unlike + " } ]", "inputs: [ { journald: true, " + unlike + " } ]",
		"inputs: [ { files: a, multiline: { " + unlike + " } } ]",
		"inputs: [ { files: a, redact-regexps: [ { " + unlike + " } ] } ]",
		"inputs: [ { files: a, drop: [ { " + unlike + " } ] } ]",
		"inputs: [ { files: a, sample: [ { " + unlike + " } ] } ]",
	} {
		_, err := parse(yaml)
		if err == nil {
			t.Fatalf("%s is taken", yaml)
		}
		list := known.FindStringSubmatch(err.Error())
		if list == nil {
			t.Fatalf("%s: %v", yaml, err)
		}
		for key := range strings.SplitSeq(list[1], ", ") {
			seen++
			if !strings.Contains(string(text), "`"+key+"`") && !strings.Contains(string(text), "`"+key+":") && key != "regexp" && key != "with" {
				t.Errorf("%s is not documented (%s)", key, yaml)
			}
		}
	}
	if seen < 60 {
		t.Errorf("only %d keys were seen", seen)
	}
}
