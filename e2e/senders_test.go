package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"logstow/internal/test/await"
	"logstow/internal/test/testpki"
)

// sent is how many records each sender sends.
const sent = 300

// sender is a program that is not ours and sends to one input of a shipper.
type sender struct {
	// name is the service that it sends to.
	name string
	// input is its input in the configuration file.
	input string
	// send starts it; it sends to an address.
	send func(s *sending, address string)
	// want are its messages.
	want func(name string, i int) string
}

// sending is the run of a sender.
type sending struct {
	t    *testing.T
	name string
	pki  *testpki.PKI
	file string // the lines to be sent
}

// missing ends a test whose sender is not installed: as skipped, or as failed where
// senders are required.
func missing(t *testing.T, what, remedy string) {
	t.Helper()
	if os.Getenv("LOGSTOW_REQUIRE_SENDERS") != "" {
		t.Fatalf("no %s: %s", what, remedy)
	}
	t.Skipf("skipped: no %s here: %s", what, remedy)
}

// command is the path of a program of Debian.
func (s *sending) command(name string) string {
	s.t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(s.t, name, "input/syslog/testdata/install-senders installs it")
	}
	return path
}

// example is a named block of the documentation of syslog, with our addresses and files in it.
func (s *sending) example(name, address string) string {
	s.t.Helper()
	page, err := os.ReadFile("../docs/inputs/syslog.md")
	if err != nil {
		s.t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)<!-- " + regexp.QuoteMeta(name) + " -->\n```[a-z]*\n(.*?)```\n").FindSubmatch(page)
	if m == nil {
		s.t.Fatalf("docs/inputs/syslog.md has no example %q", name)
	}
	port := address[strings.LastIndexByte(address, ':')+1:]
	return strings.NewReplacer("5514", port, "6514", port, "/var/log/app.log", s.file, "/etc/logstow", s.pki.Path("")).Replace(string(m[1]))
}

// daemon runs a program until the test ends.
func (s *sending) daemon(name string, args ...string) {
	s.t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(s.t.Context()), name, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		timer := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		timer.Stop()
		if s.t.Failed() {
			s.t.Logf("%s: %s", name, out.Bytes())
		}
	})
}

