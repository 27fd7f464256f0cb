package main

import (
	ucli "github.com/urfave/cli/v2"

	"logstow/correct"
	"logstow/internal/cli"
)

// commandOf is the command line as it was read.
func commandOf(c *ucli.Context) correct.Command {
	command := correct.Command{Name: c.Command.Name, Args: c.Args().Slice()}
	for name, values := range cli.Given(c) {
		command.Flags = append(command.Flags, correct.Flag{Name: name, Values: values})
	}
	return command
}
