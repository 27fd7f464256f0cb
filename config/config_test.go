package config_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/buffer"
	"logstow/config"
	"logstow/input"
	"logstow/input/container"
	"logstow/input/files"
	"logstow/input/forward"
	"logstow/input/journald"
	"logstow/input/kinds"
	"logstow/internal/hint"
)

func env(name string) (string, bool) {
	v, ok := map[string]string{"POD": "pod-7", "EMPTY": "", "SERVICE": "api"}[name]
	return v, ok
}

func secrets(path string) ([]byte, error) {
	if path == "/run/key" {
		return []byte("canary-secret\n"), nil
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

func parse(text string) (*config.Config, error) {
	return config.Parse("shipper.yaml", []byte(text), env, secrets)
}

func TestParse(t *testing.T) {
	t.Parallel()
	c, err := parse(`
store: azblob://logs
instance: ${POD}
service: ${SERVICE}
class: ${CLASS:-audit}
parse: pattern <ip> <_>
time-zone: Europe/Berlin
flush-interval: 30s
flush-size: 4MiB
bucket: 30m
redact: [bearer]
attributes: { drop: [host.*] }
buffer: { mode: disk, size: 2GiB, sync: always, on-full: drop-oldest }
inputs:
  - files: /var/log/app/*.log
    exclude: ["*.gz"]
    name: app
    from-start: true
    multiline: auto
    redact: all
    drop:
      - level: debug
      - contains: [healthz, "GET /ready"]
        regexp: ^x$
        where: status < 400 and http.route == "/"
    attributes: { keep: "http.*", drop: [http.x], labels: [http.route] }
    sample: { level: info, one-in: 10 }
    levels: { E: error, "30": info }
  - files: [/var/log/containers/*.log]
    service: "{namespace}.{container}"
    format: cri
    parse: none
    multiline: { start: '^\d{4}-', timeout: 2s, max-lines: 50 }
  - syslog: udp://:5140
    service: net
    time-from: line
  - forward: :24224
    shared-key: ${file:/run/key}
    users: { ann: "pa$$word" }
  - http: :4318
    service-from-resource: yes
  - journald: true
    units: [ssh.service]
  - stdin: true
    multiline: { timeout: 3s }
`)
	if err != nil {
		t.Fatal(err)
	}
	if c.Instance != "pod-7" || c.FlushInterval != 30*time.Second || c.FlushSize != 4<<20 || c.BufferSize != 2<<30 || c.OnFull != buffer.DropOldest {
		t.Errorf("%+v", c)
	}
	if len(c.Inputs) != 7 {
		t.Fatalf("%d inputs", len(c.Inputs))
	}
	app := c.Inputs[0]
	if app.Kind().Name != "files" || app.Service != "api" || app.Class != "audit" || app.Zone.String() != "Europe/Berlin" || !app.Multiline.Auto ||
		!app.FromStart || app.Spec.(*files.Spec).Name != "app" || app.Line != 15 {
		t.Errorf("%+v", app)
	}
	if diff := cmp.Diff([]string{"all"}, app.Process.Redact); diff != "" {
		t.Error(diff)
	}
	if len(app.Process.Drop) != 2 || app.Process.Drop[1].Regexp == nil || app.Process.Sample[0].OneIn != 10 || app.Rules.Levels["30"] != "info" {
		t.Errorf("%+v", app.Process)
	}
	if app.Process.Drop[1].Where == "" || !slices.Equal(app.Process.KeepAttributes, []string{"http.*"}) || !slices.Equal(app.Process.DropAttributes, []string{"host.*", "http.x"}) ||
		!slices.Equal(app.Process.LabelAttributes, []string{"http.route"}) {
		t.Errorf("%+v", app.Process)
	}
	pods := c.Inputs[1]
	if !slices.Equal(pods.Process.DropAttributes, []string{"host.*"}) || pods.Process.KeepAttributes != nil || pods.Process.LabelAttributes != nil {
		t.Errorf("%+v", pods.Process)
	}
	if pods.Service != "{namespace}.{container}" || pods.Format != container.CRI || pods.Parse != "none/1" || app.Parse != "pattern/1 '<ip> <_>'" || pods.Multiline.Start == nil || pods.Multiline.MaxLines != 50 {
		t.Errorf("%+v", pods)
	}
	if m := c.Inputs[6].Multiline; !m.Auto || m.Timeout != 3*time.Second || pods.Multiline.Auto || !c.Inputs[2].Multiline.Auto {
		t.Errorf("%+v %+v", m, pods.Multiline)
	}
	if diff := cmp.Diff([]string{"bearer"}, pods.Process.Redact); diff != "" {
		t.Error(diff)
	}
	if f := c.Inputs[3].Spec.(*forward.Spec); f.SharedKey != "canary-secret" || f.Users["ann"] != "pa$word" {
		t.Errorf("%+v", f)
	}
	if c.Inputs[2].TimeFrom != input.TimeLine || c.Inputs[3].TimeFrom != input.TimeDefault {
		t.Errorf("%+v", c.Inputs[2:4])
	}
	if !c.Inputs[4].Spec.(*kinds.HTTP).ServiceFromResource || c.Inputs[4].Address != ":4318" || c.Inputs[2].Address != "udp://:5140" {
		t.Errorf("%+v", c.Inputs)
	}
	if c.Inputs[5].Spec.(*journald.Spec).Units[0] != "ssh.service" || c.Inputs[6].Kind().Name != "stdin" {
		t.Errorf("%+v", c.Inputs[5:])
	}
}

// An input with several addresses is one input for each of them.
func TestAddresses(t *testing.T) {
	t.Parallel()
	c, err := parse(`
service: web
inputs:
  - http: [127.0.0.1:4318, "[::1]:4318"]
    users: { ann: "${file:/run/key}" }
    tokens: ["${POD}", t2]
  - forward: [:24224, :24225]
    dedupe-chunks: off
  - syslog: udp://:514
  - gelf: [udp://:12201, tcp://:12201]
`)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, in := range c.Inputs {
		all = append(all, in.String())
	}
	if diff := cmp.Diff([]string{"http at 127.0.0.1:4318", "http at [::1]:4318", "forward at :24224", "forward at :24225", "syslog at udp://:514", "gelf at udp://:12201", "gelf at tcp://:12201"}, all); diff != "" {
		t.Error(diff)
	}
	if in := c.Inputs[1].Spec.(*kinds.HTTP); in.Login.Users["ann"] != "canary-secret" || len(in.Login.Tokens) != 2 || in.Login.Tokens[0] != "pod-7" {
		t.Errorf("%+v", in)
	}
	if !c.Inputs[3].Spec.(*forward.Spec).KeepRepeated {
		t.Errorf("%+v", c.Inputs[3])
	}
	c, err = parse("store: s\nservice: web\ninputs: [{http: ':1', store: x}, {http: ':2', service-from-labels: off}, {http: ':3', store: x, service-from-labels: off}, {http: ':4'}]")
	if err != nil || !c.Inputs[0].Spec.(*kinds.HTTP).ConfiguredService || !c.Inputs[1].Spec.(*kinds.HTTP).ConfiguredService || !c.Inputs[2].Spec.(*kinds.HTTP).ConfiguredService || c.Inputs[3].Spec.(*kinds.HTTP).ConfiguredService {
		t.Errorf("%v %+v", err, c)
	}
	_, err = parse("service: web\ninputs: [{http: ':1', store: x, service-from-labels: on}]")
	if err == nil || !strings.Contains(err.Error(), "an input with service-from-labels or service-from-resource cannot have its own store") {
		t.Error(err)
	}
	_, err = parse("service: web\ninputs: [{http: []}, {http: [x, ':1'], users: {ann: ''}, tokens: ['']}, {forward: ':1', users: {bob: ''}}]")
	for _, want := range []string{"http: want an address", `http: "x": want HOST:PORT`, "the password of ann is empty", "a token is empty", "the password of bob is empty"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("not reported: %s in %v", want, err)
		}
	}
}

// Everything that is wrong is reported at once, in the order of the file.
// Two lines are the least that can be joined.
func TestMultilineMaxLines(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{1: false, 2: true} {
		c, err := parse(fmt.Sprintf("store: a\ninputs:\n  - files: /a\n    multiline: {max-lines: %d}\n", n))
		if (err == nil) != want || want && c.Inputs[0].Multiline.MaxLines != n {
			t.Errorf("%d: %v", n, err)
		}
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	_, err := parse(`store: azblob://logs
instance: "a/b"
flush-intervall: 30s
flush-size: many
bucket: 7m
buffer:
  mode: tape
  sise: 1GiB
time-zone: Nowhere/Land
class: A
parse: pattern '<a><b>'
store: again
inputs:
  - files: /a
    syslog: udp://:1
  - paths: /b
  - syslog: ftp://:1
    multiline: "("
    sample: { level: info }
    drop: [{}, { where: 'time > "-1h"' }]
    keep: { where: "a ==" }
    attributes: { drop: [""], lables: x }
  - http: ${MISSING}
    tls: { cert: x }
  - forward: :1
    shared-key: ${file:/nowhere}
    time-from: header
    service: "{pod}"
  - gelf: unix:///x
  - files: /c
    service: plain
    pod-metadata: { node: n }
  - 17
`)
	want := `shipper.yaml:2:11: instance: "a/b": want 1 to 128 of A-Z a-z 0-9 . _ -
shipper.yaml:3:1: unknown key flush-intervall; did you mean flush-interval?
shipper.yaml:4:13: flush-size: "many" is not a size (write 8MiB, 500KB or a number of bytes)
shipper.yaml:5:9: bucket: "7m": want 5m, 10m, 15m, 20m, 30m or 60m
shipper.yaml:7:9: mode: "tape": want disk or memory
shipper.yaml:8:3: unknown key sise; did you mean size?
shipper.yaml:9:12: time-zone: unknown time zone Nowhere/Land
shipper.yaml:10:8: class: "A": want at most 24 of a-z and 0-9
shipper.yaml:11:8: parse: no text between capture <b> and the capture before it (at character 13)
shipper.yaml:12:1: duplicate key store`
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v\nwant\n%s", err, want)
	}
	for _, want := range []string{
		"an input has exactly one kind, not files and syslog", "an input requires one of files, forward, ", "missing closing )",
		"must start with udp:// or tcp://", "labels or annotations is missing", "pod-metadata requires a service pattern",
		"one-in is missing", "level, contains, regexp or where is missing", "the variable MISSING is not set", "TLS requires a certificate and a key",
		"/nowhere: file does not exist", "a pattern of paths requires a files input", "want keys and values here", "ftp",
		"where: time cannot be used", "where: unexpected end", `"" is not a glob of names`, "unknown key lables",
		`time-from: "header": want auto, line or protocol`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("not reported: %s", want)
		}
	}
	if err != nil && testing.Verbose() {
		t.Log("\n" + err.Error())
	}
}

