package main

import (
	"maps"
	"os"
	"slices"

	ucli "github.com/urfave/cli/v2"

	"logstow/agent"
	"logstow/config"
	"logstow/relay"
)

// readStores reads the stores: one for all from the command line; else those of the file,
// in which an input can have its own; else LOGSTOW_STORE.
func readStores(errs *problems, c *ucli.Context, file *config.Config, inputs []config.Input) agent.Stores {
	if spec := c.String("store"); spec != "" {
		return agent.Stores{All: []string{spec}}
	}
	names := agent.Stores{All: relay.Join(file.Stores), Own: map[string][]string{}}
	if spec := os.Getenv("LOGSTOW_STORE"); spec != "" && len(names.All) == 0 {
		names.All = []string{spec}
	}
	for i := range inputs {
		in := &inputs[i]
		if len(in.Stores) == 0 {
			continue
		}
		other, given := names.Own[in.Service]
		errs.check(!given || slices.Equal(other, relay.Join(in.Stores)), "the input in line %d: another input ships service %s to another store; a service has one store, or one list of stores",
			in.Line, in.Service)
		names.Own[in.Service] = relay.Join(in.Stores)
	}
	if len(names.All) > 0 {
		return names
	}
	missing := len(names.Own) == 0
	for i := range inputs {
		missing = missing || names.Own[inputs[i].Service] == nil || inputs[i].NamesServices()
	}
	errs.advise(!missing, "--store is missing",
		"give a directory or azblob://CONTAINER, set LOGSTOW_STORE, or give every input its own in the configuration")
	for _, service := range slices.Sorted(maps.Keys(names.Own)) {
		names.All = names.Own[service] // nothing else goes there
		break
	}
	return names
}
