package syntax

import (
	"slices"
	"strings"
)

// String is the operator as written in a selector.
func (op MatchOp) String() string { return [...]string{"=", "!=", "=~", "!~"}[op] }

// String is the operator as written in a line filter.
func (op LineOp) String() string { return [...]string{"|=", "!=", "|~", "!~", "|>", "!>"}[op] }

func (m *Matcher) String() string { return m.Name + m.Op.String() + quoted(m.Value) }

func (f *LineFilter) String() string {
	return f.Op.String() + " " + joined(f.Texts, " or ", LineText.String)
}

// String is the text in quotes, or ip("…").
func (t LineText) String() string {
	if t.IP {
		return ipText(t.Text)
	}
	return quoted(t.Text)
}

func ipText(addresses string) string { return "ip(" + quoted(addresses) + ")" }

func (p *JSONParser) String() string { return "| json" + extractionsText(p.Extractions) }

func (p *LogfmtParser) String() string {
	text := "| logfmt"
	if p.Strict {
		text += " --strict"
	}
	if p.KeepEmpty {
		text += " --keep-empty"
	}
	return text + extractionsText(p.Extractions)
}

func extractionsText(all []Extraction) string {
	return joined(all, ",", func(x Extraction) string {
		if x.Expr == x.Label {
			return " " + x.Label
		}
		return " " + x.Label + "=" + quoted(x.Expr)
	})
}

func (p *RegexpParser) String() string { return "| regexp " + quoted(p.Expr) }

func (p *PatternParser) String() string { return "| pattern " + quoted(p.Expr) }

func (*UnpackParser) String() string { return "| unpack" }

func (*Decolorize) String() string { return "| decolorize" }

func (f *LineFormat) String() string { return "| line_format " + quoted(f.Template) }

func (f *LabelFormat) String() string {
	return "| label_format " + joined(f.Items, ", ", func(item LabelFormatItem) string {
		if item.Rename != "" {
			return item.Label + "=" + item.Rename
		}
		return item.Label + "=" + quoted(item.Template)
	})
}

func (d *DropLabels) String() string { return "| drop " + joined(d.Items, ", ", LabelItem.String) }

func (k *KeepLabels) String() string { return "| keep " + joined(k.Items, ", ", LabelItem.String) }

// String is the label, or its matcher.
func (i LabelItem) String() string {
	if i.Matcher != nil {
		return i.Matcher.String()
	}
	return i.Name
}

func (f *LabelFilter) String() string { return "| " + f.Condition.String() }

// String has parentheses around all that a reader could group in two ways.
func (c *Junction) String() string {
	word := " and "
	if c.Or {
		word = " or "
	}
	operands := []string{nested(c.Right)} // from the last to the first
	left := c.Left
	for inner, ok := left.(*Junction); ok && inner.Or == c.Or; inner, ok = left.(*Junction) {
		operands = append(operands, nested(inner.Right))
		left = inner.Left
	}
	operands = append(operands, nested(left))
	slices.Reverse(operands)
	return strings.Join(operands, word)
}

// nested is an operand of and or or.
func nested(c Condition) string {
	if _, ok := c.(*Junction); ok {
		return "(" + c.String() + ")"
	}
	return c.String()
}

func (c *StringCondition) String() string { return c.Matcher.String() }

func (c *NumberCondition) String() string { return c.Name + " " + string(c.Op) + " " + c.Text }

func (c *IPCondition) String() string {
	if c.Not {
		return c.Name + "!=" + ipText(c.Range)
	}
	return c.Name + "=" + ipText(c.Range)
}
