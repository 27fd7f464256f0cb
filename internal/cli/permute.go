package cli

import (
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/hint"
	"logstow/internal/suggest"
)

// Permute rewrites a command's arguments into the order required by urfave/cli: every flag first,
// as --name=value, then "--", then the positional arguments. It accepts --name value, --name=value,
// -n5, -n 5, -n=5 and joined short flags (-if, -in5). Flags end at "--"; "-" is positional.
//
// Usage errors are: an unknown argument that begins with a dash, a value that is missing, empty or
// not of the flag's type, and a second value for a flag that is no [ListFlag]. A repeated switch
// (-i -i) has no effect.
//
// The error of an unknown flag suggests the one in others, as in [Program], if there is one.
func Permute(flags []ucli.Flag, others map[string]string, args []string) ([]string, error) {
	p := &permuter{flags: flags, others: others, args: args, seen: map[string]string{}}
	for len(p.args) > 0 {
		arg := p.next()
		if arg == "--" {
			p.positional = append(p.positional, p.args...)
			break
		}
		var err error
		switch {
		case strings.HasPrefix(arg, "--"):
			err = p.long(arg)
		case len(arg) > 1 && arg[0] == '-':
			err = p.short(arg)
		default:
			p.positional = append(p.positional, arg)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(append(p.out, "--"), p.positional...), nil
}

// permuter is the state of Permute.
type permuter struct {
	flags           []ucli.Flag
	others          map[string]string
	args            []string // unprocessed arguments
	out, positional []string
	seen            map[string]string // the flags of out that are no lists, with their values
}

func (p *permuter) next() string {
	arg := p.args[0]
	p.args = p.args[1:]
	return arg
}

// long processes an argument that starts with two dashes.
func (p *permuter) long(arg string) error {
	name, value, joined := strings.Cut(arg[2:], "=")
	f := find(p.flags, name)
	switch {
	case f == nil || len(name) == 1:
		return p.unknown(arg)
	case joined:
		return p.value(f, "--"+name, value)
	case f.kind == toggle:
		return p.turnOn(f)
	case len(p.args) == 0:
		return Usagef("%s needs a value", arg)
	}
	return p.value(f, arg, p.next())
}

// short processes an argument of a dash and one or more one-letter flags, the last of which may be
// followed by its value.
func (p *permuter) short(arg string) error {
	for i := 1; i < len(arg); i++ {
		f := find(p.flags, arg[i:i+1])
		if f == nil {
			return p.unknown(arg)
		}
		if f.kind == toggle {
			if err := p.turnOn(f); err != nil {
				return err
			}
			continue
		}
		typed := "-" + arg[i:i+1]
		if rest := arg[i+1:]; rest != "" {
			return p.value(f, typed, strings.TrimPrefix(rest, "="))
		}
		if len(p.args) == 0 {
			return Usagef("%s needs a value", typed)
		}
		return p.value(f, typed, p.next())
	}
	return nil
}

// turnOn processes a switch without a value.
func (p *permuter) turnOn(f *declared) error {
	name := f.String()
	before, again := p.seen[name]
	if again && before != "" {
		return twice(name)
	}
	if !again {
		p.seen[name] = ""
		p.out = append(p.out, name)
	}
	return nil
}

// value processes a flag, as typed, with a value.
func (p *permuter) value(f *declared, typed, value string) error {
	if value == "" && !f.clearable {
		return hint.Wrap(Usagef("%s has an empty value", typed), "omit %s; a shell variable in its value may be unset", typed)
	}
	if err := f.check(typed, value); err != nil {
		return err
	}
	name := f.String()
	if !f.isList() {
		if _, again := p.seen[name]; again {
			return twice(name)
		}
		p.seen[name] = value
	}
	p.out = append(p.out, name+"="+value)
	return nil
}

func twice(name string) error {
	return hint.Wrap(Usagef("%s is given more than once", name), "give it once")
}

// find returns the flag with a name; nil if there is none.
func find(flags []ucli.Flag, name string) *declared {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f.(*declared)
		}
	}
	return nil
}

// unknown reports an unknown flag with the flag that another program has under this name, the nearest flag or, for a pattern that only
// looks like a flag, how to write it.
func (p *permuter) unknown(arg string) error {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	var names []string
	for _, f := range p.flags {
		names = append(names, f.Names()...)
	}
	err := Usagef("unknown flag %s", arg)
	other := p.others[name]
	if flag, _, _ := strings.Cut(strings.TrimLeft(other, "-"), " "); find(p.flags, flag) != nil {
		return hint.Wrap(err, "did you mean %s?", other)
	}
	if f := find(p.flags, "output"); f != nil && slices.Contains(f.words, name) { // --json
		return hint.Wrap(err, "did you mean --output %s?", name)
	}
	if f := find(p.flags, name); f != nil && len(name) == 1 { // --s
		return hint.Wrap(err, "did you mean %s?", Dashed(name))
	}
	if near := suggest.Nearest(name, names); len(name) > 2 && near != "" {
		return hint.Wrap(err, "did you mean %s?", Dashed(near))
	}
	if strings.HasPrefix(arg, "--") && isFlagName(name) { // what follows an error of usage names the command's help
		return err
	}
	return hint.Wrap(err, "put -- before an argument that starts with a dash")
}

// isFlagName reports whether a word could be the name of a flag: lower-case letters, digits and single dashes.
func isFlagName(name string) bool {
	return len(name) > 1 && name[0]-'a' < 26 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" &&
		!strings.Contains(name, "--") && name[len(name)-1] != '-'
}
