package docscheck_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"logstow/config"
	"logstow/input/kinds"
)

// rows are the cells of the table in a section of docs/reference.md, without its head.
func rows(t *testing.T, section string) (all [][]string) {
	t.Helper()
	_, text, found := strings.Cut(read(t, root, "docs", "reference.md"), "\n## "+section+"\n")
	if !found {
		t.Fatalf("docs/reference.md has no section %s", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "| ") {
			cells := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, "¦"), "| "), " | ")
			all = append(all, cells)
		}
	}
	if len(all) < 4 {
		t.Fatalf("the section %s has no table", section)
	}
	return all[2:]
}

// quoted are the texts in backquotes.
func quoted(cell string) (all []string) {
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

// compare compares what the code has with what docs/reference.md has.
func compare(t *testing.T, inCode, onPage []string) {
	t.Helper()
	for i, item := range onPage {
		if !slices.Contains(inCode, item) {
			t.Errorf("docs/reference.md has %q, the code does not", item)
		}
		if slices.Contains(onPage[:i], item) {
			t.Errorf("docs/reference.md has %q twice", item)
		}
	}
	slices.Sort(inCode)
	for _, item := range slices.Compact(inCode) {
		if !slices.Contains(onPage, item) {
			t.Errorf("docs/reference.md does not have %q", item)
		}
	}
}

// help is what a command prints with --help.
func help(t *testing.T, program string, command ...string) string {
	t.Helper()
	out, err := exec.Command(filepath.Join(bin(t), program), append(command, "--help")...).Output()
	if err != nil {
		t.Fatalf("%s %s --help: %v", program, command, err)
	}
	return string(out)
}

// entries are the names and texts under the headings of a help text. The texts stand
// in column 26, below a name that is longer.
func entries(text string) (all [][2]string) {
	const column = 26
	name := regexp.MustCompile(`^  (?:-\w, --|    --|[a-z])`)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		beside := len(line) > column && line[column-2:column] == "  " && line[column] != ' '
		switch {
		case name.MatchString(line) && beside:
			all = append(all, [2]string{strings.TrimSpace(line[:column]), line[column:]})
		case name.MatchString(line):
			all = append(all, [2]string{strings.TrimSpace(line)})
		case len(all) > 0 && beside && strings.TrimSpace(line[:column]) == "":
			all[len(all)-1][1] = strings.TrimSpace(all[len(all)-1][1] + " " + line[column:])
		}
	}
	return all
}

// The table of flags has each flag of each command with its short form, the name of
// its value and its default, and no others.
func TestReferenceFlags(t *testing.T) {
	t.Parallel()
	var inCode, onPage []string
	def := regexp.MustCompile(`\(default: ([^()]*(?:\([^()]*\)[^()]*)*)\)$`)
	for _, program := range []string{"shipper", "logq"} {
		_, commands, _ := strings.Cut(help(t, program), "\nCommands:\n")
		commands, _, _ = strings.Cut(commands, "\n\n")
		for _, c := range entries(commands) {
			_, flags, _ := strings.Cut(help(t, program, c[0]), "\nUsage: ")
			flags, _, _ = strings.Cut(flags, "\nEnvironment:\n")
			for _, f := range entries(flags) {
				if !strings.Contains(f[0], "--") {
					continue
				}
				value := "-"
				if m := def.FindStringSubmatch(f[1]); m != nil {
					value = m[1]
				}
				inCode = append(inCode, fmt.Sprintf("%s %s (%s)", c[0], strings.ReplaceAll(f[0], ",", ""), value))
			}
		}
	}
	if len(inCode) < 100 {
		t.Fatalf("only %d flags", len(inCode))
	}
	for _, row := range rows(t, "Flags") {
		if len(row) != 4 {
			t.Errorf("%q: want flag, commands, default and meaning", row)
			continue
		}
		for command := range strings.FieldsSeq(row[1]) {
			onPage = append(onPage, fmt.Sprintf("%s %s (%s)", command, strings.Join(quoted(row[0]), " "), strings.ReplaceAll(row[2], "`", "")))
		}
	}
	compare(t, inCode, onPage)
}

