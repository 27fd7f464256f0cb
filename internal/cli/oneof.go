package cli

import (
	"slices"
	"strings"

	"logstow/internal/hint"
	"logstow/internal/suggest"
)

// OneOf returns a usage error unless a flag's value is one of several words.
func OneOf(flag, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	err := Usagef("--%s %q: want %s", flag, value, Alternatives(words))
	if near := suggest.Nearest(value, words); near != "" {
		return hint.Wrap(err, "did you mean --%s %s?", flag, near)
	}
	return err
}

// Alternatives is "a, b or c".
func Alternatives(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
