package formats_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"logstow/input"
	"logstow/input/bulk"
	"logstow/input/forward"
	"logstow/input/gelf"
	"logstow/input/httpserver"
	"logstow/input/journald"
	"logstow/input/lines"
	"logstow/input/listen"
	"logstow/input/otlp"
	"logstow/input/socket"
	"logstow/input/stdin"
	"logstow/input/syslog"
	"logstow/internal/test/formats"
	"logstow/internal/test/inputtest"
	"logstow/record"
)

// simple are lines that each input must stamp alike.
var simple = []struct { //nolint:gochecknoglobals // a table
	line  string
	time  time.Time // zero is the time of reading
	level record.Level
}{
	{"2026-11-20T15:04:05.123Z ERROR failed", time.Date(2026, 11, 20, 15, 4, 5, 123e6, time.UTC), record.Error},
	{`{"time":"2026-11-20T15:04:06Z","level":"warn","msg":"slow"}`, time.Date(2026, 11, 20, 15, 4, 6, 0, time.UTC), record.Warn},
	{`10.0.0.1 - - [20/Nov/2026:15:04:07 +0000] "GET / HTTP/1.1" 500 12`, time.Date(2026, 11, 20, 15, 4, 7, 0, time.UTC), record.Error},
	{"an ERROR in a sentence", time.Time{}, record.None},
}

// TestInputs sends the same lines to each input.
func TestInputs(t *testing.T) {
	t.Parallel()
	logs := make([]log, len(simple))
	for i, s := range simple {
		logs[i] = log{s.line + "\n", []string{s.line}}
	}
	for name, run := range map[string]func(*testing.T, *time.Location, []log) [][]got{
		"files": files, "cri": criFiles, "docker": dockerFiles, "file": queried, "push": pushed,
		"stdin": flat(readStdin), "lines": flat(postLines), "bulk": flat(postBulk), "otlp": flat(postOTLP), "journald": flat(readJournal),
		"forward": flat(sendForward), "syslog": flat(sendSyslog), "gelf": flat(sendGELF),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, all := range run(t, time.UTC, logs) {
				want := simple[i].time
				if want.IsZero() {
					want = formats.Now()
					if name == "cri" || name == "docker" {
						want, _ = time.Parse(time.RFC3339Nano, runtimeTime)
					}
				}
				if len(all) != 1 || all[0].time != want.UnixNano() || all[0].level != simple[i].level {
					t.Errorf("%s: %+v, want %s %s", simple[i].line, all, want, simple[i].level)
				}
			}
		})
	}
}

// flat makes a run of one whose records are in the order of the lines.
func flat(run func(t *testing.T, opts input.Options, all []string)) func(*testing.T, *time.Location, []log) [][]got {
	return func(t *testing.T, zone *time.Location, logs []log) [][]got {
		t.Helper()
		var all []string
		for _, l := range logs {
			all = append(all, l.messages...)
		}
		s := inputtest.NewSink()
		opts := options(s, zone)
		run(t, opts, all)
		var result [][]got
		for _, r := range s.Wait(t, len(all)) {
			result = append(result, []got{{r.Time, r.Level, string(r.Message), ""}})
		}
		return result
	}
}

// readStdin reads each line on its own: a line without a time would have that of the one before.
func readStdin(t *testing.T, opts input.Options, all []string) {
	t.Helper()
	for _, line := range all {
		if err := stdin.Run(t.Context(), strings.NewReader(line+"\n"), opts); err != nil {
			t.Fatal(err)
		}
	}
}

func postLines(t *testing.T, opts input.Options, all []string) {
	t.Helper()
	h, err := lines.NewHandler(httpserver.IntakeOptions{Options: opts})
	if err != nil {
		t.Fatal(err)
	}
	send(t, register(h), lines.Path, "text/plain", strings.Join(all, "\n"))
}

