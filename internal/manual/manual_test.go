package manual_test

import (
	"bytes"
	"os/exec"
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
				Flags: cli.Under(
					"",
					cli.Text("store,s=x-y", "where to: a `DIRECTORY`, isn't it"),
					cli.Switch("once", "end at the end"),
					cli.Hidden("secret", ""),
				),
			},
			{Name: "status", Usage: "print the state"},
		},
	}
	p := &cli.Program{App: app, Variables: []cli.Variable{{Name: "SHIP_STORE", Usage: "default of --store"}}}
	app.Commands = append(app.Commands, manual.ManCommand(p), manual.CompletionCommand(app, ""))
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

func TestComplete(t *testing.T) {
	t.Parallel()
	values := func(flag string, words []string) []string { return []string{flag + "-of-" + words[0]} }
	for line, want := range map[string]string{
		"--generate-bash-completion":                   "run\nstatus\ncompletion\n--help\n--version\n",
		"--generate-fish-completion":                   "run\tread and 'ship'\nstatus\tprint the state\ncompletion\tprint a shell's completion script\n--help\n--version\n",
		"run - --generate-bash-completion":             "--store\n--once\n--help\n",
		"run --on --generate-fish-completion":          "--store\twhere to: a DIRECTORY, isn't it\n--once\tend at the end\n--help\n",
		"run log --generate-bash-completion":           "",
		"run -s --generate-bash-completion":            "store-of-run\n",
		"run --store= --generate-bash-completion":      "--store=store-of-run\n",
		"run --store=x log --generate-bash-completion": "",
		"completion --generate-bash-completion":        "bash\nzsh\nfish\npowershell\n",
	} {
		app := sample()
		var out bytes.Buffer
		app.Writer = &out
		if !manual.Complete(app.App, append([]string{"ship-it"}, strings.Fields(line)...), values) || out.String() != want {
			t.Errorf("%s: %q, want %q", line, &out, want)
		}
	}
	var out bytes.Buffer
	app := sample()
	app.Writer = &out
	if !manual.Complete(app.App, []string{"ship-it", "run", "--store", "--generate-bash-completion"}, nil) || out.Len() > 0 {
		t.Errorf("without values: %q", &out)
	}
	if manual.Complete(app.App, []string{"ship-it", "run"}, nil) {
		t.Error("a command line is completed that does not request it")
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
