package config_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"logstow/config"
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
	cert, key := certificate(t)
	yaml := strings.NewReplacer("/etc/logstow/tls.crt", cert, "/etc/logstow/tls.key", key).Replace(string(example[1]))
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

// certificate makes one that signs itself.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)}, &x509.Certificate{}, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	privateDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("tls.crt", "CERTIFICATE", der), write("tls.key", "PRIVATE KEY", privateDER)
}