func postBulk(t *testing.T, opts input.Options, all []string) {
	t.Helper()
	h, err := bulk.NewHandler(httpserver.IntakeOptions{Options: opts})
	if err != nil {
		t.Fatal(err)
	}
	var body strings.Builder
	for _, line := range all {
		fmt.Fprintf(&body, "{\"create\":{}}\n{\"message\":%s}\n", quote(t, line))
	}
	send(t, register(h), "/_bulk", "application/x-ndjson", body.String())
}

func postOTLP(t *testing.T, opts input.Options, all []string) {
	t.Helper()
	h, err := otlp.NewHandler(httpserver.IntakeOptions{Options: opts})
	if err != nil {
		t.Fatal(err)
	}
	records := make([]string, len(all))
	for i, line := range all {
		records[i] = `{"body":{"stringValue":` + quote(t, line) + `}}`
	}
	send(t, register(h), otlp.Path, "application/json", `{"resourceLogs":[{"scopeLogs":[{"logRecords":[`+strings.Join(records, ",")+`]}]}]}`)
}

// readJournal reads entries of the journal, whose times are those of the lines.
func readJournal(t *testing.T, opts input.Options, all []string) {
	t.Helper()
	dir := t.TempDir()
	var export strings.Builder
	for i, line := range all {
		when := simple[i].time
		if when.IsZero() {
			when = formats.Now()
		}
		fmt.Fprintf(&export, "__CURSOR=%d\n__REALTIME_TIMESTAMP=%d\nMESSAGE\n%s%s\n\n", i, when.UnixMicro(), binary.LittleEndian.AppendUint64(nil, uint64(len(line))), line)
	}
	command := filepath.Join(dir, "journalctl")
	err := os.WriteFile(filepath.Join(dir, "export"), []byte(export.String()), 0o600)
	if err == nil {
		err = os.WriteFile(command, []byte("#!/bin/sh\nexec cat \"${0%/*}/export\"\n"), 0o700) //nolint:gosec // it is executed
	}
	if err != nil {
		t.Fatal(err)
	}
	in, err := journald.New(journald.Options{Options: opts, Command: command, Once: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func sendForward(t *testing.T, opts input.Options, all []string) {
	t.Helper()
	s, err := forward.New(t.Context(), forward.Options{Options: opts, Endpoint: listen.Endpoint{Address: "127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	inputtest.Run(t, s)
	var entries []any
	for _, line := range all {
		entries = append(entries, []any{formats.Now().Unix(), map[string]string{"log": line}})
	}
	message, err := msgpack.Marshal([]any{"app", entries})
	if err != nil {
		t.Fatal(err)
	}
	inputtest.Write(t, inputtest.Dial(t, s.Addr()), message)
}

func sendSyslog(t *testing.T, opts input.Options, all []string) {
	t.Helper()
	s, err := socket.New(t.Context(), socket.Options{Options: opts, Endpoint: listen.Endpoint{Address: "tcp://127.0.0.1:0"}}, new(syslog.Spec).Protocol())
	if err != nil {
		t.Fatal(err)
	}
	inputtest.Run(t, s)
	inputtest.Write(t, inputtest.Dial(t, s.Addr()), strings.Join(all, "\n")+"\n")
}

// sendGELF sends the lines with their times and severities.
func sendGELF(t *testing.T, opts input.Options, all []string) {
	t.Helper()
	s, err := socket.New(t.Context(), socket.Options{Options: opts, Endpoint: listen.Endpoint{Address: "tcp://127.0.0.1:0"}}, gelf.Protocol(input.NewServices(0, nil)))
	if err != nil {
		t.Fatal(err)
	}
	inputtest.Run(t, s)
	c := inputtest.Dial(t, s.Addr())
	for i, line := range all {
		document := `{"version":"1.1","short_message":` + quote(t, line)
		if when := simple[i].time; !when.IsZero() {
			document += fmt.Sprintf(`,"timestamp":%d.%03d`, when.Unix(), when.Nanosecond()/1e6)
		}
		switch simple[i].level {
		case record.Error:
			document += `,"level":3`
		case record.Warn:
			document += `,"level":4`
		}
		inputtest.Write(t, c, document+"}\x00")
	}
}
