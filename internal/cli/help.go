package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"
)

const (
	// helpWidth is the number of columns that help fits into.
	helpWidth = 80
	// textColumn is the column of the text next to a flag, command or variable.
	textColumn = 26
)

// writeHelp prints the help of a command, of the whole program if c is nil.
func (p Program) writeHelp(c *ucli.Command) error {
	h := &help{}
	if c == nil {
		h.program(p)
	} else {
		h.command(p, c)
	}
	_, err := io.WriteString(p.Writer, h.String())
	return err
}

// help is help text being written.
type help struct{ strings.Builder }

func (h *help) program(p Program) {
	h.title(p.Name, p.Usage, p.UsageText)
	fmt.Fprintf(h, "\nUsage: %s COMMAND [flags] [arguments]\n\nCommands:\n", p.Name)
	for _, c := range p.VisibleCommands() {
		h.entry("  "+c.Name, c.Usage)
	}
	h.WriteString("\nFlags:\n")
	h.entry("  -h, --help", fmt.Sprintf("show this help; %s COMMAND --help shows that of a command", p.Name))
	h.entry("  -v, --version", "print the version")
	h.variables(p, "")
	h.manual(p)
}

func (h *help) command(p Program, c *ucli.Command) {
	h.title(p.Name+" "+c.Name, c.Usage, c.UsageText)
	usage := []string{"Usage:", p.Name, c.Name}
	if len(c.VisibleFlags()) > 0 {
		usage = append(usage, "[flags]")
	}
	if c.ArgsUsage != "" {
		usage = append(usage, c.ArgsUsage)
	}
	fmt.Fprintf(h, "\n%s\n", strings.Join(usage, " "))
	h.text(c.Description)
	for _, s := range Sections(c) {
		fmt.Fprintf(h, "\n%s:\n", s.Heading)
		for i := range s.Flags {
			h.flag(&s.Flags[i])
		}
	}
	h.variables(p, c.Name)
	h.manual(p)
}

// title writes the title of a help text and examples.
func (h *help) title(name, usage, examples string) {
	fmt.Fprintf(h, "%s - %s\n", name, usage)
	if examples == "" {
		return
	}
	h.WriteString("\nExamples:\n")
	for line := range strings.SplitSeq(strings.TrimSpace(examples), "\n") {
		fmt.Fprintf(h, "  %s\n", strings.TrimSpace(line))
	}
}

// text writes paragraphs. It does not wrap those with an indented line.
func (h *help) text(text string) {
	if text == "" {
		return
	}
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if !strings.Contains("\n"+paragraph, "\n ") {
			paragraph = strings.Join(wrap(paragraph, helpWidth), "\n")
		}
		fmt.Fprintf(h, "\n%s\n", paragraph)
	}
}

func (h *help) flag(d *Doc) {
	names := slices.Clone(d.Names)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(min(len(a), 3), min(len(b), 3)) })
	head := strings.Join(names, ", ")
	if len(names) == 1 {
		head = "    " + head
	}
	if d.TakesValue() {
		head += " " + d.Placeholder
	}
	h.entry("  "+head, d.Usage)
}

func (h *help) variables(p Program, command string) {
	first := true
	for _, v := range p.Variables {
		if command != "" && len(v.Commands) > 0 && !slices.Contains(v.Commands, command) {
			continue
		}
		if first {
			h.WriteString("\nEnvironment:\n")
			first = false
		}
		h.entry("  "+v.Name, v.Usage)
	}
}

func (h *help) manual(p Program) {
	if p.Manual != "" {
		fmt.Fprintf(h, "\nManual: %s; as a man page: %s man | man -l -\n", p.Manual, p.Name)
	}
}

// entry writes a name with its text next to it, wrapped.
func (h *help) entry(head, text string) {
	if len(head) > textColumn-2 {
		fmt.Fprintf(h, "%s\n", head)
		head = ""
	}
	for _, line := range wrap(text, helpWidth-textColumn) {
		fmt.Fprintf(h, "%-*s%s\n", textColumn, head, line)
		head = ""
	}
}

// wrap breaks text at blanks into lines of at most width columns; a longer word has its own line.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
