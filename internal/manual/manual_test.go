package manual_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/manual"
)

// sample is an application with all that makes trouble in a page or script.
func sample() *cli.Program {
	app := &ucli.App{
		Name: "ship-it", Usage: "ship it - now", Version: "v1.2-3 (abc)",
		Commands: []*ucli.Command{
			{
				Name: "run", Usage: "read and 'ship'", ArgsUsage: "[FILE|-]...",
				Description: "First line\n.not a request\n'nor this\n\n  as    it\n  \\n stands\n\nLast.",
				Flags: []ucli.Flag{
					&ucli.StringFlag{Name: "store", Aliases: []string{"s"}, EnvVars: []string{"SHIP_STORE"}, Usage: "where to: a `DIRECTORY`, isn't it", Value: "x-y"},
					&ucli.BoolFlag{Name: "once", Usage: "end at the end"},
					&ucli.StringFlag{Name: "secret", Hidden: true},
				},
			},
			{Name: "status", Usage: "print the state"},
		},
	}
	p := &cli.Program{App: app, Variables: []cli.Variable{{Name: "SHIP_STORE", Usage: "default of --store"}}}
	app.Commands = append(app.Commands, manual.ManCommand(p), manual.CompletionCommand(app))
	return p
}

func TestMan(t *testing.T) {
	t.Parallel()
	page := manual.Man(sample())
	for _, want := range []string{
		".TH SHIP-IT 1", "ship\\-it \\- ship it \\- now\n", "\\fB\\-\\-store\\fR, \\fB\\-s\\fR \\fIDIRECTORY\\fR",
		"(default: x\\-y)", "\n\\&.not a request\n", "\n\\(aqnor this\n", "\n.nf\n  as    it\n  \\en stands\n.fi\n", "SHIP_STORE\\fR\ndefault of \\-\\-store",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Contains(page, "secret") || strings.Contains(page, "print the manual") {
		t.Error("hidden things are shown")
	}
}

// A formatter takes the page without a warning.
func TestManRenders(t *testing.T) {
	t.Parallel()
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not here")
	}
	format := exec.Command(groff, "-man", "-Tutf8", "-ww", "-P-cbou")
	format.Stdin = strings.NewReader(manual.Man(sample()))
	var warnings bytes.Buffer
	format.Stderr = &warnings
	out, err := format.Output()
	if err != nil || warnings.Len() > 0 {
		t.Fatalf("%v\n%s", err, &warnings)
	}
	for _, want := range []string{"--store, -s DIRECTORY", "  as    it\n", `\n stands`, ".not a request 'nor this"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// The scripts complete in real shells.
func TestCompletion(t *testing.T) {
	t.Parallel()
	app := sample()
	for _, c := range []struct{ shell, line, want string }{
		{"bash", `COMP_WORDS=(ship-it s); COMP_CWORD=1; _ship_it; echo "${COMPREPLY[@]}"`, "status"},
		{"bash", `COMP_WORDS=(ship-it run --o); COMP_CWORD=2; _ship_it; echo "${COMPREPLY[@]}"`, "--once"},
		{"bash", `COMP_WORDS=(ship-it run -); COMP_CWORD=2; _ship_it; echo "${COMPREPLY[@]}"`, "--store -s --once"},
		{"bash", `COMP_WORDS=(ship-it run log); COMP_CWORD=2; _ship_it; echo "${COMPREPLY[@]}"`, "logs.txt"},
		{"fish", `complete -C "ship-it run --on"`, "--once\tend at the end"},
		{"fish", `complete -C "ship-it st"`, "status\tprint the state"},
		{"pwsh", `(TabExpansion2 "ship-it run --on" 16).CompletionMatches.CompletionText`, "--once"},
		{"zsh", `whence -w _ship_it; print $_comps[ship-it]`, "_ship_it: function\n_bash_complete -o filenames -F _ship_it"},
	} {
		t.Run(c.shell+" "+c.line, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.shell); err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			script := map[string]string{"script": manual.Completion(app.App, c.shell), "logs.txt": ""}
			source := "source ./script; "
			if c.shell == "pwsh" {
				script, source = map[string]string{"script.ps1": manual.Completion(app.App, "powershell")}, ". ./script.ps1; "
			}
			for name, text := range script {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			before := ""
			if c.shell == "zsh" {
				before = "autoload -Uz compinit && compinit -u -D; "
			}
			shell := exec.Command(c.shell, "-c", before+source+c.line)
			shell.Dir, shell.Env = dir, append(os.Environ(), "HOME="+dir)
			out, err := shell.CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != c.want {
				t.Errorf("%v: %q, want %q", err, got, c.want)
			}
		})
	}
	// PowerShell is not on every machine: its script at least has each command with its flags.
	if script := manual.Completion(app.App, "powershell"); !strings.Contains(script, "\t\t'run' = @('--store', '-s', '--once')\n") {
		t.Errorf("the flags of run are missing in\n%s", script)
	}
	if manual.Completion(app.App, "csh") != "" {
		t.Error("a script for csh")
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"man"}, 0, ".TH SHIP-IT 1"},
		{[]string{"completion", "bash"}, 0, "# Completion of ship-it for bash"},
		{[]string{"completion", "powershell"}, 0, "Register-ArgumentCompleter -Native -CommandName ship-it "},
		{[]string{"completion"}, 2, "name of a shell"},
		{[]string{"completion", "csh"}, 2, "name of a shell"},
	} {
		app := sample()
		var out bytes.Buffer
		app.Writer, app.ErrWriter = &out, &out
		if status := cli.Run(t.Context(), *app, append([]string{"ship-it"}, c.args...)); status != c.status || !strings.Contains(out.String(), c.want) {
			t.Errorf("%v: %d\n%s", c.args, status, &out)
		}
	}
}
