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

// keyText formats a key. A text that looks like a key of another type is in quotes.
func keyText(v aggregate.Value, times times) string {
	switch v.Kind {
	case aggregate.Missing:
		return "-"
	case aggregate.Time:
		return times.text(v)
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

// times writes the starts of time steps.
type times struct {
	zone   *time.Location
	layout string
}

func newTimes(r *aggregate.Result, zone *time.Location) times {
	t := times{zone, time.RFC3339}
	for _, k := range r.Keys {
		if !k.Step.IsZero() {
			t.layout = k.Step.Layout()
		}
	}
	return t
}

func (t times) text(v aggregate.Value) string { return time.Unix(0, v.Int).In(t.zone).Format(t.layout) }

// functionText is a value of a function.
func functionText(v aggregate.Value, kind aggregate.Kind, times times) string {
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
	return keyText(v, times)
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

// approximately returns the mark of an approximate value or header, "" if it is not.
func approximately(is bool) string {
	if is {
		return "~"
	}
	return ""
}