// known are the keys that the configuration supports where a document has the key 0000….
func known(t *testing.T, yaml string) []string {
	t.Helper()
	const unlike = "0000000000000000000000000000000000000000: 1"
	_, err := config.Parse("test", []byte(strings.ReplaceAll(yaml, "KEY", unlike)), os.LookupEnv, os.ReadFile)
	if err == nil {
		t.Fatalf("%s is accepted", yaml)
	}
	list := regexp.MustCompile(`valid keys are (.*)`).FindStringSubmatch(err.Error())
	if list == nil {
		t.Fatalf("%s: %v", yaml, err)
	}
	keys := strings.Split(strings.ReplaceAll(list[1], " and ", ", "), ", ")
	slices.Sort(keys)
	return slices.Compact(keys)
}

// without are the items of all that are not in others.
func without(all []string, others ...[]string) (left []string) {
	for _, item := range all {
		if !slices.Contains(slices.Concat(others...), item) {
			left = append(left, item)
		}
	}
	return left
}

// The table of configuration keys has each key at its place, and no others.
func TestReferenceConfiguration(t *testing.T) {
	t.Parallel()
	top, stdin := known(t, "KEY"), known(t, "inputs: [ { stdin: true, KEY } ]")
	common := without(top, without(top, stdin)) // of both
	places := map[string][]string{
		"file": without(top, common), "input": common,
		"buffer": known(t, "buffer: { KEY }"), "multiline": known(t, "inputs: [ { files: a, multiline: { KEY } } ]"),
		"redact-regexps": known(t, "inputs: [ { files: a, redact-regexps: [ { KEY } ] } ]"),
		"drop":           known(t, "inputs: [ { files: a, drop: [ { KEY } ] } ]"),
		"keep":           known(t, "inputs: [ { files: a, keep: [ { KEY } ] } ]"),
		"sample":         known(t, "inputs: [ { files: a, sample: [ { KEY } ] } ]"),
		"attributes":     known(t, "inputs: [ { files: a, attributes: { KEY } } ]"),
		"log-metrics":    known(t, "log-metrics: [ { KEY } ]"),
		"pod-metadata":   known(t, "inputs: [ { files: a, pod-metadata: { KEY } } ]"),
		"tls":            known(t, "inputs: [ { http: ':1', tls: { KEY } } ]"),
	}
	for _, spec := range kinds.All() {
		kind, value := spec.Kind(), "true"
		for _, address := range []string{":1", "udp://:1"} {
			if kind.CheckAddress != nil && kind.CheckAddress(address) == nil {
				value = address
			}
		}
		places[kind.Name] = without(known(t, "inputs: [ { "+kind.Name+": '"+value+"', KEY } ]"), common)
	}
	var inCode, onPage []string
	for place, keys := range places {
		for _, key := range keys {
			inCode = append(inCode, place+": "+key)
		}
	}
	if len(inCode) < 70 {
		t.Fatalf("only %d keys", len(inCode))
	}
	for _, row := range rows(t, "Configuration keys") {
		for place := range strings.SplitSeq(row[1], ", ") {
			for _, key := range quoted(row[0]) {
				onPage = append(onPage, place+": "+key)
			}
		}
	}
	compare(t, inCode, onPage)
}

// The table of exit statuses has each status of internal/cli, and no others.
func TestReferenceStatuses(t *testing.T) {
	t.Parallel()
	var inCode, onPage []string
	text := read(t, root, "internal", "cli", "cli.go")
	_, text, _ = strings.Cut(text, "// The exit statuses of both commands.\nconst (\n")
	text, _, _ = strings.Cut(text, "\n)")
	for _, m := range regexp.MustCompile(`(?m)^\t\w+ += (\d+)`).FindAllStringSubmatch(text, -1) {
		inCode = append(inCode, m[1])
	}
	if len(inCode) < 6 {
		t.Fatalf("only %d statuses", len(inCode))
	}
	for _, row := range rows(t, "Exit statuses") {
		onPage = append(onPage, row[0])
	}
	compare(t, inCode, onPage)
}
