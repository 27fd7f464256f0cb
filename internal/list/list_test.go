package list_test

import (
	"slices"
	"strings"
	"testing"

	"logstow/internal/list"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"level":                                 {"level"},
		" level,\tmessage , a b\n":              {"level", "message", "a b"},
		`field("a, b"), c`:                      {`field("a, b")`, "c"},
		`count({a: [1, 2]}["x,y"]), 'it\'s, x'`: {`count({a: [1, 2]}["x,y"])`, `'it\'s, x'`},
		"`a\\`, b":                              {"`a\\`", "b"},
		`f(")"), g`:                             {`f(")")`, "g"},
		"é,ü":                                   {"é", "ü"},
	} {
		items, err := list.Split(text)
		texts, textsErr := list.Texts(text)
		if err != nil || textsErr != nil || !slices.Equal(texts, want) {
			t.Errorf("%s: %q, %v, want %q", text, texts, err, want)
		}
		for _, i := range items {
			if !strings.HasPrefix(text[i.At:], i.Text) || i.List != text {
				t.Errorf("%s: %q is not at %d", text, i.Text, i.At)
			}
		}
	}
	for text, want := range map[string]string{
		"":          "empty item (at character 1)",
		"a,":        "empty item (at character 3)",
		"é, ,b":     "empty item (at character 4)",
		"é(":        "( is not closed (at character 2)",
		"a, (b]":    "] was not opened (at character 6)",
		"é)":        ") was not opened (at character 2)",
		`a, "b`:     `quote " is not closed (at character 4)`,
		`a, 'b\'`:   "quote ' is not closed (at character 4)",
		"[({a}), b": "[ is not closed (at character 1)",
	} {
		if items, err := list.Texts(text); err == nil || err.Error() != want {
			t.Errorf("%s: %q, %v, want %s", text, items, err, want)
		}
	}
}
