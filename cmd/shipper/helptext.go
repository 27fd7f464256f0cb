package main

import (
	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
)

// The categories of flags in the help.
const (
	categoryConfiguration = "Configuration"
	categoryStore         = "Store"
	categoryService       = "Service"
	categoryInputs        = "Inputs"
	categoryRecords       = "Records"
	categorySegments      = "Segments"
	categoryBuffer        = "Buffer"
	categoryLimits        = "Limits"
	categoryMetrics       = "Metrics"
	categoryRange         = "Range"
	categoryRetention     = "Retention"
	categoryGrant         = "Grant"
	categoryDepth         = "Depth"
	categoryOutput        = "Output"
)

// jsonFormat is the output format for programs.
const jsonFormat = "json"

// outputFlag is -o of the commands that print a report.
func outputFlag(json string) []ucli.Flag {
	return cli.Under(categoryOutput, cli.Text("output,o=table|json", "`FORMAT`: table, or json ("+json+")"))
}

// asJSON reports whether -o is json.
func asJSON(c *ucli.Context) bool { return c.String("output") == jsonFormat }

// variables are the environment variables that shipper reads.
func variables() []cli.Variable {
	stored := []string{"run", "check", "import", "retain", "compact", "export", "verify", "reindex", "grant"}
	buffered := []string{"run", "check", "import", "status", "tap", "quarantine", "resend"}
	reading := []string{"run", "check"}
	return []cli.Variable{
		{Name: "LOGSTOW_STORE", Usage: "store if --store is not given", Commands: stored},
		{Name: "LOGSTOW_AUTH", Usage: "Azure credential if --auth is not given", Commands: stored},
		{
			Name:     "AZURE_STORAGE_ACCOUNT",
			Usage:    "storage account of azblob:// stores; docs/credentials.md has the other AZURE_ variables",
			Commands: stored,
		},
		{Name: "LOGSTOW_RELAY_TOKEN", Usage: "token for relay:// stores", Commands: reading},
		{Name: "LOGSTOW_CONFIG", Usage: "configuration file if --config is not given", Commands: reading},
		{
			Name:     "XDG_STATE_HOME",
			Usage:    "directory that holds the buffers, in logstow/ (default: ~/.local/state; /var/lib for root)",
			Commands: buffered,
		},
		{Name: "GOMEMLIMIT", Usage: "soft memory limit of the Go runtime (default: 90MiB)", Commands: reading},
	}
}

// instead maps command names of other programs to those of this one.
func instead() map[string]string {
	words := map[string]string{"version": "shipper --version prints the version"}
	for hint, all := range map[string][]string{
		"shipper run FILE... reads files and ships their lines":        {"ship", "start", "serve", "agent", "daemon", "tail", "read", "watch", "send", "push", "upload", "collect", "follow"},
		"shipper retain --keep 30d deletes logs past their retention":  {"delete", "prune", "purge", "clean", "cleanup", "expire", "rm", "remove", "gc", "retention", "drop"},
		"shipper check checks the configuration and tries the storage": {"validate", "test", "config", "doctor", "lint", "ping"},
		"shipper compact merges small segments into large ones":        {"compaction", "merge", "compress", "optimize", "vacuum"},
		"shipper verify compares blobs and index":                      {"audit", "fsck", "scrub", "diff", "compare"},
		"shipper reindex rebuilds the index from the blobs":            {"rebuild", "repair", "fix", "index"},
		"shipper grant writes a file that gives access to one service": {"share", "token", "sas", "access", "sign"},
		"shipper status shows what waits in buffers":                   {"ps", "list", "ls", "buffer", "buffers", "info", "show"},
		"shipper tap shows the records that pass":                      {"top", "inspect", "sniff", "debug", "trace", "live"},
		"that is a command of logq":                                    {"query", "stats", "fields", "patterns", "services", "segments"},
		"logq query PATTERN... finds records":                          {"search", "grep", "find", "logs"},
	} {
		for _, word := range all {
			words[word] = hint
		}
	}
	return words
}
