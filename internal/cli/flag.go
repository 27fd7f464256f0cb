package cli

import (
	"flag"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/list"
)

// kind is what a flag takes.
type kind int

const (
	text kind = iota
	repeated
	items
	number
	decimal
	toggle
)

// Flag declares a flag of a command. The names are the long one, behind a comma the short one, and behind = the default: a value, what
// the help says of it if the flag takes a number and it is none, or $ with the name of an environment variable that has the value. Where
// only some words are values, they are separated by |, and the first is the default; any text may follow one that ends with =. The usage
// is a phrase for the help, with the `PLACEHOLDER` of the value.
type Flag struct {
	names, usage string
	kind         kind
	// clearable is set if the value may be empty, hidden if the help does not show the flag.
	clearable, hidden bool
}

// Text declares a flag that takes a text.
func Text(names, usage string) Flag { return Flag{names: names, usage: usage} }

// Hidden declares a flag that takes a text, and which the help does not show.
func Hidden(names, usage string) Flag { return Flag{names: names, usage: usage, hidden: true} }

// Repeated declares a flag that takes several texts, as typed, including blanks: those of all its uses. [List] returns them.
func Repeated(names, usage string) Flag { return Flag{names: names, usage: usage, kind: repeated} }

// Items declares a flag that takes several texts, each of which may be a list: commas outside quotes and brackets separate its items,
// blanks around an item are removed.
func Items(names, usage string) Flag { return Flag{names: names, usage: usage, kind: items} }

// Number declares a flag that takes a whole number.
func Number(names, usage string) Flag { return Flag{names: names, usage: usage, kind: number} }

// Decimal declares a flag that takes a number.
func Decimal(names, usage string) Flag { return Flag{names: names, usage: usage, kind: decimal} }

// Switch declares a flag that takes no value.
func Switch(names, usage string) Flag { return Flag{names: names, usage: usage, kind: toggle} }

// Clearable returns the flag with the empty value as a valid one: it overrides another source.
func (f Flag) Clearable() Flag {
	f.clearable = true
	return f
}

// Under makes the flags that the help shows under a heading.
func Under(heading string, flags ...Flag) (all []ucli.Flag) {
	for _, f := range flags {
		names, value, _ := strings.Cut(f.names, "=")
		made := &declared{Flag: f, heading: heading, all: strings.Split(names, ","), value: value}
		if name, ok := strings.CutPrefix(value, "$"); ok {
			made.value, made.variable = "", name
		}
		if words := strings.Split(value, "|"); len(words) > 1 {
			made.value = words[0]
			made.words = slices.DeleteFunc(words, func(word string) bool { return word == "" })
		}
		all = append(all, made)
	}
	return all
}

// Hide makes the help not show a flag.
func Hide(f ucli.Flag) { f.(*declared).hidden = true }

// declared is a flag of a command.
type declared struct {
	Flag
	heading string
	// all are the names, value is the default, variable the environment variable, words are the values.
	all             []string
	value, variable string
	words           []string
	// set is set if the environment variable has a value.
	set bool
}

// String is the flag's name, as on a command line.
func (f *declared) String() string { return Dashed(f.all[0]) }

// Names are the long name and the short one.
func (f *declared) Names() []string { return f.all }

// IsSet reports whether the environment variable provided a value.
func (f *declared) IsSet() bool { return f.set }

// IsVisible reports whether the help shows the flag.
func (f *declared) IsVisible() bool { return !f.hidden }

// Apply adds the flag to set.
func (f *declared) Apply(set *flag.FlagSet) error {
	value, name := f.value, f.all[0]
	if text := os.Getenv(f.variable); f.variable != "" { //nolint:forbidigo // the flag's
		value, f.set = text, text != ""
	}
	switch f.kind {
	case repeated, items:
		values := &listValue{commas: f.kind == items}
		if value != "" {
			values.values, values.replace = []string{value}, true
		}
		set.Var(values, name, f.usage)
	case number:
		n, _ := strconv.Atoi(value)
		set.Int(name, n, f.usage)
	case decimal:
		set.Float64(name, 0, f.usage)
	case toggle:
		set.Bool(name, false, f.usage)
	default:
		set.String(name, value, f.usage)
	}
	return nil
}

// isList reports whether the flag may be repeated.
func (f *declared) isList() bool { return f.kind == repeated || f.kind == items }

