package syslog_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"logstow/input/listen"
	"logstow/input/socket"
	"logstow/internal/test/inputtest"
	"logstow/internal/test/testpki"
	"logstow/record"
)

// lines is how many different lines each sender sends.
const lines = 1000

// require returns the path of a sender; without one the test is skipped, or
// fails where senders are required.
func require(t *testing.T, command string) string {
	t.Helper()
	path, err := exec.LookPath(command)
	if err == nil {
		return path
	}
	if os.Getenv("LOGSTOW_REQUIRE_SENDERS") != "" {
		t.Fatalf("%v: testdata/install-senders installs it", err)
	}
	t.Skipf("no %s here: testdata/install-senders installs it", command)
	return ""
}

// example returns a named block of the user documentation.
func example(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/inputs/syslog.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)<!-- " + regexp.QuoteMeta(name) + " -->\n```[a-z]*\n(.*?)```\n").FindSubmatch(page)
	if m == nil {
		t.Fatalf("the documentation has no example %q", name)
	}
	return string(m[1])
}

// place puts this test's ports and files into an example.
func place(text string, s *socket.Server, file string, p *testpki.PKI) string {
	at := s.Addr().String()
	port := at[strings.LastIndexByte(at, ':')+1:]
	pairs := []string{"5514", port, "6514", port, "/var/log/app.log", file, "/run/logstow/log", at}
	if p != nil {
		pairs = append(pairs, "/etc/logstow", p.Path(""))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// file writes the lines to be sent.
func file(t *testing.T) string {
	t.Helper()
	var text bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&text, "line %d: ünïcode {\"a\": [%d]} <13> 12 \\n %%s \x01\n", i, i)
	}
	path := filepath.Join(t.TempDir(), "app.log")
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil { //nolint:gosec // the sender may be another user
		t.Fatal(err)
	}
	return path
}

// check compares what came with the lines of the file. HOST in source is this machine's name.
func check(t *testing.T, records []inputtest.Record, source string) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	seen := make(map[string]int)
	for _, r := range records {
		seen[string(r.Message)]++
		if r.Level != record.Info || time.Since(time.Unix(0, r.Time)).Abs() > time.Hour ||
			!regexp.MustCompile("^"+strings.ReplaceAll(source, "HOST", regexp.QuoteMeta(host)+"[^/]*")+"$").MatchString(r.Source) {
			t.Fatalf("%v %v %q %q", time.Unix(0, r.Time), r.Level, r.Source, r.Message)
		}
	}
	if len(records) != lines || len(seen) != lines {
		t.Errorf("%d records, %d different, %d were sent", len(records), len(seen), lines)
	}
	for i := range lines {
		want := fmt.Sprintf("line %d: ünïcode {\"a\": [%d]} <13> 12 \\n %%s \x01", i, i)
		if seen[want] != 1 {
			t.Fatalf("%d times %q; the first record is %q", seen[want], want, records[0].Message)
		}
	}
}

func TestLogger(t *testing.T) {
	t.Parallel()
	require(t, "logger")
	for command := range strings.Lines(example(t, "logger")) {
		t.Run(strings.TrimSpace(command), func(t *testing.T) {
			t.Parallel()
			var addresses []string
			source := "HOST/app"
			switch {
			case strings.Contains(command, "--socket"):
				addresses = []string{"unix://" + filepath.Join(t.TempDir(), "s"), "unixgram://" + filepath.Join(t.TempDir(), "d")}
				source = "app"
			case strings.Contains(command, "--udp"):
				addresses = []string{"udp://:0"}
			default:
				addresses = []string{"tcp://:0"}
			}
			for _, address := range addresses {
				sink := newSink()
				s, _ := serve(t, socket.Options{Options: options(sink), Endpoint: listen.Endpoint{Address: address}})
				out, err := exec.CommandContext(t.Context(), "sh", "-c", place(command, s, file(t), nil)).CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				check(t, sink.Wait(t, lines), source)
			}
		})
	}
}

// daemon runs a command until the test ends.
func daemon(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		timer.Stop()
		if t.Failed() {
			t.Logf("%s: %s", name, out.Bytes())
		}
	})
}

// transport is a server as an example needs it.
func transport(t *testing.T, name string) (s *socket.Server, sink *inputtest.Sink, p *testpki.PKI) {
	t.Helper()
	sink = newSink()
	opts := socket.Options{Options: options(sink), Endpoint: listen.Endpoint{Address: "tcp://:0"}}
	switch {
	case strings.HasSuffix(name, "-tls"):
		p = testpki.New(t)
		opts.TLS = listen.TLS{Cert: p.Path("server.pem"), Key: p.Path("server.key"), ClientCA: p.Path("ca.pem")}
	case strings.HasSuffix(name, "-udp"):
		opts.Address = "udp://:0"
	}
	s, _ = serve(t, opts)
	return s, sink, p
}

func writeConfig(t *testing.T, text string) (path, dir string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, "conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, dir
}

func TestRsyslog(t *testing.T) {
	t.Parallel()
	command := require(t, "rsyslogd")
	for _, name := range []string{"rsyslog-udp", "rsyslog-tcp", "rsyslog-tls"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, sink, p := transport(t, name)
			work := t.TempDir()
			path, dir := writeConfig(t, place(`
global(workDirectory="`+work+`" parser.escapeControlCharactersOnReceive="off")
module(load="imfile")
input(type="imfile" file="/var/log/app.log" tag="app[1]:" severity="info")
`+example(t, name), s, file(t), p))
			daemon(t, command, "-n", "-f", path, "-i", filepath.Join(dir, "pid"))
			check(t, sink.Wait(t, lines), "HOST/app/1")
		})
	}
}

func TestSyslogNG(t *testing.T) {
	t.Parallel()
	command := require(t, "syslog-ng")
	for _, name := range []string{"syslog-ng-udp", "syslog-ng-tcp", "syslog-ng-tls"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, sink, p := transport(t, name)
			path, dir := writeConfig(t, place(`@version: 3.35
source app { file("/var/log/app.log" flags(no-parse) program-override("app") default-level("info")); };
`+example(t, name)+`
log { source(app); destination(logstow); };
`, s, file(t), p))
			daemon(t, command, "-F", "--no-caps", "-f", path, "--persist-file", filepath.Join(dir, "persist"),
				"--control", filepath.Join(dir, "ctl"), "--pidfile", filepath.Join(dir, "pid"))
			check(t, sink.Wait(t, lines), "HOST/app")
		})
	}
}
