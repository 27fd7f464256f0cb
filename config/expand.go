package config

import (
	"fmt"
	"slices"
	"strings"
)

// expand replaces ${NAME} and ${NAME:-default} by variables, ${file:PATH} by the content of a file
// without newlines at its end, and $$ by $.
func (d *decoder) expand(text string) (string, error) {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		switch {
		case strings.HasPrefix(after, "$"):
			out.WriteByte('$')
			text = after[1:]
			continue
		case !strings.HasPrefix(after, "{"):
			out.WriteByte('$') // as in a regular expression
			text = after
			continue
		}
		name, rest, closed := strings.Cut(after[1:], "}")
		if !closed {
			return "", fmt.Errorf("${%s is not closed; write a dollar sign before a brace as $$", after[1:min(len(after), 20)])
		}
		value, err := d.variable(name)
		if err != nil {
			return "", err
		}
		out.WriteString(value)
		text = rest
	}
}

// variable returns the value for the text between ${ and }.
func (d *decoder) variable(name string) (string, error) {
	if path, ok := strings.CutPrefix(name, "file:"); ok {
		data, err := d.readFile(path)
		if err != nil {
			return "", err
		}
		return strings.TrimRight(string(data), "\r\n"), nil
	}
	name, fallback, hasFallback := strings.Cut(name, ":-")
	if value, ok := d.getenv(name); ok && (value != "" || !hasFallback) {
		return value, nil
	}
	if !hasFallback {
		return "", fmt.Errorf("the variable %s is not set; write ${%s:-DEFAULT} for a default", name, name)
	}
	return fallback, nil
}

// wordList returns words, sorted and without duplicates, as a text.
func wordList(words []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(words))), ", ")
}
