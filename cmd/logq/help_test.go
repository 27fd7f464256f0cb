package main

import (
	"bytes"
	"context"
	"io"
	"slices"
	"testing"
	"time"

	"logstow/internal/cli"
	"logstow/internal/test/clitest"
	"logstow/store/local"
)

func TestHelp(t *testing.T) {
	t.Parallel()
	made := func() *cli.Program {
		return program(environment{stdout: io.Discard, stderr: io.Discard, getenv: func(string) string { return "" }, now: time.Now})
	}
	clitest.Help(t, made)
	clitest.Hints(t, made())
}

// The examples of the help run: they find nothing in an empty store.
func TestHelpExamples(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := local.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"LOGSTOW_STORE": dir}
	p := program(environment{})
	ran := 0
	for _, command := range append([]string{""}, names(p)...) {
		if command == "serve" || command == "saved" { // one does not end, one needs a file
			continue
		}
		for _, words := range clitest.Examples(p, command) {
			if i := slices.Index(words, "--store"); i >= 0 { // not on this machine
				words[i+1] = dir
			}
			var out, errs bytes.Buffer
			status := run(context.Background(), words, environment{
				stdout: &out, stderr: &errs, getenv: func(name string) string { return vars[name] }, now: time.Now, tempDir: t.TempDir(),
			})
			if status != cli.OK && status != cli.NoMatch {
				t.Errorf("%q: status %d, %s", words, status, &errs)
			}
			ran++
		}
	}
	if ran != 27 {
		t.Errorf("%d examples", ran)
	}
}

func names(p *cli.Program) (all []string) {
	for _, c := range p.VisibleCommands() {
		all = append(all, c.Name)
	}
	return all
}
