package correct

import (
	"slices"
	"strings"

	"logstow/internal/shell"
	"logstow/query/explain"
)

// Command is a command line of logq, read.
type Command struct {
	Name string
	// Flags are those given, in order of declaration.
	Flags []Flag
	// Args are the arguments: patterns, or the query of ql.
	Args []string
}

// Flag is a flag with its values; a switch has none.
type Flag struct {
	// Name has its dashes.
	Name   string
	Values []string
}

// String writes the command line for a shell.
func (c *Command) String() string {
	words := []string{"logq", c.Name}
	for _, f := range c.Flags {
		if f.Values == nil {
			words = append(words, f.Name)
		}
		for _, value := range f.Values {
			words = append(words, f.Name, shell.Quote(value))
		}
	}
	if slices.ContainsFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, "-") }) {
		words = append(words, "--")
	}
	for _, arg := range c.Args {
		words = append(words, shell.Quote(arg))
	}
	return strings.Join(words, " ")
}

// Apply returns the command line with a correction; not ok if it cannot be applied. That of ql has a query of LogQL.
func (c Command) Apply(correction explain.Correction) (_ Command, ok bool) {
	c.Flags, c.Args = slices.Clone(c.Flags), slices.Clone(c.Args)
	before := c.String()
	for i := range correction {
		f := &correction[i]
		if f.Kind == explain.FixRange {
			c.setRange(f)
		} else if c.Name != "ql" {
			c.apply(f)
		}
	}
	if c.Name == "ql" && len(c.Args) == 1 {
		if query := LogQL(c.Args[0], correction); query != "" {
			c.Args[0] = query
		}
	}
	return c, c.String() != before
}

func (c *Command) apply(f *explain.Fix) {
	switch f.Kind {
	case explain.FixService:
		c.replaceValue("-s", f)
	case explain.FixSource:
		c.replaceValue("--source", &explain.Fix{Old: f.Old, New: explain.Glob(f.New)})
	case explain.FixField, explain.FixValue:
		c.replaceInWhere(f)
	case explain.FixLevel:
		c.replaceArgs(f)
		c.add("-l", f.New)
	case explain.FixSelectService:
		c.replaceArgs(f)
		c.add("-s", f.New)
	case explain.FixCondition:
		c.replaceArgs(f)
		c.add("--where", f.Where())
	case explain.FixWords:
		c.replaceArgs(f, f.Words...)
	case explain.FixExclude:
		c.replaceArgs(f)
		c.add("-x", f.New)
	case explain.FixAny:
		c.replaceArgs(f)
		c.add("-e", anyExpr(f.Words))
	case explain.FixIgnoreCase:
		c.turnOn("-i")
	case explain.FixSubstring:
		c.turnOn("--substring")
	}
}

// replaceArgs removes the patterns that a fix replaces, and puts others in place of the first.
func (c *Command) replaceArgs(f *explain.Fix, by ...string) {
	place := -1
	for _, wanted := range f.Replaces {
		if i := slices.Index(c.Args, wanted); i >= 0 {
			c.Args = slices.Delete(c.Args, i, i+1)
			if place < 0 {
				place = i
			}
		}
	}
	if place >= 0 {
		c.Args = slices.Insert(c.Args, place, by...)
	}
}

// replaceValue replaces a value of a flag.
func (c *Command) replaceValue(name string, f *explain.Fix) {
	for i := range c.Flags {
		if c.Flags[i].Name == name {
			c.Flags[i].Values = slices.Clone(c.Flags[i].Values)
			if j := slices.Index(c.Flags[i].Values, f.Old); j >= 0 && slices.Contains(c.Flags[i].Values, f.New) {
				c.Flags[i].Values = slices.Delete(c.Flags[i].Values, j, j+1)
			} else if j >= 0 {
				c.Flags[i].Values[j] = f.New
			}
		}
	}
}

// replaceInWhere replaces a name or a value in the expressions of --where, if they have it once and not inside another word.
func (c *Command) replaceInWhere(f *explain.Fix) {
	for i := range c.Flags {
		if c.Flags[i].Name != "--where" {
			continue
		}
		c.Flags[i].Values = slices.Clone(c.Flags[i].Values)
		for j, expr := range c.Flags[i].Values {
			c.Flags[i].Values[j] = replaceWord(expr, f.Old, f.New)
		}
	}
}

// replaceWord replaces the occurrences of a word in a text.
func replaceWord(text, old, by string) string {
	part := func(c byte) bool {
		return c == '_' || c == '.' || c-'0' < 10 || c|0x20-'a' < 26
	}
	var out strings.Builder
	for {
		i := strings.Index(text, old)
		if i < 0 || old == "" {
			out.WriteString(text)
			return out.String()
		}
		end := i + len(old)
		inside := i > 0 && part(text[i-1]) || end < len(text) && part(text[end])
		out.WriteString(text[:i])
		if inside {
			out.WriteString(old)
		} else {
			out.WriteString(by)
		}
		text = text[end:]
	}
}

// add adds a value of a flag that may be repeated.
func (c *Command) add(name, value string) {
	if i := slices.IndexFunc(c.Flags, func(f Flag) bool { return f.Name == name }); i >= 0 {
		c.Flags[i].Values = append(slices.Clone(c.Flags[i].Values), value)
		return
	}
	c.Flags = append(c.Flags, Flag{name, []string{value}})
}

func (c *Command) turnOn(name string) {
	if !slices.ContainsFunc(c.Flags, func(f Flag) bool { return f.Name == name }) {
		c.Flags = append(c.Flags, Flag{Name: name})
	}
}

// setRange replaces the range.
func (c *Command) setRange(f *explain.Fix) {
	c.Flags = slices.DeleteFunc(c.Flags, func(f Flag) bool { return slices.Contains([]string{"--since", "--from", "--to"}, f.Name) })
	const form = "2006-01-02T15:04:05Z07:00"
	switch {
	case f.Since != "":
		c.add("--since", f.Since)
		return
	default:
		c.add("--from", f.From.Format(form))
	}
	if !f.To.IsZero() {
		c.add("--to", f.To.Format(form))
	}
}
