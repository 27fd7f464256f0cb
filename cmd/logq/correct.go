package main

import (
	"slices"
	"strconv"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"logstow/correct"
	"logstow/internal/cli"
)

// commandOf is the command line as it was read.
func commandOf(c *ucli.Context) correct.Command {
	command := correct.Command{Name: c.Command.Name, Args: c.Args().Slice()}
	for _, s := range flags() {
		for _, f := range s.flags {
			name, short := f.long()
			if !slices.Contains(strings.Fields(f.commands), command.Name) || !c.IsSet(name) {
				continue
			}
			given := correct.Flag{Name: cli.Dashed(name)}
			if short != "" {
				given.Name = cli.Dashed(short)
			}
			switch f.kind {
			case switchFlag:
			case listFlag, itemsFlag:
				given.Values = cli.List(c, name)
			case numberFlag:
				given.Values = []string{strconv.Itoa(c.Int(name))}
			case dollarsFlag:
				given.Values = []string{strconv.FormatFloat(c.Float64(name), 'g', -1, 64)}
			default:
				given.Values = []string{c.String(name)}
			}
			command.Flags = append(command.Flags, given)
		}
	}
	return command
}
