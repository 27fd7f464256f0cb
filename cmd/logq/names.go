package main

import (
	ucli "github.com/urfave/cli/v2"

	"logstow/field"
	"logstow/internal/cli"
)

// listNames are the names that a flag lists.
func listNames(c *ucli.Context, flag string) ([]field.Name, error) {
	all, err := field.ParseNames(cli.List(c, flag))
	if err != nil {
		return nil, cli.Usagef("--%s: %w", flag, err)
	}
	return all, nil
}
