// Package clitest checks the help of all commands.
package clitest

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"logstow/internal/cli"
	"logstow/internal/manual"
)

// width is the number of columns that help has to fit into.
const width = 80

// placeholders are the names of values in the help.
func placeholders() []string {
	return []string{
		"ADDRESS", "CLASS", "CLASS=DURATION", "DIR", "DOLLARS", "DURATION", "EXPR", "FILE", "FORMAT", "FUNCTION", "GLOB", "ID",
		"ITEM", "KEY", "KIND", "LAYOUT", "LEVEL", "LIST", "MODE",
		"N", "NAME", "PARSER", "REGEXP", "SHARE", "SIZE", "STORE", "TABLE", "TEMPLATE", "TEXT", "TIME", "ZONE",
	}
}

// Help checks the help of a program and of each of its commands: it fits 80 columns, begins with
// three examples, names environment and manual, and has every flag under a heading with a uniform
// placeholder. make returns a new program.
func Help(t *testing.T, make func() *cli.Program) {
	t.Helper()
	check(t, make, "")
	for _, c := range make().Commands {
		if c.Hidden {
			continue
		}
		check(t, make, c.Name)
		for _, s := range cli.Sections(c) {
			for i := range s.Flags {
				checkFlag(t, c.Name+" "+s.Flags[i].Names[0], &s, &s.Flags[i])
			}
		}
	}
	checkManual(t, make())
}

// check checks the help of a command, of the program if its name is "".
func check(t *testing.T, make func() *cli.Program, command string) {
	t.Helper()
	text := Run(t, make(), strings.Fields(command+" --help")...)
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
			t.Errorf("help of %q: %d columns: %s", command, n, line)
		}
	}
	wanted := []string{"\nExamples:\n", "\nUsage: ", "\nManual: docs/"}
	if command != "completion" {
		wanted = append(wanted, "\nEnvironment:\n")
	}
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("help of %q: no %q", command, want)
		}
	}
	if n := len(Examples(make(), command)); n != 3 {
		t.Errorf("help of %q: %d examples", command, n)
	}
	if i := strings.Index(text, "\nExamples:\n"); i != strings.Index(text, "\n\n")+1 {
		t.Errorf("help of %q does not begin with examples:\n%s", command, text)
	}
}

// Run runs a program and returns what it printed.
func Run(t *testing.T, p *cli.Program, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	p.Writer, p.ErrWriter = &out, &errs
	if status := cli.Run(t.Context(), *p, append([]string{p.Name}, args...)); status != cli.OK || errs.Len() > 0 {
		t.Errorf("%s %q: status %d, %s", p.Name, args, status, &errs)
	}
	return out.String()
}

// Examples are the command lines, split into words, at the start of a command's help.
func Examples(p *cli.Program, command string) (all [][]string) {
	text := p.UsageText
	if c := p.Command(command); c != nil {
		text = c.UsageText
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		all = append(all, Words(line))
	}
	return all
}

// Words splits a line at blanks outside single quotes, as a shell does.
func Words(line string) (words []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words[len(words)-1] += part
			continue
		}
		fields := strings.Fields(part)
		if i > 0 && len(fields) > 0 && !strings.HasPrefix(part, " ") {
			words[len(words)-1] += fields[0]
			fields = fields[1:]
		}
		words = append(words, fields...)
		if strings.HasSuffix(part, " ") {
			words = append(words, "")
		}
	}
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}

func checkFlag(t *testing.T, name string, s *cli.Section, d *cli.Doc) {
	t.Helper()
	if s.Heading == "" {
		t.Errorf("%s: no heading", name)
	}
	if d.TakesValue() && !slices.Contains(placeholders(), d.Placeholder) {
		t.Errorf("%s: placeholder %q", name, d.Placeholder)
	}
	if d.About == "" || strings.HasSuffix(d.About, ".") || d.About[0] >= 'A' && d.About[0] <= 'Z' && !strings.HasPrefix(d.About, "Azure") {
		t.Errorf("%s: usage %q", name, d.About)
	}
}

// checkManual checks that the page names every flag and variable, and that a formatter, if
// installed, accepts it without a warning.
func checkManual(t *testing.T, p *cli.Program) {
	t.Helper()
	page := manual.Man(p)
	plain := strings.NewReplacer(`\-`, "-", `\fB`, "", `\fR`, "").Replace(page)
	for _, c := range p.Commands {
		for _, d := range cli.Docs(c) {
			if !c.Hidden && !strings.Contains(plain, d.Names[0]) {
				t.Errorf("man page: no %s of %s", d.Names[0], c.Name)
			}
			if d.Variable != "" && !slices.ContainsFunc(p.Variables, func(v cli.Variable) bool {
				return v.Name == d.Variable && (len(v.Commands) == 0 || slices.Contains(v.Commands, c.Name))
			}) {
				t.Errorf("the help of %s does not name %s", c.Name, d.Variable)
			}
		}
	}
	for _, v := range p.Variables {
		if !strings.Contains(plain, v.Name) {
			t.Errorf("man page: no %s", v.Name)
		}
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		return
	}
	format := exec.CommandContext(t.Context(), groff, "-man", "-Tutf8", "-ww", "-P-cbou")
	format.Stdin = strings.NewReader(page)
	var warnings bytes.Buffer
	format.Stderr = &warnings
	if _, err := format.Output(); err != nil || warnings.Len() > 0 {
		t.Errorf("man page: %v\n%s", err, &warnings)
	}
}

// Hints checks that no word in OtherNames is a command itself, and that those in OtherFlags lead to flags.
func Hints(t *testing.T, p *cli.Program) {
	t.Helper()
	for word, hint := range p.OtherNames {
		if p.Command(word) != nil || hint == "" {
			t.Errorf("%s leads to %q", word, hint)
		}
	}
	flags := map[string]bool{}
	for _, c := range p.Commands {
		for _, f := range c.Flags {
			for _, name := range f.Names() {
				flags[cli.Dashed(name)] = true
			}
		}
	}
	for name, instead := range p.OtherFlags {
		if flag, _, _ := strings.Cut(instead, " "); !flags[flag] {
			t.Errorf("flag %s leads to %q", name, instead)
		}
	}
}
