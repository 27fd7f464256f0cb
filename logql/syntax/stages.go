package syntax

import (
	"cmp"
	"slices"
	"strings"

	"logstow/internal/suggest"
)

// pipeline parses stages, and an unwrap with its label filters; at is the keyword of unwrap.
func (p *parser) pipeline() (stages []Stage, unwrap *Unwrap, at token) {
	for p.err == nil {
		t := p.peek()
		if _, ok := lineOp(t); ok {
			if unwrap != nil {
				p.fail(t, "only label filters are allowed after unwrap")
			}
			stages = append(stages, p.lineFilter())
			continue
		}
		if !p.accept("|") {
			break
		}
		word := p.peek()
		if isWord(word, "unwrap") {
			if unwrap != nil {
				p.fail(word, "a query can have only one unwrap")
			}
			at, unwrap = word, p.unwrap()
			continue
		}
		stage := p.stage()
		if unwrap == nil {
			stages = append(stages, stage)
			continue
		}
		filter, ok := stage.(*LabelFilter)
		if !ok {
			p.fail(word, "only label filters are allowed after unwrap")
		}
		unwrap.Filters = append(unwrap.Filters, filter)
	}
	return stages, unwrap, at
}

func (p *parser) unwrap() *Unwrap {
	p.take()
	u := &Unwrap{}
	if name := p.peek(); name.kind == tokenName && p.following().is("(") {
		switch strings.ToLower(name.text) {
		case "duration", "duration_seconds":
			u.Unit = UnitDuration
		case "bytes":
			u.Unit = UnitBytes
		default:
			p.fail(name, "unknown conversion %s: want duration, duration_seconds or bytes", name.text)
		}
		p.take()
		p.expect("(", "of a conversion")
		u.Label = p.label(labelName)
		p.expect(")", "after the label")
		return u
	}
	u.Label = p.label(labelName)
	return u
}

// stageNames are the words that stages begin with.
func stageNames() []string {
	return []string{"json", "logfmt", "regexp", "pattern", "unpack", "decolorize", "line_format", "label_format", "drop", "keep", "unwrap"}
}

// stage parses a stage after its |.
func (p *parser) stage() Stage {
	t := p.peek()
	word := strings.ToLower(t.text)
	if t.kind == tokenName && slices.Contains(stageNames(), word) {
		p.take()
		return p.named(word)
	}
	if t.kind == tokenName && word == "distinct" && p.following().kind == tokenName {
		p.fail(t, "stage distinct is not supported")
	}
	if t.kind == tokenString {
		p.fail(t, "a line filter begins with |=, |~, |>, !=, !~ or !>, not with |")
	}
	if t.kind == tokenName && !isKeyword(t.text) {
		if n := p.following(); n.kind == tokenEnd || n.kind == tokenString || n.is("|") || n.is("[") || n.is(")") {
			p.fail(t, "unknown stage %s: %s", t.text,
				cmp.Or(suggest.DidYouMean(t.text, stageNames()), "stages are "+strings.Join(stageNames(), ", ")))
		}
	}
	if t.kind != tokenName && !t.is("(") || t.kind == tokenName && isKeyword(t.text) {
		p.unexpected("a stage, such as json, or a label filter")
	}
	return &LabelFilter{p.condition()}
}

// named parses the rest of a stage that begins with a word.
func (p *parser) named(word string) Stage {
	switch word {
	case "json":
		return &JSONParser{Extractions: p.extractions(true)}
	case "logfmt":
		return p.logfmt()
	case "regexp":
		return p.regexpParser(p.stringOf("a regular expression"))
	case "pattern":
		return p.patternParser(p.stringOf("a pattern"))
	case "unpack":
		return &UnpackParser{}
	case "decolorize":
		return &Decolorize{}
	case "line_format":
		return &LineFormat{Template: p.stringOf("a template").text}
	case "label_format":
		return p.labelFormat()
	case "drop":
		return &DropLabels{Items: p.labelItems()}
	}
	return &KeepLabels{Items: p.labelItems()}
}

func (p *parser) logfmt() *LogfmtParser {
	l := &LogfmtParser{}
	for p.peek().kind == tokenFlag {
		switch flag := p.take(); flag.text {
		case "--strict":
			l.Strict = true
		case "--keep-empty":
			l.KeepEmpty = true
		default:
			p.fail(flag, "unknown flag %s: want --strict or --keep-empty", flag.text)
		}
	}
	l.Extractions = p.extractions(false)
	return l
}

// extractions takes a, b="expression", which may be missing.
func (p *parser) extractions(json bool) []Extraction {
	var all []Extraction
	for p.peek().kind == tokenName {
		at := p.peek()
		x := Extraction{Label: p.label(labelName)}
		x.Expr = x.Label
		if p.accept("=") {
			at = p.stringOf("an expression")
			x.Expr = at.text
		}
		if json {
			x.Path = p.jsonPath(at, x.Expr)
		} else if x.Expr == "" || strings.ContainsAny(x.Expr, " =\"") {
			p.fail(at, "%q is not a key of logfmt", x.Expr)
		}
		if slices.ContainsFunc(all, func(o Extraction) bool { return o.Label == x.Label }) {
			p.fail(at, "label %s is extracted twice", x.Label)
		}
		all = append(all, x)
		if !p.accept(",") {
			return all
		}
		if p.peek().kind != tokenName {
			p.unexpected(labelName)
		}
	}
	return all
}

func (p *parser) labelFormat() *LabelFormat {
	f := &LabelFormat{}
	for {
		at := p.peek()
		item := LabelFormatItem{Label: p.label(labelName)}
		if item.Label == "__error__" {
			p.fail(at, "label_format cannot set __error__")
		}
		if slices.ContainsFunc(f.Items, func(o LabelFormatItem) bool { return o.Label == item.Label }) {
			p.fail(at, "label %s is set twice by one label_format", item.Label)
		}
		p.expect("=", "after label "+item.Label)
		if p.peek().kind == tokenString {
			item.Template = p.take().text
		} else {
			item.Rename = p.label("a label name or a template in quotes")
		}
		f.Items = append(f.Items, item)
		if p.err != nil || !p.accept(",") {
			return f
		}
	}
}

func (p *parser) labelItems() []LabelItem {
	var items []LabelItem
	for {
		item := LabelItem{}
		if n := p.following(); n.is("=") || n.is("!=") || n.is("=~") || n.is("!~") {
			item.Matcher = p.matcher()
			item.Name = item.Matcher.Name
		} else {
			item.Name = p.label(labelName)
		}
		items = append(items, item)
		if p.err != nil || !p.accept(",") {
			return items
		}
	}
}
