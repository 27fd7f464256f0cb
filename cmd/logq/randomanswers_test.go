package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
)

// Random command lines print the reference's answer and have its exit status, or end with the
// usage error of their mistake. make long runs 6,000 of them.
func TestLongRandomAnswers(t *testing.T) {
	t.Parallel()
	worlds := effort.Cases{Test: 1, Long: 12}.N()
	lines := effort.Cases{Test: 50, Full: 500}.N() // of each world
	rnd := testrand.New(t)
	statuses := map[int]int{}
	for range worlds {
		w := newWorld(t, rnd)
		for range lines {
			statuses[checkAnswer(t, w, randomLine(w))]++
		}
	}
	t.Logf("by status: %v", statuses)
	least := worlds * lines / 20
	if effort.Of() < effort.Full { // of a hundred, about twelve are mistakes, and five or fewer now and then
		least = 1
	}
	for _, status := range []int{0, 1, 2} {
		if statuses[status] < least {
			t.Errorf("status %d only %d times", status, statuses[status])
		}
	}
}

// checkAnswer runs a command line and compares what it prints with the reference.
func checkAnswer(t *testing.T, w *world, l *commandLine) (status int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(t.Context(), l.args, environment{
		stdout: &stdout, stderr: &stderr, now: worldNow, tempDir: w.dirs[0],
		getenv: func(name string) string { return map[string]string{"LOGSTOW_STORE": w.dirs[0]}[name] },
	})
	got, want, wantStatus := stdout.String(), "", 2
	if l.mistake == "" {
		want, wantStatus = l.answer(w)
		if l.format == "csv" && !l.count {
			got = readTable(got)
		}
	}
	if status != wantStatus || got != want {
		t.Fatalf("logq %q\nstatus %d, want %d (%s)\nstderr: %s\nstdout:\n%s\nwant:\n%s", l.args, status, wantStatus, l.mistake, &stderr, got, want)
	}
	expect := map[int]string{1: "logq: no records match\n", 2: "logq: see logq query --help\n"}[status]
	if l.left != "" {
		expect = l.left
		if strings.Contains(stderr.String(), "\" does not occur in ") {
			expect = ""
		}
	}
	if !strings.Contains(stderr.String(), expect) || !strings.Contains(stderr.String(), l.mistake) {
		t.Fatalf("logq %q\nstatus %d, without %q and %q in standard error: %s", l.args, status, expect, l.mistake, &stderr)
	}
	missingService := regexp.MustCompile(`^logq: (?:service|no service matches) "(.+?)"(?: does not exist)?; `)
	for line := range strings.Lines(stderr.String()) {
		if rest, ok := strings.CutPrefix(line, "logq: field \""); ok { // some fields are rare
			name, _, _ := strings.Cut(rest, "\" does not occur in ")
			if _, has := l.has[name]; has {
				t.Fatalf("logq %q\nprints %s, but reports: %s", l.args, name, line)
			}
			continue
		}
		if line == l.left {
			continue
		}
		if missing := missingService.FindStringSubmatch(line); missing != nil {
			if slices.ContainsFunc(w.all, func(r *stored) bool { return anyGlob(missing[1:], r.service) }) {
				t.Fatalf("logq %q\nreports of a service that exists: %s", l.args, line)
			}
			continue
		}
		if status == 0 && !strings.Contains(line, "found by the index") && !strings.Contains(line, "are in the future") {
			t.Fatalf("logq %q\nfound records, but reports: %s", l.args, line)
		}
	}
	return status
}