// check returns an error if a value, behind the flag as typed, is invalid.
func (f *declared) check(typed, value string) (err error) {
	want := ""
	switch f.kind {
	case items:
		if _, err := list.Texts(value); err != nil {
			return Usagef("%s: %w", typed, err)
		}
	case number:
		_, err = strconv.Atoi(value)
		want = "a whole number"
	case decimal:
		_, err = strconv.ParseFloat(value, 64)
		want = "a number"
	case toggle:
		if _, err := strconv.ParseBool(value); err != nil {
			return Usagef("%s=%s: want true or false, or %s alone", typed, value, typed)
		}
	}
	if err != nil {
		return Usagef("%s %q: want %s", typed, value, want)
	}
	return nil
}

// checkWord returns an error if a value is none of the words of the flag, if it has words.
func (f *declared) checkWord(value string) error {
	if value == "" || len(f.words) == 0 ||
		slices.ContainsFunc(f.words, func(w string) bool { return strings.HasSuffix(w, "=") && strings.HasPrefix(value, w) }) {
		return nil
	}
	return OneOf(f.all[0], value, f.doc().Words...)
}

// Doc is what the help says of a flag.
type Doc struct {
	// Names are its names with dashes.
	Names []string
	// Placeholder is the name of its value; "" if it takes none. About is its usage, Usage that with the default.
	Placeholder, About, Usage string
	// Variable is the name of an environment variable with its value.
	Variable string
	// Words are its values, if only some words are.
	Words []string

	heading string
}

// TakesValue reports whether the flag takes a value; others are switches.
func (d *Doc) TakesValue() bool { return d.Placeholder != "" }

// doc describes the flag.
func (f *declared) doc() Doc {
	d := Doc{heading: f.heading, Variable: f.variable, About: f.usage}
	for _, name := range f.all {
		d.Names = append(d.Names, Dashed(name))
	}
	for _, word := range f.words {
		d.Words = append(d.Words, strings.TrimSuffix(word, "="))
	}
	before, rest, _ := strings.Cut(f.usage, "`")
	if name, after, ok := strings.Cut(rest, "`"); ok {
		d.Placeholder, d.About = name, before+name+after
		if text, only := strings.CutPrefix(after, ": "); only && before == "" {
			d.About = text
		}
	}
	if d.Usage = d.About; f.value != "" && f.value != "0" {
		d.Usage += " (default: " + f.value + ")"
	}
	return d
}

// Docs are the flags that the help of a command shows.
func Docs(c *ucli.Command) (all []Doc) {
	for _, f := range c.VisibleFlags() {
		all = append(all, f.(*declared).doc())
	}
	return all
}

// Section is a heading in the help, and the flags under it.
type Section struct {
	Heading string
	Flags   []Doc
}

// Sections are the flags that the help of a command shows, by their headings.
func Sections(c *ucli.Command) (all []Section) {
	for _, d := range Docs(c) {
		i := slices.IndexFunc(all, func(s Section) bool { return s.Heading == d.heading })
		if i < 0 {
			i, all = len(all), append(all, Section{Heading: d.heading})
		}
		all[i].Flags = append(all[i].Flags, d)
	}
	return all
}

// Given yields the flags of a command line, by the short name where there is one, and their values.
func Given(c *ucli.Context) iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		for _, one := range c.Command.Flags {
			f, ok := one.(*declared)
			if !ok || !c.IsSet(f.all[0]) {
				continue
			}
			values := []string{fmt.Sprint(c.Generic(f.all[0]))}
			switch {
			case f.isList():
				values = List(c, f.all[0])
			case f.kind == toggle:
				values = nil
			}
			if !yield(Dashed(f.all[len(f.all)-1]), values) {
				return
			}
		}
	}
}

// List returns the values of a repeatable flag.
func List(c *ucli.Context, name string) []string {
	if v, ok := c.Generic(name).(*listValue); ok {
		return v.values
	}
	return nil
}

// listValue has the values of a flag that may be repeated.
type listValue struct {
	values  []string
	commas  bool
	replace bool // the values are the environment's
}

// String is the values as one text.
func (v *listValue) String() string { return strings.Join(v.values, ", ") }

// Set adds the values of a use of the flag.
func (v *listValue) Set(text string) error {
	items := []string{text}
	if v.commas {
		var err error
		if items, err = list.Texts(text); err != nil {
			return err
		}
	}
	if v.replace {
		v.values, v.replace = nil, false
	}
	v.values = append(v.values, items...)
	return nil
}

// Dashed is a flag's name as on a command line.
func Dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}
