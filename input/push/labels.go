package push

import (
	"fmt"
	"strconv"
	"strings"
)

// parseLabels parses labels as text: {name="value", other="value"}.
func parseLabels(text string) (labels []label, err error) {
	malformed := func() ([]label, error) { return nil, fmt.Errorf("the labels %.100q are malformed", text) }
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "{")
	if !ok {
		return malformed()
	}
	for rest = skipBlank(rest); rest != "}"; {
		name, after, found := strings.Cut(rest, "=")
		name, after = strings.TrimSpace(name), skipBlank(after)
		quoted, err := strconv.QuotedPrefix(after)
		if !found || !validName(name) || err != nil {
			return malformed()
		}
		value, err := strconv.Unquote(quoted)
		if err != nil || quoted[0] == '\'' {
			return malformed()
		}
		labels = append(labels, label{name, value})
		rest = skipBlank(after[len(quoted):])
		if next, ok := strings.CutPrefix(rest, ","); ok {
			rest = skipBlank(next)
		} else if rest != "}" {
			return malformed()
		}
	}
	return labels, nil
}

func skipBlank(s string) string { return strings.TrimLeft(s, " \t\r\n") }

// validName reports whether the name of a label is valid. It allows all characters, also those that Loki does not
// allow, except for those that separate labels in their form as text.
func validName(name string) bool { return name != "" && !strings.ContainsAny(name, "{}\",= \t\r\n`") }
