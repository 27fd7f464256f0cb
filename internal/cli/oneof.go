package cli

import (
	"slices"

	"logstow/internal/hint"
	"logstow/internal/list"
	"logstow/internal/suggest"
)

// OneOf returns a usage error unless a flag's value is one of several words.
func OneOf(flag, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	err := Usagef("--%s %q: want %s", flag, value, list.Alternatives(words))
	if near := suggest.Nearest(value, words); near != "" {
		return hint.Wrap(err, "did you mean --%s %s?", flag, near)
	}
	return err
}
