package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"logstow/internal/test/await"
	"logstow/tap"
)

const tapConfig = `
store: s
service: web
instance: i
buffer: {dir: b}
redact: [bearer]
inputs:
  - stdin: true
    drop: [{contains: [healthz]}]
`

// childTimeout ends a child, so that a test that waits for it in vain fails.
const childTimeout = 3 * time.Minute

// child is a shipper command in a directory; its standard error is read line by line.
type child struct {
	*exec.Cmd
	in     io.Writer
	out    string // file
	stderr *bufio.Reader
}

func startIn(t *testing.T, dir string, args ...string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &child{Cmd: &exec.Cmd{Path: self, Args: append([]string{"shipper"}, args...), Dir: dir, Env: []string{"XDG_STATE_HOME=" + dir}}}
	out, err := os.CreateTemp(dir, "out")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	p.Stdout, p.out = out, out.Name()
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stderr = bufio.NewReader(stderr)
	if p.in, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(childTimeout, func() { _ = p.Process.Kill() }) // an error: it has ended
	t.Cleanup(func() { late.Stop(); _ = p.Process.Kill() })
	return p
}

// output is what it has printed.
func (p *child) output(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(p.out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// until reads standard error up to a line that contains a text.
func (p *child) until(t *testing.T, text string) {
	t.Helper()
	for {
		line, err := p.stderr.ReadString('\n')
		if strings.Contains(line, text) {
			return
		}
		if err != nil {
			t.Fatalf("%v of %q before %q: %s", err, p.Args, text, line)
		}
	}
}

// wait waits for the end and compares the exit status.
func (p *child) wait(t *testing.T, want int) {
	t.Helper()
	_, _ = io.Copy(io.Discard, p.stderr) // to its end
	_ = p.Wait()                         // the status is looked at
	if got := p.ProcessState.ExitCode(); got != want {
		t.Errorf("exit status %d of %q, want %d", got, p.Args, want)
	}
}

// What passes is shown, with what was done to it, and nothing of the secrets.
func TestTap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "shipper.yaml"), []byte(tapConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	run := startIn(t, dir, "run", "--config", "shipper.yaml")
	run.until(t, `"started"`)
	all := startIn(t, dir, "tap", "--buffer-dir", "b", "-n", "3", "-o", "json")
	some := startIn(t, dir, "tap", "--buffer-dir", "b", "-n", "1", "--where", "status >= 500", "--where", `level == "error" and instance == "i"`)
	last := startIn(t, dir, "tap", "--buffer-dir", "b")
	stopped := startIn(t, dir, "tap", "--buffer-dir", "b")
	for _, p := range []*child{all, some, last, stopped} {
		p.until(t, "shipper: connected")
	}
	_, err := io.WriteString(run.in, `2026-11-22T22:00:00Z INFO {"status":200,"auth":"Bearer abcdef0123"}
2026-11-22T22:00:01Z INFO GET /healthz
2026-11-22T22:00:02Z ERROR {"status":503,"took":1.50}
`)
	if err != nil {
		t.Fatal(err)
	}
	all.until(t, "shipper: 3 shown, 0 not matching, 0 skipped")
	all.wait(t, 0)
	if want := `{"time":"2026-11-22T22:00:00.000000000Z","level":"INFO","service":"web","source":"stdin","redacted":["bearer"],"message":"2026-11-22T22:00:00Z INFO {\"status\":200,\"auth\":\"Bearer [redacted:bearer]\"}","fields":{"auth":"Bearer [redacted:bearer]","status":200}}
{"time":"2026-11-22T22:00:01.000000000Z","level":"INFO","service":"web","source":"stdin","dropped":"drop","message":"2026-11-22T22:00:01Z INFO GET /healthz","fields":{}}
{"time":"2026-11-22T22:00:02.000000000Z","level":"ERROR","service":"web","source":"stdin","message":"2026-11-22T22:00:02Z ERROR {\"status\":503,\"took\":1.50}","fields":{"status":503,"took":1.50}}
`; all.output(t) != want {
		t.Errorf("%s, want %s", all.output(t), want)
	}
	some.until(t, "shipper: 1 shown, 2 not matching, 0 skipped")
	some.wait(t, 0)
	if want := `2026-11-22T22:00:02.000Z  ERROR  web  stdin  2026-11-22T22:00:02Z ERROR {"status":503,"took":1.50}
    status=503  took=1.50
`; some.output(t) != want {
		t.Errorf("%s, want %s", some.output(t), want)
	}
	await.Until(t, time.Minute, "the last record is shown", func() bool { return strings.Contains(stopped.output(t), "took=1.50") })
	if err := stopped.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	stopped.until(t, "shipper: 3 shown")
	stopped.wait(t, 0)
	if text := stopped.output(t); !strings.Contains(text, "\n    dropped: drop\n") || !strings.Contains(text, "\n    redacted: bearer\n") {
		t.Error(text)
	}
	if err := run.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	last.until(t, "shipper: the tapped shipper has ended")
	last.wait(t, 0)
	run.wait(t, 0)
	if _, err := os.Stat(filepath.Join(dir, "b", tap.Socket)); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
}

// The end of a shipper that was killed is told, and the socket that it left is none of a shipper that runs.
func TestTapKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "shipper.yaml"), []byte(tapConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	run := startIn(t, dir, "run", "--config", "shipper.yaml")
	run.until(t, `"started"`)
	tapped := startIn(t, dir, "tap", "--buffer-dir", "b")
	tapped.until(t, "shipper: connected")
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	tapped.until(t, "shipper: the connection ended before the last records arrived")
	tapped.wait(t, 0)
	run.wait(t, -1)
	if _, err := os.Stat(filepath.Join(dir, "b", tap.Socket)); err != nil {
		t.Fatal(err)
	}
	for _, buffer := range []string{"b", "nonsense"} {
		none := startIn(t, dir, "tap", "--buffer-dir", buffer)
		none.until(t, "shipper: no running shipper has the buffer "+buffer)
		none.wait(t, 1)
	}
	state := filepath.Join(dir, "logstow", "web")
	if err := errors.Join(os.MkdirAll(state, 0o700), os.Rename(filepath.Join(dir, "b"), filepath.Join(state, "i"))); err != nil {
		t.Fatal(err)
	}
	none := startIn(t, dir, "tap")
	none.until(t, "shipper: no running shipper has its buffer in the state directory")
	none.wait(t, 1)
}

// The command accepts what its help names: each example connects to a shipper whose buffer is in the directory of the help.
func TestTapExamples(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shipper := startIn(t, dir, "run", "--service", "web", "--instance", "host-1", "--store", "s")
	shipper.until(t, `"started"`)
	examples := strings.Split(tapCommand().UsageText, "\n")
	for _, format := range []string{"text", jsonFormat} {
		examples = append(examples, "shipper tap --output "+format+" --limit 1 --where 'status >= 500' --where has(status)")
	}
	for _, example := range examples {
		var args []string
		for i, part := range strings.Split(strings.ReplaceAll(example, "/var/lib", dir), "'") {
			if i%2 == 1 { // it is quoted
				args = append(args, part)
			} else {
				args = append(args, strings.Fields(part)...)
			}
		}
		p := startIn(t, dir, args[1:]...)
		p.until(t, "shipper: connected")
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		p.wait(t, 0)
	}
}
