package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"logstow/buffer/spool"
	"logstow/internal/test/await"
	"logstow/internal/test/catalogtest"
	"logstow/internal/test/storetest"
	"logstow/record"
	"logstow/store"
	"logstow/store/local"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"shipper": main,
	})
}

// scriptsTimeout ends what scripts run and wait for, awaited how long their commands wait for what takes moments.
const scriptsTimeout, awaited = 10 * time.Minute, 2 * time.Minute

// TestScripts runs testdata/*.txt: each is a feature as people use it. Beside
// testscript's own commands they have
//
//	messages DIR       prints the records of the store in DIR as "source level message"
//	parsers DIR        prints service and parser of each segment in the store DIR
//	await DIR TEXT     waits until the store in DIR holds TEXT
//	append FILE TEXT   appends a line to a file
//	probe DIR FILE     appends lines to a file until one is in the store in DIR
//	buffered DIR TEXT  waits until the log of the buffer in DIR holds TEXT
//	waiting DIR        waits until a batch waits in the buffer in DIR
//	term               sends SIGTERM to the commands in the background
//	hup                sends them SIGHUP
//	pause              stops them until resume
//	resume             lets them go on
//	status N CMD…      runs a command that must end with exit status N
//	flip FILE          flips a bit of a file's start, its first block; size and time stay
//	nobody CMD…        runs a command as another user and prints its exit status
func TestScripts(t *testing.T) {
	t.Parallel()
	commands := map[string]func(*testscript.TestScript, bool, []string){
		"messages": messages,
		"parsers":  parsers,
		"await":    awaitText,
		"append":   appendLine,
		"probe":    probe,
		"buffered": buffered,
		"waiting":  waiting,
		"term":     send(syscall.SIGTERM),
		"hup":      send(syscall.SIGHUP),
		"status":   status,
		"flip":     flip,
	}
	maps.Copy(commands, systemCommands())
	testscript.Run(t, testscript.Params{
		Dir:      "testdata",
		Deadline: time.Now().Add(scriptsTimeout),
		Setup: func(env *testscript.Env) error {
			env.Setenv("LOGSTOW_STORE", "")
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("CLOSED", closedAddress)
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Getuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: commands,
	})
}

// start runs shipper with lines on its standard input that never end, and
// returns once it reads them.
func start(t *testing.T, env []string, args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "XDG_STATE_HOME="+t.TempDir())
	cmd = &exec.Cmd{Path: self, Args: append([]string{"shipper", "run", "--service", "x"}, args...), Env: env, Stderr: new(bytes.Buffer)}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(childTimeout, func() { _ = cmd.Process.Kill() }) // an error: it has ended
	t.Cleanup(func() { late.Stop(); _ = cmd.Process.Kill() })
	// More than a pipe holds.
	if _, err := in.Write(bytes.Repeat([]byte("a line\n"), 200_000)); err != nil {
		t.Fatal(err)
	}
	return cmd, cmd.Stderr.(*bytes.Buffer)
}

// finish waits for the end and compares the exit status.
func finish(t *testing.T, cmd *exec.Cmd, stderr *bytes.Buffer, want int) {
	t.Helper()
	_ = cmd.Wait() // the status is looked at
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Errorf("exit status %d, want %d; standard error:\n%s", got, want, stderr)
	}
}

// What was read by the time of the signal is stored.
func TestInterruptStoresWhatWasRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags   []string
		signals []os.Signal
		status  int
	}{
		{nil, []os.Signal{os.Interrupt}, 0},
		{nil, []os.Signal{os.Interrupt, syscall.SIGTERM}, 0}, // a wrapper's, for the same request
		{[]string{"--once"}, []os.Signal{os.Interrupt}, 130},
	} {
		dir := t.TempDir()
		cmd, stderr := start(t, nil, append(c.flags, "--store", dir)...)
		for _, s := range c.signals {
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
		}
		finish(t, cmd, stderr, c.status)
		text, err := storeText(dir)
		if err != nil || bytes.Count(text, []byte("a line\n")) < 100_000 {
			t.Errorf("%v, %v: %d bytes stored, %v; standard error:\n%s", c.flags, c.signals, len(text), err, stderr)
		}
	}
}

// A second signal ends it at once, also when storage does not answer.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	closed := closedAddress
	cmd, stderr := start(t, []string{
		"AZURE_STORAGE_CONNECTION_STRING=DefaultEndpointsProtocol=http;AccountName=a;AccountKey=YQ==;" +
			"BlobEndpoint=http://" + closed + "/a;TableEndpoint=http://" + closed + "/a",
	}, "--store", "azblob://logs")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		finish(t, cmd, stderr, 130)
	}()
	for signals := 0; ; signals++ {
		select {
		case <-ended:
			if signals < 2 {
				t.Error("it ended by itself")
			}
			return
		case <-time.After(300 * time.Millisecond):
			_ = cmd.Process.Signal(syscall.SIGTERM) // it may just have ended
		}
	}
}

