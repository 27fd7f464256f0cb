// Package manual makes manual pages and shell completions from the definitions
// of commands, so that they match the programs.
package manual

import (
	"fmt"
	"io"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
)

// ManCommand is a hidden command that prints the manual page of a program.
func ManCommand(p *cli.Program) *ucli.Command {
	return &ucli.Command{
		Name: "man", Usage: "print the manual page (roff)", Hidden: true,
		Action: func(c *ucli.Context) error {
			_, err := io.WriteString(c.App.Writer, Man(p))
			return err
		},
	}
}

// Man is the manual page of a program in section 1, in the man macros of roff.
func Man(program *cli.Program) string {
	app := program.App
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
	if len(program.Variables) > 0 {
		p.section("ENVIRONMENT")
		for _, v := range program.Variables {
			p.line(".TP\n\\fB%s\\fR\n%s", escape(v.Name), escape(v.Usage))
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
	p.examples(c.UsageText)
	p.text(c.Description)
	for _, s := range cli.Sections(c) {
		p.line(".PP\n\\fI%s\\fR", escape(s.Heading))
		for i := range s.Flags {
			p.flag(&s.Flags[i])
		}
	}
}

// examples writes command lines, one a line.
func (p *page) examples(lines string) {
	if lines = strings.TrimSpace(lines); lines == "" {
		return
	}
	p.line(".PP\n.nf")
	for l := range strings.SplitSeq(lines, "\n") {
		p.line("%s", escape("  "+strings.TrimSpace(l)))
	}
	p.line(".fi")
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

func (p *page) flag(d *cli.Doc) {
	var names []string
	for _, name := range d.Names {
		names = append(names, "\\fB"+escape(name)+"\\fR")
	}
	head := strings.Join(names, ", ")
	if d.TakesValue() {
		head += " \\fI" + escape(d.Placeholder) + "\\fR"
	}
	p.line(".TP\n%s\n%s", head, escape(d.Usage))
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
