package cli

import (
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/list"
)

// Rule is a rule for flags that are given together.
type Rule struct {
	// Flag is the flag that the rule is for.
	Flag string
	// Without are flags with which it cannot be used together, for a Reason, which may be empty; it requires one of Requires.
	Without, Reason, Requires string
}

// Without declares that a flag cannot be used together with any of others, for a reason, which may be empty.
func Without(flag, others, reason string) Rule {
	return Rule{Flag: flag, Without: others, Reason: reason}
}

// Requires declares that a flag requires one of others, in commands that have all of them.
func Requires(flag, others string) Rule { return Rule{Flag: flag, Requires: others} }

// check reports flags that a rule rejects, and values that a flag does not have.
func check(c *ucli.Context, rules []Rule) error {
	given := func(name string) bool {
		_, toggle := c.Generic(name).(interface{ IsBoolFlag() bool })
		return c.IsSet(name) && (!toggle || c.Bool(name))
	}
	for _, r := range rules {
		if !given(r.Flag) {
			continue
		}
		if err := r.check(c.Command.Flags, given); err != nil {
			return err
		}
	}
	for _, f := range c.Command.Flags {
		if f, ok := f.(*declared); ok {
			if err := f.checkWord(c.String(f.all[0])); err != nil {
				return err
			}
		}
	}
	return nil
}

// check reports that the rule rejects its flag; given reports whether another one is given.
func (r *Rule) check(flags []ucli.Flag, given func(name string) bool) error {
	others, required := strings.Fields(r.Without), strings.Fields(r.Requires)
	i := slices.IndexFunc(others, given)
	missing := func(name string) bool { return find(flags, name) == nil }
	switch {
	case i >= 0 && r.Reason != "":
		return Usagef("--%s cannot be used together with --%s: %s", r.Flag, others[i], r.Reason)
	case i >= 0:
		return Usagef("--%s cannot be used together with %s", r.Flag, alternatives(others))
	case len(required) > 0 && !slices.ContainsFunc(required, given) && !slices.ContainsFunc(required, missing):
		return Usagef("--%s requires %s", r.Flag, alternatives(required))
	}
	return nil
}

// alternatives are the names of flags, as alternatives in a sentence.
func alternatives(names []string) string {
	return list.Alternatives(strings.Fields("--" + strings.Join(names, " --")))
}
