package syntax

func (m *Matcher) String() string         { return text(m) }
func (f *LineFilter) String() string      { return text(f) }
func (p *JSONParser) String() string      { return text(p) }
func (p *LogfmtParser) String() string    { return text(p) }
func (p *RegexpParser) String() string    { return text(p) }
func (p *PatternParser) String() string   { return text(p) }
func (p *UnpackParser) String() string    { return text(p) }
func (d *Decolorize) String() string      { return text(d) }
func (f *LineFormat) String() string      { return text(f) }
func (f *LabelFormat) String() string     { return text(f) }
func (d *DropLabels) String() string      { return text(d) }
func (k *KeepLabels) String() string      { return text(k) }
func (f *LabelFilter) String() string     { return text(f) }
func (c *And) String() string             { return text(c) }
func (c *Or) String() string              { return text(c) }
func (c *StringCondition) String() string { return text(c) }
func (c *NumberCondition) String() string { return text(c) }
func (c *IPCondition) String() string     { return text(c) }

// String is the operator as written in a selector.
func (op MatchOp) String() string { return [...]string{"=", "!=", "=~", "!~"}[op] }

// String is the operator as written in a line filter.
func (op LineOp) String() string { return [...]string{"|=", "!=", "|~", "!~", "|>", "!>"}[op] }

// String is the operator as written in a label filter.
func (op CompareOp) String() string { return [...]string{"==", "!=", ">", ">=", "<", "<="}[op] }

func (m *Matcher) appendTo(dst []byte) []byte {
	return appendString(append(append(dst, m.Name...), m.Op.String()...), m.Value)
}

func (f *LineFilter) appendTo(dst []byte) []byte {
	dst = append(append(dst, f.Op.String()...), ' ')
	for i, t := range f.Texts {
		if i > 0 {
			dst = append(dst, " or "...)
		}
		if t.IP {
			dst = appendIP(dst, t.Text)
		} else {
			dst = appendString(dst, t.Text)
		}
	}
	return dst
}

func appendIP(dst []byte, addresses string) []byte {
	return append(appendString(append(dst, "ip("...), addresses), ')')
}

func (p *JSONParser) appendTo(dst []byte) []byte {
	return appendExtractions(append(dst, "| json"...), p.Extractions)
}

func (p *LogfmtParser) appendTo(dst []byte) []byte {
	dst = append(dst, "| logfmt"...)
	if p.Strict {
		dst = append(dst, " --strict"...)
	}
	if p.KeepEmpty {
		dst = append(dst, " --keep-empty"...)
	}
	return appendExtractions(dst, p.Extractions)
}

func appendExtractions(dst []byte, all []Extraction) []byte {
	for i, x := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, ' '), x.Label...)
		if x.Expr != x.Label {
			dst = appendString(append(dst, '='), x.Expr)
		}
	}
	return dst
}

func (p *RegexpParser) appendTo(dst []byte) []byte {
	return appendString(append(dst, "| regexp "...), p.Expr)
}

func (p *PatternParser) appendTo(dst []byte) []byte {
	return appendString(append(dst, "| pattern "...), p.Expr)
}

func (*UnpackParser) appendTo(dst []byte) []byte { return append(dst, "| unpack"...) }

func (*Decolorize) appendTo(dst []byte) []byte { return append(dst, "| decolorize"...) }

func (f *LineFormat) appendTo(dst []byte) []byte {
	return appendString(append(dst, "| line_format "...), f.Template)
}

func (f *LabelFormat) appendTo(dst []byte) []byte {
	dst = append(dst, "| label_format "...)
	for i, item := range f.Items {
		dst = append(append(appendComma(dst, i), item.Label...), '=')
		if item.Rename != "" {
			dst = append(dst, item.Rename...)
		} else {
			dst = appendString(dst, item.Template)
		}
	}
	return dst
}

func (d *DropLabels) appendTo(dst []byte) []byte {
	return appendItems(append(dst, "| drop "...), d.Items)
}

func (k *KeepLabels) appendTo(dst []byte) []byte {
	return appendItems(append(dst, "| keep "...), k.Items)
}

func appendItems(dst []byte, items []LabelItem) []byte {
	for i, item := range items {
		dst = appendComma(dst, i)
		if item.Matcher != nil {
			dst = item.Matcher.appendTo(dst)
		} else {
			dst = append(dst, item.Name...)
		}
	}
	return dst
}

func (f *LabelFilter) appendTo(dst []byte) []byte {
	return f.Condition.appendTo(append(dst, "| "...))
}

func (c *And) appendTo(dst []byte) []byte {
	dst = appendNested(dst, c.Left, isOr(c.Left))
	return appendNested(append(dst, " and "...), c.Right, isOr(c.Right) || isAnd(c.Right))
}

func (c *Or) appendTo(dst []byte) []byte {
	dst = appendNested(dst, c.Left, isAnd(c.Left))
	return appendNested(append(dst, " or "...), c.Right, isOr(c.Right) || isAnd(c.Right))
}

// appendNested appends an operand of and or or. Parentheses are around all that a reader could group in two ways.
func appendNested(dst []byte, c Condition, parentheses bool) []byte {
	if !parentheses {
		return c.appendTo(dst)
	}
	return append(c.appendTo(append(dst, '(')), ')')
}

func isAnd(c Condition) bool {
	_, ok := c.(*And)
	return ok
}

func isOr(c Condition) bool {
	_, ok := c.(*Or)
	return ok
}

func (c *StringCondition) appendTo(dst []byte) []byte { return c.Matcher.appendTo(dst) }

func (c *NumberCondition) appendTo(dst []byte) []byte {
	dst = append(append(append(dst, c.Name...), ' '), c.Op.String()...)
	return append(append(dst, ' '), c.Text...)
}

func (c *IPCondition) appendTo(dst []byte) []byte {
	if c.Not {
		return appendIP(append(append(dst, c.Name...), "!="...), c.Range)
	}
	return appendIP(append(append(dst, c.Name...), '='), c.Range)
}