// The keys of each kind of input have values that can be read.
func TestKinds(t *testing.T) {
	t.Parallel()
	for _, spec := range kinds.All() {
		value, name := "true", spec.Kind().Name
		if check := spec.Kind().CheckAddress; check != nil {
			if value = ":1"; check(value) != nil {
				value = "udp://:1"
			}
		}
		c, err := parse("service: web\ninputs:\n  - " + name + ": '" + value + "'\n")
		if err != nil || len(c.Inputs) != 1 || c.Inputs[0].Kind().Name != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A key as other programs call it.
func TestOtherNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"path: /var/log/a.log":                 "shipper.yaml:3:5: unknown key path; did you mean files?\n",
		"include: [/var/log/a.log]":            "shipper.yaml:3:5: unknown key include; did you mean files?\n",
		"{files: a.log, paths: b.log}":         "shipper.yaml:3:20: unknown key paths; did you mean files?",
		"{gelf: 'udp://:1', path: /var/a.log}": "unknown key path; valid keys are ",
	} {
		if _, err := parse("store: ./logs\ninputs:\n  - " + text + "\n"); err == nil || !strings.Contains(err.Error()+"\n", want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSyntax(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: [1":                   "shipper.yaml:1:",
		"store: x\n  bad: y":      "shipper.yaml:",
		"store: a\n---\nstore: b": "only one document",
		"x":                       "want keys and values",
		"buffer: &b {sync: 1s}":   "",
		"":                        "",
		"store: *nowhere":         "unknown anchor",
		"store: ${OPEN":           "not closed",
		"store: a$b":              "",
		"<<: {store: x}":          "merge keys",
	} {
		_, err := parse(text)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The only problem of an input of two kinds is that: which other keys are valid is unknown.
func TestTwoKinds(t *testing.T) {
	t.Parallel()
	_, err := parse("service: x\ninputs:\n  - files: /a\n    gelf: udp://:1\n    polling: yes\n    tls: {cert: x}\n  - http: nowhere\n")
	want := `shipper.yaml:4:11: an input has exactly one kind, not files and gelf; write one input for each
shipper.yaml:7:11: http: "nowhere": want HOST:PORT, or :PORT for the loopback interface`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
}

// An address that two inputs have is a mistake of the file, not of another program.
func TestAddressTwice(t *testing.T) {
	t.Parallel()
	_, err := parse("service: x\ninputs:\n  - syslog: [udp://:1, tcp://:1]\n  - gelf: udp://:1\n  - http: 127.0.0.1:0\n  - http: 127.0.0.1:0\n  - http: [\":2\", \":2\"]\n" +
		"  - forward: 127.0.0.1:2\n  - syslog: tcp://127.0.0.1:1\n  - plain: [unix:///run/x, unixgram:///run/x]\n")
	want := `shipper.yaml:4:11: gelf: udp://:1 is also the address of the input in line 3
shipper.yaml:7:11: http: :2 is also the address of the input in line 7
shipper.yaml:8:14: forward: 127.0.0.1:2 is also the address of the input in line 7
shipper.yaml:9:13: syslog: tcp://127.0.0.1:1 is also the address of the input in line 3
shipper.yaml:10:12: plain: unixgram:///run/x is also the address of the input in line 10`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
}

// A tab that indents is forbidden in YAML, elsewhere it is not.
func TestTabs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"buffer:\n\tsize: 1GiB\n":                         "indent line 2 with spaces",
		"inputs:\n  - files: /a\n  \tname: x\n":           "indent line 3 with spaces",
		"service:\tx # \t\n":                              "",
		"inputs:\n  - files: |\n      /a\n      \tb\n":    "",
		"service: \"a\tb\"\nbuffer:\n  sync: x\n size: y": "",
	} {
		_, err := parse(text)
		if got := hint.Of(err); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%q: %v, hint %q, want %q", text, err, got, want)
		}
		if want != "" && !strings.HasPrefix(err.Error(), "shipper.yaml:"+want[len("indent line "):][:1]+":") {
			t.Errorf("%q: %v names another line", text, err)
		}
	}
}

// Editors of Windows save a byte order mark, or UTF-16.
func TestEncodings(t *testing.T) {
	t.Parallel()
	if c, err := parse("\ufeffservice: x\ninputs:\n  - files: /a\n"); err != nil || c.Inputs[0].Service != "x" {
		t.Errorf("with a byte order mark: %v", err)
	}
	if _, err := parse("\xff\xfes\x00e\x00"); err == nil || hint.Of(err) != "save it with the encoding UTF-8" {
		t.Errorf("UTF-16: %v", err)
	}
}

// A secret is never in what is reported.
func TestNoSecretInErrors(t *testing.T) {
	t.Parallel()
	_, err := parse("inputs:\n  - forward: :1\n    shared-key: ${file:/run/key}\n    nonsense: ${file:/run/key}\n    max-connections: ${file:/run/key}\n")
	if err == nil || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	if _, err := config.Read(t.TempDir()+"/none.yaml", env); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "not found") {
		t.Error(err)
	}
}

// A file that is no configuration, such as a large log, is not read into memory.
func TestLargeFile(t *testing.T) {
	t.Parallel()
	large := filepath.Join(t.TempDir(), "app.log")
	small := filepath.Join(t.TempDir(), "shipper.yaml")
	err := errors.Join(os.WriteFile(large, bytes.Repeat([]byte("#\n"), 1<<20), 0o600), os.WriteFile(small, []byte("service: ${file:"+large+"}\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{large, small} {
		if _, err := config.Read(path, env); err == nil || !strings.Contains(err.Error(), large+": larger than 1048576 bytes") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A text that is nested too deep is reported before it is parsed, which would take gigabytes.
func TestNested(t *testing.T) {
	t.Parallel()
	_, err := parse("service: web\ninputs: " + strings.Repeat("[", 100_000))
	if err == nil || err.Error() != "shipper.yaml:2:1: nested more than 1000 deep" {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("store: a\ninputs:\n - files: [x, &a y, *a]\n   multiline: {start: a}\n"))
	f.Add([]byte("a: {b: [c, {d: e}]}\n? x\n: y\n"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = config.Parse("f", data, env, secrets)
	})
}
