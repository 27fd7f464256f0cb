package report

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"logstow/query/aggregate"
	"logstow/query/output"
)

// maxCell is the maximum number of characters of a key in a table.
const maxCell = 120

// keyText is a key; what looks like none is in quotes.
func keyText(v aggregate.Value, zone *time.Location) string {
	switch v.Kind {
	case aggregate.Missing:
		return "-"
	case aggregate.Time:
		return time.Unix(0, v.Int).In(zone).Format(stepFormat(v.Int, zone))
	}
	text := output.Visible(string(v.Append(nil)))
	if text == "-" || text == "" || strings.TrimSpace(text) != text {
		text = `"` + text + `"`
	}
	if utf8.RuneCountInString(text) > maxCell {
		text = string([]rune(text)[:maxCell-1]) + "…"
	}
	return text
}

// stepFormat leaves out the fraction of a second, if there is none.
func stepFormat(at int64, zone *time.Location) string {
	if at%int64(time.Second) != 0 {
		return "2006-01-02T15:04:05.000Z07:00"
	}
	return time.RFC3339
}

// functionText is a value of a function.
func functionText(v aggregate.Value, kind aggregate.Kind, zone *time.Location) string {
	switch {
	case v.Kind == aggregate.Missing:
		return "-"
	case v.Kind == aggregate.Float && (kind == aggregate.Share || kind == aggregate.Ratio):
		return fmt.Sprintf("%.1f%%", 100*v.Float)
	case v.Kind == aggregate.Float:
		return rounded(v.Float)
	case v.IsNumber():
		return string(v.Append(nil))
	}
	return keyText(v, zone)
}

// rounded is a number with at least four digits, and all before the point.
func rounded(x float64) string {
	switch magnitude := max(x, -x); {
	case magnitude == 0:
		return "0"
	case magnitude >= 1e15 || magnitude < 1e-4:
		return fmt.Sprintf("%.4g", x)
	case magnitude >= 1000:
		return fmt.Sprintf("%.0f", x)
	default:
		digits := 3
		for m := magnitude; m >= 10; m /= 10 {
			digits--
		}
		for m := magnitude; m < 1; m *= 10 {
			digits++
		}
		text := fmt.Sprintf("%.*f", digits, x)
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		return text
	}
}

// approximately marks a value, or a header, of which that is so.
func approximately(is bool) string {
	if is {
		return "~"
	}
	return ""
}
