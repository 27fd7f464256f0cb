package main

import (
	"strings"

	"logstow/internal/cli"
)

// variables are the environment variables that logq reads.
func variables() (all []cli.Variable) {
	for _, one := range [][3]string{
		{"LOGSTOW_STORE", inStores + " completion", "store to read if neither --store nor --grant is given"},
		{"LOGSTOW_AUTH", inStores, "Azure credential if --auth is not given"},
		{"AZURE_STORAGE_ACCOUNT", inStores, "storage account of azblob:// stores; docs/credentials.md has the other AZURE_ variables"},
		{"LOGSTOW_CACHE_DIR", metered, "directory of the cache (default: logstow in $XDG_CACHE_HOME or ~/.cache)"},
		{"LOGSTOW_CACHE_SIZE", metered, "maximum disk usage of the cache (default: 1GiB)"},
		{"LOGSTOW_PRICES", metered, "file with the prices of requests"},
		{"LOGSTOW_QUERIES", "saved serve", "file of shared queries if --queries is not given"},
		{"LOGSTOW_PAGER", ranged, "pager for long output (default: $PAGER, else less); cat disables it"},
		{"GOMEMLIMIT", ranged + " serve", "soft memory limit of the Go runtime (default: 96MiB, more with --memory; serve: 768MiB)"},
		{"COLUMNS", "query stats fields patterns ql saved", "width of the terminal (default: as the terminal reports)"},
		{"NO_COLOR", "query", "if set, --color auto prints no colours"},
	} {
		all = append(all, cli.Variable{Name: one[0], Usage: one[2], Commands: strings.Fields(one[1])})
	}
	return all
}

// instead maps command names of other programs to those of this one.
func instead() map[string]string {
	words := map[string]string{"version": "logq --version prints the version"}
	for _, one := range [][2]string{
		{"server http api listen grafana loki web", "logq serve serves a web UI, and Loki's API for Grafana and logcli"},
		{"search grep find logs log get cat show select print filter read records", "logq query PATTERN... finds records"},
		{"queries favorites bookmarks", "logq saved lists the queries of a file, and runs one"},
		{"tail follow watch stream live", "logq query --follow prints new records, logq query --tail N the last N"},
		{"count aggregate top histogram summary group report", "logq stats counts records"},
		{"ls list info status blobs files sources store stores", "logq services lists the services, logq segments the segments"},
		{"labels label series columns keys schema", "logq fields describes the fields of records, logq services lists the services"},
		{"run ship check quarantine resend retain compact verify reindex grant", "that is a command of shipper"},
	} {
		for word := range strings.FieldsSeq(one[0]) {
			words[word] = one[1]
		}
	}
	return words
}

// flagsInstead maps flags of other programs, without dashes, to those of this one.
func flagsInstead() map[string]string {
	names := map[string]string{}
	for _, one := range [][2]string{
		{"v invert-match not", "--exclude"},
		{"E P grep g", "--regexp"},
		{"until end", "--to"},
		{"last ago", "--since"},
		{"app container unit u job", "--service"},
		{"priority p severity", "--level"},
		{"filter", "--where"},
		{"lines", "--tail"},
		{"top head take max-count m", "--limit"},
		{"reverse desc", "--newest"},
		{"format", "--output"},
		{"group-by groupby", "--by"},
		{"no-color no-colour", "--color never"},
	} {
		for name := range strings.FieldsSeq(one[0]) {
			names[name] = one[1]
		}
	}
	return names
}
