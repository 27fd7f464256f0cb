package correct

import (
	"fmt"
	"strings"
	"time"

	"logstow/query/explain"
)

// label is the text of a button that applies a correction.
func label(c explain.Correction) string {
	var parts []string
	for i := range c {
		if part := part(&c[i]); part != "" {
			parts = append(parts, part)
		}
	}
	text := strings.Join(parts, ", ")
	if text == "" {
		return "Correct the query"
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func part(f *explain.Fix) string {
	switch f.Kind {
	case explain.FixService, explain.FixSelectService:
		return "service " + f.New
	case explain.FixSource:
		return "source " + f.New
	case explain.FixLevel:
		return "level " + f.New
	case explain.FixLabel, explain.FixField:
		return fmt.Sprintf("use %s instead of %s", f.New, f.Old)
	case explain.FixLabelFilter, explain.FixParser:
		return "parse with | " + f.Parser
	case explain.FixValue:
		return fmt.Sprintf("use %s = %s", f.Field, f.New)
	case explain.FixCondition:
		return fmt.Sprintf("compare field %s %s %s", f.Field, f.Op, f.New)
	case explain.FixWords:
		if len(f.Words) > 0 {
			return "find " + strings.Join(f.Words, ", ")
		}
		return "leave out " + strings.Join(f.Replaces, ", ")
	case explain.FixExclude:
		return "exclude " + f.New
	case explain.FixAny:
		return "find " + strings.Join(f.Words, " or ")
	case explain.FixIgnoreCase:
		return "ignore case"
	case explain.FixSubstring:
		return "find it inside longer identifiers"
	case explain.FixSelector:
		return "without filters"
	case explain.FixRange:
		return rangeLabel(f)
	}
	return ""
}

func rangeLabel(f *explain.Fix) string {
	switch {
	case f.Since != "":
		return "last " + f.Since
	case f.To.IsZero():
		return "from " + f.From.Format(time.DateTime)
	}
	return fmt.Sprintf("%s to %s", f.From.Format("2006-01-02 15:04"), f.To.Format("2006-01-02 15:04"))
}