// configured writes a configuration and returns its path and an empty directory.
func (s *sending) configured(text string) (path, dir string) {
	s.t.Helper()
	dir = s.t.TempDir()
	path = filepath.Join(dir, "conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path, dir
}

// logger sends with the commands of the documentation that have a flag.
func logger(flag string) func(*sending, string) {
	return func(s *sending, address string) {
		s.command("logger")
		for command := range strings.Lines(s.example("logger", address)) {
			if !strings.Contains(command, flag) {
				continue
			}
			if out, err := exec.CommandContext(s.t.Context(), "sh", "-c", command).CombinedOutput(); err != nil {
				s.t.Fatalf("%s%v: %s", command, err, out)
			}
			return
		}
		s.t.Fatalf("docs/inputs/syslog.md has no example of logger with %s", flag)
	}
}

func rsyslog(s *sending, address string) {
	path, dir := s.configured("global(workDirectory=\"" + s.t.TempDir() + "\")\nmodule(load=\"imfile\")\n" +
		"input(type=\"imfile\" file=\"" + s.file + "\" tag=\"app[1]:\" severity=\"info\")\n" + s.example(s.name, address))
	s.daemon(s.command("rsyslogd"), "-n", "-f", path, "-i", filepath.Join(dir, "pid"))
}

func syslogNG(s *sending, address string) {
	path, dir := s.configured("@version: 3.35\nsource app { file(\"" + s.file + "\" flags(no-parse) program-override(\"app\") default-level(\"info\")); };\n" +
		s.example(s.name, address) + "\nlog { source(app); destination(logstow); };\n")
	s.daemon(s.command("syslog-ng"), "-F", "--no-caps", "-f", path, "--persist-file", filepath.Join(dir, "persist"),
		"--control", filepath.Join(dir, "ctl"), "--pidfile", filepath.Join(dir, "pid"))
}

// node sends with a script of an input's tests and a library of testdata/senders.
func node(script, library string, kind func(address string) []string) func(*sending, string) {
	return func(s *sending, address string) {
		senders, err := filepath.Abs("../testdata/senders")
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := exec.LookPath("node"); err != nil {
			missing(s.t, "node", "install Node.js")
		}
		if _, err := os.Stat(filepath.Join(senders, "node_modules", library)); err != nil {
			missing(s.t, library, "run npm ci in testdata/senders")
		}
		ctx, cancel := context.WithTimeout(s.t.Context(), patience)
		defer cancel()
		args := append([]string{script, senders}, append(kind(address), fmt.Sprint(sent))...)
		if out, err := exec.CommandContext(ctx, "node", args...).CombinedOutput(); err != nil || len(out) > 0 {
			s.t.Fatalf("node %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
}

func openTelemetry(kind, path string) func(*sending, string) {
	return node("../input/otlp/testdata/send.cjs", "@opentelemetry/sdk-logs", func(address string) []string {
		return []string{kind, "http://" + address + path}
	})
}

func fluent(s *sending, address string) {
	node("../input/forward/testdata/send.cjs", "@fluent-org/logger", func(address string) []string {
		return []string{"PackedForward", address}
	})(s, address)
}

// sentLine is a line of the files that syslog senders send.
func sentLine(name string, i int) string {
	return fmt.Sprintf("%s line %d: ünïcode {\"a\": [%d]} <13> 12 \\n %%s", name, i, i)
}

func telemetryRecord(_ string, i int) string {
	return fmt.Sprintf("order %d \"failed\" ✓\n  at line", i)
}

func fluentRecord(_ string, i int) string {
	return fmt.Sprintf(`{"log":"order %d \"failed\" ✓\n  at line","level":"error","order":{"id":%d,"ratio":0.5,"ok":false,"tags":["a","b"]}}`, i, i)
}

func onOneLine(message string) string { return strings.ReplaceAll(message, "\n", `\n`) }

// messages returns the messages of records in JSON, each on one line.
func messages(t *testing.T, records []byte) []byte {
	t.Helper()
	var all bytes.Buffer
	for l := range bytes.Lines(records) {
		var r struct{ Message string }
		if err := json.Unmarshal(l, &r); err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		fmt.Fprintln(&all, onOneLine(r.Message))
	}
	return all.Bytes()
}

// Senders that share no code with us deliver to one shipper, each to an input of
// its own: the same records come out, each once.
func TestSenders(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	pki := testpki.New(t)
	const udp, tcp = `syslog: "udp://:0"`, `syslog: "tcp://:0"`
	tls := fmt.Sprintf("%s\n    tls: { cert: %s, key: %s, client-ca: %s }", tcp, pki.Path("server.pem"), pki.Path("server.key"), pki.Path("ca.pem"))
	const http = `http: ":0"`
	all := []sender{
		{"logger-udp", udp, logger("--udp --rfc5424"), sentLine},
		{"logger-tcp", tcp, logger("--octet-count"), sentLine},
		{"rsyslog-udp", udp, rsyslog, sentLine},
		{"rsyslog-tcp", tcp, rsyslog, sentLine},
		{"rsyslog-tls", tls, rsyslog, sentLine},
		{"syslog-ng-udp", udp, syslogNG, sentLine},
		{"syslog-ng-tcp", tcp, syslogNG, sentLine},
		{"syslog-ng-tls", tls, syslogNG, sentLine},
		{"otel-json", http, openTelemetry("http-json", "/v1/logs"), telemetryRecord},
		{"otel-protobuf", http, openTelemetry("http-proto", "/v1/logs"), telemetryRecord},
		{"otel-grpc", http, openTelemetry("grpc", ""), telemetryRecord},
		{"fluent-forward", `forward: ":0"`, fluent, fluentRecord},
	}
	p, addresses := r.listen(all)
	t.Run("send", func(t *testing.T) {
		for i, c := range all {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				var lines strings.Builder
				want := map[string]bool{}
				for n := range sent {
					fmt.Fprintln(&lines, sentLine(c.name, n))
					want[onOneLine(c.want(c.name, n))] = true
				}
				s := &sending{t: t, name: c.name, pki: pki}
				s.file, _ = s.configured(lines.String())
				c.send(s, addresses[i])
				var got result
				defer func() { // also if not all is found in time: this tells what is lost
					if unique(t, want, messages(t, got.out)); t.Failed() {
						t.Logf("logq ended with status %d, standard error:\n%s", got.status, got.errs)
					}
				}()
				await.Until(t, patience, "all is found", func() bool {
					// Until something is stored there is nothing to query.
					got = r.command(t, nil, "logq", "query", "-s", c.name, "--from", "2020-01-01", "--to", "2100-01-01", "-o", "json", "--no-cache")
					return bytes.Count(got.out, []byte("\n")) >= sent
				})
			})
		}
	})
	p.signal(t, syscall.SIGTERM)
	p.end(t, patience)
	if p.status() != 0 {
		t.Errorf("the shipper ended with status %d, output:\n%s", p.status(), p.tail())
	}
}

// listen starts a shipper that has an input for each sender, and returns their addresses.
func (r *rig) listen(all []sender) (p *process, addresses []string) {
	r.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "store: %s\nflush-interval: 200ms\nbuffer: { dir: %s }\ninputs:\n", r.store, r.buffer)
	for _, s := range all {
		fmt.Fprintf(&b, "  - %s\n    service: %s\n", s.input, s.name)
	}
	file := filepath.Join(r.root, "shipper.yaml")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		r.t.Fatal(err)
	}
	p = r.start(plain(), nil, "run", "--config", file)
	await.Until(r.t, patience, "it starts", p.started)
	for l := range strings.Lines(p.output()) {
		var said struct{ Msg, Address string }
		if json.Unmarshal([]byte(l), &said) == nil && said.Msg == "listening" {
			addresses = append(addresses, said.Address)
		}
	}
	if len(addresses) != len(all) {
		r.t.Fatalf("%d inputs listen of %d:\n%s", len(addresses), len(all), p.tail())
	}
	return p, addresses
}