// closedAddress is one at which nothing listens. Port 1 is never assigned to a listener
// without a port, unlike one that was just closed.
const closedAddress = "127.0.0.1:1"

// storeText is the text of all segments in a local store, in the order of their names, outputs of compaction last.
func storeText(dir string) ([]byte, error) {
	s, err := local.Open(context.Background(), dir)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	text, err := storetest.Text(context.Background(), s.Blobs())
	if err != nil {
		return nil, err
	}
	outputs, err := storetest.Text(context.Background(), s.Compacted())
	if errors.Is(err, store.ErrNoContainer) {
		return text, nil
	}
	return append(text, outputs...), err
}

func messages(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: messages DIR")
	}
	text, err := storeText(ts.MkAbs(args[0]))
	ts.Check(err)
	for len(text) > 0 {
		var line record.Line
		line, text, err = record.Next(text)
		ts.Check(err)
		fmt.Fprintf(ts.Stdout(), "%s %s %s\n", line.Source, line.Level, line.Raw)
	}
}

// parsers prints the service and the parser of each segment of a store, in the order of their names.
func parsers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: parsers DIR")
	}
	s, err := local.Open(context.Background(), ts.MkAbs(args[0]))
	ts.Check(err)
	defer s.Close()
	for page, err := range s.Blobs().List(context.Background(), "") {
		ts.Check(err)
		for _, b := range page {
			found, err := catalogtest.NewSegment(b)
			ts.Check(err)
			fmt.Fprintf(ts.Stdout(), "%s %q\n", found.Name.Service, found.Meta.Parse)
		}
	}
}

// script is a script as a test that may fail. Its failures have the last error of what it waits for.
type script struct {
	testing.TB
	ts   *testscript.TestScript
	last error
}

func (*script) Helper() {}

func (s *script) Fatalf(format string, args ...any) {
	s.ts.Fatalf(format+": %v", append(args, s.last)...)
}

// until polls a condition until it has no error.
func until(ts *testscript.TestScript, what string, condition func() error) {
	s := &script{ts: ts}
	await.Until(s, awaited, what, func() bool {
		s.last = condition()
		return s.last == nil
	})
}

// holds returns an error unless the store in a directory holds a text.
func holds(dir, want string) error {
	text, err := storeText(dir)
	if bytes.Contains(text, []byte(want)) {
		return nil
	}
	return errors.Join(fmt.Errorf("the store holds %q", text), err)
}

func awaitText(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await DIR TEXT")
	}
	until(ts, fmt.Sprintf("%q is in the store", args[1]), func() error { return holds(ts.MkAbs(args[0]), args[1]) })
}

func appendLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: append FILE TEXT")
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	ts.Check(err)
	defer f.Close()
	_, err = f.WriteString(args[1] + "\n")
	ts.Check(err)
}

func probe(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: probe DIR FILE")
	}
	until(ts, args[1]+" is followed", func() error {
		appendLine(ts, false, []string{args[1], "probe"})
		return holds(ts.MkAbs(args[0]), "probe")
	})
}

func buffered(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: buffered DIR TEXT")
	}
	until(ts, fmt.Sprintf("%q is in the buffer", args[1]), func() error {
		logs, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "wal", "*.log"))
		ts.Check(err)
		for _, log := range logs {
			if data, _ := os.ReadFile(log); bytes.Contains(data, []byte(args[1])) {
				return nil
			}
		}
		return fmt.Errorf("it is not in %q", logs)
	})
}

func waiting(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waiting DIR")
	}
	until(ts, "a batch waits", func() error {
		s, err := spool.Inspect(context.Background(), ts.MkAbs(args[0]))
		if s.Sealed > 0 {
			return nil
		}
		return errors.Join(fmt.Errorf("the buffer has %+v", s), err)
	})
}

// send is a command that sends a signal to all that runs in the background.
func send(signal os.Signal) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 0 {
			ts.Fatalf("it takes no arguments")
		}
		for _, cmd := range ts.BackgroundCmds() {
			ts.Check(cmd.Process.Signal(signal))
		}
	}
}

func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N CMD…")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: flip FILE")
	}
	path := ts.MkAbs(args[0])
	info, err := os.Stat(path)
	ts.Check(err)
	data, err := os.ReadFile(path)
	ts.Check(err)
	data[40] ^= 1
	ts.Check(os.WriteFile(path, data, 0o644))
	ts.Check(os.Chtimes(path, info.ModTime(), info.ModTime()))
}
