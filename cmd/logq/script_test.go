package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
	"logstow/store/local"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // testdata/answers.txt has local times
	testscript.Main(m, map[string]func(){"logq": func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		env := environment{getenv: os.Getenv, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, now: time.Now, tempDir: os.TempDir(), completeTime: time.Minute}
		// The scripts name the streams that are terminals, of five rows or, tiny, two.
		terminals := os.Getenv("TERMINALS")
		if strings.Contains(terminals, "stdout") {
			env.out = screen{rows: 5, columns: 80}
			if strings.Contains(terminals, "tiny") {
				env.out.rows = 2
			}
		}
		if strings.Contains(terminals, "stderr") {
			env.err = screen{rows: 5, columns: 80}
		}
		status := run(ctx, os.Args, env)
		stop()
		os.Exit(status)
	}})
}

// The scripts have some commands beside logq: "segment SERVICE FILE" stores one
// segment of a file's lines, each a time, a level and a message, in which ESC is an
// escape; "status N logq ARG..." wants that exit status; "esc FILE" makes a file of
// each line of FILE, named by its first word, with escapes.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scriptParams(testscript.Params{Dir: "testdata/script"}))
}

// scriptParams adds what all scripts have.
func scriptParams(p testscript.Params) testscript.Params {
	p.Setup = func(e *testscript.Env) error {
		e.Setenv("LOGSTOW_STORE", filepath.Join(e.WorkDir, "store"))
		e.Setenv("TZ", "UTC")
		return nil
	}
	p.Cmds = map[string]func(ts *testscript.TestScript, neg bool, args []string){"segment": storeSegment, "status": wantStatus, "esc": writeEscapes}
	return p
}

func wantStatus(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("status %s, want %s", got, args[0])
	}
}

func writeEscapes(ts *testscript.TestScript, _ bool, args []string) {
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		name, text, _ := strings.Cut(strings.ReplaceAll(line, "ESC", "\x1b"), " ")
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600)) //nolint:forbidigo // a test's own file
	}
}

func storeSegment(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	s, err := local.Open(ctx, ts.Getenv("LOGSTOW_STORE"))
	ts.Check(err)
	defer s.Close()
	var body bytes.Buffer
	var w *segment.Writer
	var name blobnaming.Name
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		at, err := time.Parse(time.RFC3339, strings.Replace(f[0], "NOW", time.Now().UTC().Format(time.RFC3339), 1))
		ts.Check(err)
		level, err := record.ParseLevel(f[1])
		ts.Check(err)
		if w == nil {
			name = blobnaming.Name{Service: args[0], Bucket: at.Truncate(time.Hour)}
			salt := [16]byte{}
			copy(salt[:], args[0]+args[1])
			parser, instance := "", "pod-1"
			if len(args) > 2 {
				parser = args[2]
			}
			if len(args) > 3 {
				instance = args[3]
			}
			w = segment.NewWriter(&body, segment.Options{
				Service: args[0], Instance: instance, Salt: salt, Parse: parser,
				BucketStart: name.Bucket.Unix(), BucketWidth: 3600,
			})
		}
		ts.Check(w.Append(record.Record{Time: at.UnixNano(), Level: level, Source: "app.log", Message: []byte(strings.NewReplacer(`\n`, "\n", "ESC", "\x1b", "BEL", "\x07").Replace(f[2]))}))
	}
	meta, err := w.Close(1)
	ts.Check(err)
	for name.Number = 1; ; name.Number++ {
		if _, err = s.Blobs().Create(ctx, name.String(), body.Bytes(), store.CreateOptions{Metadata: meta.Encode()}); err == nil {
			fmt.Fprintln(ts.Stdout(), name)
			return
		}
		if name.Number > 100 {
			ts.Check(err)
		}
	}
}
