package main

import (
	"logstow/internal/cli"
	"logstow/query"
	"logstow/query/output"
	"logstow/query/report"
)

// The categories of flags in the help.
const (
	categoryStore     = "Store"
	categoryRange     = "Range"
	categorySelection = "Selection"
	categoryOutput    = "Output"
	categoryFollow    = "Follow"
	categoryLimits    = "Limits"
	categoryServer    = "Server"
)

// The values of flags with a fixed set of values.
func recordFormats() []string {
	return []string{output.Raw, output.Text, output.JSON, output.Flat, output.CSV, output.Parquet, output.Pretty, output.Template}
}
func statsFormats() []string  { return report.Formats() }
func fieldsFormats() []string { return []string{report.Table, report.JSON, report.CSV} }
func listFormats() []string   { return []string{report.Table, report.JSON} }
func levelNames() []string    { return []string{"trace", "debug", "info", "warn", "error", "fatal"} }
func planModes() []string     { return []string{"auto", query.PlanList, query.PlanIndex} }
func shells() []string        { return []string{"bash", "zsh", "fish"} }
func colorModes() []string    { return []string{"auto", "always", "never"} }

// variables are the environment variables that logq reads.
func variables() []cli.Variable {
	const query, stats, fields, patterns, ql, segments, serve = "query", "stats", "fields", "patterns", "ql", "segments", "serve"
	return []cli.Variable{
		{Name: "LOGSTOW_STORE", Usage: "store to read if neither --store nor --grant is given", Commands: []string{query, stats, fields, patterns, ql, segments, serve, "services", "completion"}},
		{Name: "LOGSTOW_AUTH", Usage: "Azure credential if --auth is not given", Commands: []string{query, stats, fields, patterns, ql, segments, serve, "services"}},
		{Name: "AZURE_STORAGE_ACCOUNT", Usage: "storage account of azblob:// stores; docs/credentials.md has the other AZURE_ variables", Commands: []string{query, stats, fields, patterns, ql, segments, serve, "services"}},
		{Name: "LOGSTOW_CACHE_DIR", Usage: "directory of the cache (default: logstow in $XDG_CACHE_HOME or ~/.cache)", Commands: []string{query, stats, fields, patterns, ql, serve}},
		{Name: "LOGSTOW_CACHE_SIZE", Usage: "maximum disk usage of the cache (default: 1GiB)", Commands: []string{query, stats, fields, patterns, ql, serve}},
		{Name: "LOGSTOW_PRICES", Usage: "file with the prices of requests", Commands: []string{query, stats, fields, patterns, ql, serve}},
		{Name: "LOGSTOW_PAGER", Usage: "pager for long output (default: $PAGER, else less); cat disables it", Commands: []string{query, stats, fields, patterns, ql, segments}},
		{Name: "GOMEMLIMIT", Usage: "soft memory limit of the Go runtime (default: 96MiB, more with --memory; serve: 768MiB)", Commands: []string{query, stats, fields, patterns, ql, segments, serve}},
		{Name: "COLUMNS", Usage: "width of the terminal (default: as the terminal reports)", Commands: []string{query}},
		{Name: "NO_COLOR", Usage: "if set, --color auto prints no colours", Commands: []string{query}},
	}
}

// instead maps command names of other programs to those of this one.
func instead() map[string]string {
	const (
		records  = "logq query PATTERN... finds records"
		follow   = "logq query --follow prints new records, logq query --tail N the last N"
		count    = "logq stats counts records"
		services = "logq services lists the services, logq segments what is stored"
		server   = "logq serve serves a web UI, and Loki's API for Grafana and logcli"
		shipper  = "that is a command of shipper"
	)
	words := map[string]string{"version": "logq --version prints the version"}
	for hint, all := range map[string][]string{
		server:   {"server", "http", "api", "listen", "grafana", "loki", "web"},
		records:  {"search", "grep", "find", "logs", "log", "get", "cat", "show", "select", "print", "filter", "read", "records"},
		follow:   {"tail", "follow", "watch", "stream", "live"},
		count:    {"count", "aggregate", "top", "histogram", "summary", "group", "report"},
		services: {"ls", "list", "info", "status", "blobs", "files", "sources", "store", "stores"},
		shipper:  {"run", "ship", "check", "quarantine", "retain", "compact", "verify", "reindex", "grant"},
	} {
		for _, word := range all {
			words[word] = hint
		}
	}
	return words
}
