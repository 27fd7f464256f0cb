// Package manual makes manual pages and shell completions from the definitions
// of commands, so that they say what the programs do.
package manual

import (
	"fmt"
	"io"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
)

// ManCommand is a hidden command that prints the manual page of app.
func ManCommand(app *ucli.App) *ucli.Command {
	return &ucli.Command{
		Name: "man", Usage: "print the manual page (roff)", Hidden: true,
		Action: func(c *ucli.Context) error {
			_, err := io.WriteString(c.App.Writer, Man(app))
			return err
		},
	}
}

// Man is the manual page of app in section 1, in the man macros of roff.
func Man(app *ucli.App) string {
	p := new(page)
	p.line(".TH %s 1 \"\" \"Logstow %s\" \"User Commands\"", strings.ToUpper(app.Name), quote(firstWord(app.Version)))
	p.section("NAME")
	p.line("%s \\- %s", escape(app.Name), escape(app.Usage))
	p.section("SYNOPSIS")
	commands := app.VisibleCommands()
	for i, c := range commands {
		if i > 0 {
			p.line(".br")
		}
		p.line("\\fB%s %s\\fR [\\fIflags\\fR] %s", escape(app.Name), escape(c.Name), escape(c.ArgsUsage))
	}
	p.section("COMMANDS")
	for _, c := range commands {
		p.command(app, c)
	}
	if vars := variables(commands); len(vars) > 0 {
		p.section("ENVIRONMENT")
		for _, v := range vars {
			p.line(".TP\n\\fB%s\\fR\nstands for %s", escape(v[0]), escape(v[1]))
		}
	}
	return p.String()
}

// page is roff as it is written.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *page) section(name string) { p.line(".SH %s", name) }

func (p *page) command(app *ucli.App, c *ucli.Command) {
	p.line(".SS \"%s %s\"", quote(app.Name), quote(c.Name))
	p.line("%s.", escape(c.Usage))
	p.text(c.Description)
	for _, f := range c.VisibleFlags() {
		p.flag(f)
	}
}

// text writes paragraphs; those that are indented stand as they are.
func (p *page) text(text string) {
	if text == "" {
		return
	}
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		asIs := strings.Contains("\n"+paragraph, "\n ")
		p.line(".PP")
		if asIs {
			p.line(".nf")
		}
		for l := range strings.Lines(paragraph) {
			p.line("%s", escape(strings.TrimSuffix(l, "\n")))
		}
		if asIs {
			p.line(".fi")
		}
	}
}

func (p *page) flag(f ucli.Flag) {
	d, ok := f.(ucli.DocGenerationFlag)
	if !ok {
		return
	}
	placeholder, usage := unquote(d.GetUsage())
	var names []string
	for _, name := range f.Names() {
		names = append(names, "\\fB"+escape(dashed(name))+"\\fR")
	}
	head := strings.Join(names, ", ")
	if d.TakesValue() {
		if placeholder == "" {
			placeholder = "VALUE"
		}
		head += " \\fI" + escape(placeholder) + "\\fR"
	}
	if value := d.GetDefaultText(); value != "" && d.TakesValue() {
		usage += " (default: " + strings.Trim(value, `"`) + ")"
	}
	p.line(".TP\n%s\n%s", head, escape(usage))
}

// variables are the environment's, with the flags that they stand for.
func variables(commands []*ucli.Command) (all [][2]string) {
	seen := map[string]bool{}
	for _, c := range commands {
		for _, f := range c.VisibleFlags() {
			d, ok := f.(ucli.DocGenerationFlag)
			if !ok {
				continue
			}
			for _, name := range d.GetEnvVars() {
				if !seen[name] {
					seen[name] = true
					all = append(all, [2]string{name, dashed(f.Names()[0])})
				}
			}
		}
	}
	return all
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// unquote takes the `PLACEHOLDER` out of a flag's usage, as the help does.
func unquote(usage string) (placeholder, text string) {
	before, rest, ok := strings.Cut(usage, "`")
	name, after, closed := strings.Cut(rest, "`")
	if !ok || !closed {
		return "", usage
	}
	return name, before + name + after
}

// escape keeps roff from reading text as requests.
func escape(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}

// quote makes text an argument of a request.
func quote(s string) string { return strings.ReplaceAll(escape(s), `"`, `\(dq`) }

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// CompletionCommand prints the script by which a shell completes command lines of app.
func CompletionCommand(app *ucli.App) *ucli.Command {
	return &ucli.Command{
		Name: "completion", Usage: "print the script by which a shell completes " + app.Name + "'s command lines", ArgsUsage: "bash|zsh|fish",
		Description: strings.ReplaceAll(`Put into ~/.bashrc:  source <(NAME completion bash)
     into ~/.zshrc:   source <(NAME completion zsh), after compinit
     for fish:        NAME completion fish > ~/.config/fish/completions/NAME.fish`, "NAME", app.Name),
		Action: func(c *ucli.Context) error {
			script := Completion(app, c.Args().First())
			if script == "" || c.NArg() != 1 {
				return cli.Usagef("completion needs the name of a shell: bash, zsh or fish")
			}
			_, err := io.WriteString(c.App.Writer, script)
			return err
		},
	}
}
