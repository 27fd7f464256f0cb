package where

import (
	"regexp"
	"strings"
	"unicode"
)

// meant is a hint for what other languages write where the parser finds a mistake: at a character of the expression; "" if it is none
// of that.
func meant(expression []rune, at int) string {
	at = min(at, len(expression))
	before, after := strings.TrimSpace(string(expression[:at])), string(expression[at:])
	word := after
	if end := strings.IndexFunc(after, func(r rune) bool { return !unicode.IsLetter(r) }); end >= 0 {
		word = after[:end]
	}
	starts := func(with ...string) bool {
		for _, w := range with {
			if strings.HasPrefix(after, w) {
				return true
			}
		}
		return false
	}
	switch {
	case starts("=~", "~", "!~"):
		return `write matches to compare with a regular expression: path matches "^/p"`
	case starts("=>"):
		return "write >= to compare: status >= 500"
	case starts("=<"):
		return "write <= to compare: status <= 200"
	case starts("=", ":"):
		return "write == to compare: status == 200"
	case starts(">") && strings.HasSuffix(before, "<"):
		return "write != to compare: status != 200"
	case word == "AND", word == "OR", strings.HasSuffix(" "+before, " NOT"), strings.HasSuffix(before, "(NOT"):
		return "write and, or, not in lower case"
	case starts("&"):
		return "write and: status == 200 and has(user)"
	case starts(".", "@"):
		return `write names without a dot in front, other names with field: field("@status") == 200`
	case starts(",") && regexp.MustCompile(`(?i)\bin\s*\([^()]*$`).MatchString(before):
		return "write brackets: status in [200, 404]"
	case starts("“", "”", "‘", "’"):
		return `write straight quotes: "`
	}
	switch strings.ToLower(word) {
	case "like", "ilike", "contain", "includes", "starts", "ends", "startswith", "endswith", "match", "regex", "has":
		return `write contains, startsWith, endsWith or matches: path startsWith "/p"`
	case "is":
		return "write user == nil for null, and not has(user) for a missing field"
	case "between":
		return "write a range: status in 500..599"
	}
	return ""
}
