package main

import (
	"slices"
	"strings"
	"testing"
)

// The tables of flags name commands and flags that exist, and each flag of a command is declared once.
func TestFlagTables(t *testing.T) {
	t.Parallel()
	var all []string
	for _, c := range commands(environment{}) {
		var names []string
		for _, f := range c.Flags {
			for _, name := range f.Names() {
				if slices.Contains(names, name) {
					t.Errorf("%s declares %s twice", c.Name, name)
				}
				names = append(names, name)
			}
		}
		all = append(append(all, c.Name), names...)
	}
	for _, s := range flags() {
		for _, f := range s.flags {
			for command := range strings.FieldsSeq(f.commands) {
				if !slices.Contains(all, command) {
					t.Errorf("%s is a flag of %s, which is no command", f.names, command)
				}
			}
		}
	}
	for _, one := range rules() {
		for _, name := range append(strings.Fields(one.Without+" "+one.Requires), one.Flag) {
			if !slices.Contains(all, name) {
				t.Errorf("%+v: no flag %s", one, name)
			}
		}
	}
}
