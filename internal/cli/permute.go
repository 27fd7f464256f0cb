package cli

import (
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"
)

// Permute rewrites a command's arguments as urfave/cli wants them: every flag
// first, as --name=value, then "--", then the positional arguments. It knows
// --name value, --name=value, -n5, -n 5, -n=5 and joined short flags (-if, -in5).
// Flags end at "--"; "-" is positional. An unknown dash-argument or a missing
// value is a usage error.
func Permute(flags []ucli.Flag, args []string) ([]string, error) {
	var out, positional []string
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			positional = append(positional, args...)
			break
		}
		var err error
		switch {
		case strings.HasPrefix(arg, "--"):
			out, args, err = long(out, flags, arg, args)
		case len(arg) > 1 && arg[0] == '-':
			out, args, err = short(out, flags, arg, args)
		default:
			positional = append(positional, arg)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(append(out, "--"), positional...), nil
}

// long takes one argument that starts with two dashes.
func long(out []string, flags []ucli.Flag, arg string, args []string) ([]string, []string, error) {
	name, value, joined := strings.Cut(arg[2:], "=")
	f := find(flags, name)
	switch {
	case f == nil || len(name) == 1:
		return nil, nil, unknown(flags, arg)
	case joined:
		return append(out, "--"+f.Names()[0]+"="+value), args, nil
	case !takesValue(f):
		return append(out, "--"+f.Names()[0]), args, nil
	case len(args) == 0:
		return nil, nil, Usagef("%s needs a value", arg)
	}
	return append(out, "--"+f.Names()[0]+"="+args[0]), args[1:], nil
}

// short takes one argument of a dash and one or more one-letter flags, the last
// of which may be followed by its value.
func short(out []string, flags []ucli.Flag, arg string, args []string) ([]string, []string, error) {
	for i := 1; i < len(arg); i++ {
		f := find(flags, arg[i:i+1])
		if f == nil {
			return nil, nil, unknown(flags, arg)
		}
		name := "--" + f.Names()[0]
		if !takesValue(f) {
			out = append(out, name)
			continue
		}
		if rest := arg[i+1:]; rest != "" {
			return append(out, name+"="+strings.TrimPrefix(rest, "=")), args, nil
		}
		if len(args) == 0 {
			return nil, nil, Usagef("-%c needs a value", arg[i])
		}
		return append(out, name+"="+args[0]), args[1:], nil
	}
	return out, args, nil
}

func find(flags []ucli.Flag, name string) ucli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	if name == "help" || name == "h" {
		return ucli.HelpFlag
	}
	return nil
}

func takesValue(f ucli.Flag) bool {
	d, ok := f.(ucli.DocGenerationFlag)
	return ok && d.TakesValue()
}

// unknown names the flag and, for a pattern that merely looks like one, the way to write it.
func unknown(flags []ucli.Flag, arg string) error {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	for _, f := range flags {
		if n := f.Names()[0]; len(name) > 2 && strings.HasPrefix(n, name) {
			return Usagef("unknown flag %s; did you mean --%s?", arg, n)
		}
	}
	return Usagef("unknown flag %s (put -- before an argument that starts with a dash)", arg)
}
