package pipeline

import (
	"fmt"

	"logstow/logql/labels"
	"logstow/logql/syntax"
)

// formatError is the value of __error__ that templates set.
const formatError = "TemplateFormatErr"

func compileLineFormat(s *syntax.LineFormat) (stage, error) {
	t, err := parseFormat(s.Template)
	if err != nil {
		return stage{}, fmt.Errorf("cannot use the template of line_format: %w", err)
	}
	return stage{names: t.names, all: t.all, bind: func(p *Processor) step {
		execute := t.bind(p)
		return func(p *Processor) bool {
			line, err := execute(p)
			if err != nil {
				p.fail(formatError, err.Error())
				return true
			}
			p.line = line
			return true
		}
	}}, nil
}

// compileLabelFormat makes a stage that sets labels one after the other. Templates see labels as they are before the first of them is
// set.
func compileLabelFormat(s *syntax.LabelFormat) (stage, error) {
	type item struct {
		label, rename string
		format        *format
	}
	compiled := stage{}
	items := make([]item, len(s.Items))
	for i, it := range s.Items {
		if labels.IsError(it.Label) {
			return stage{}, fmt.Errorf("cannot format the label %s", it.Label)
		}
		items[i] = item{label: it.Label, rename: it.Rename}
		if it.Rename != "" {
			compiled.names = append(compiled.names, it.Rename)
			continue
		}
		t, err := parseFormat(it.Template)
		if err != nil {
			return stage{}, fmt.Errorf("cannot use the template of the label %s: %w", it.Label, err)
		}
		items[i].format = t
		compiled.names = append(compiled.names, t.names...)
		compiled.all = compiled.all || t.all
	}
	compiled.bind = func(p *Processor) step {
		type boundItem struct {
			label, rename *symbol // rename is nil for a template
			execute       func(p *Processor) ([]byte, error)
			text          []byte
			failed        bool
		}
		bound := make([]boundItem, len(items))
		for i, it := range items {
			bound[i].label = p.symbol(it.label)
			if it.rename != "" {
				bound[i].rename = p.symbol(it.rename)
			} else {
				bound[i].execute = it.format.bind(p)
			}
		}
		return func(p *Processor) bool {
			executed := false
			for i := range bound {
				it := &bound[i]
				if it.rename != nil {
					p.rename(it.rename, it.label)
					continue
				}
				for k := i; k < len(bound) && !executed; k++ {
					if next := &bound[k]; next.rename == nil {
						text, err := next.execute(p)
						if next.failed = err != nil; next.failed {
							p.fail(formatError, err.Error())
						}
						next.text = text
					}
				}
				if executed = true; !it.failed {
					p.setText(it.label, it.text)
				}
			}
			return true
		}
	}
	return compiled, nil
}

// rename moves the value of a label, if the record has it.
func (p *Processor) rename(from, to *symbol) {
	if from == to || !p.has(from) {
		return
	}
	if p.isText(from) {
		p.setText(to, from.text)
	} else {
		p.set(to, p.value(from))
	}
	p.remove(from)
}

// setText sets a label to a text of the arena or the line.
func (p *Processor) setText(s *symbol, text []byte) {
	p.touch(s)
	s.text, s.isStr = text, false
}

// An item of drop or keep.
type item struct {
	sym     *symbol
	matches func(p *Processor, s *symbol) bool // nil if there is no condition
}

func (it *item) applies(p *Processor) bool {
	return p.has(it.sym) && (it.matches == nil || it.matches(p, it.sym))
}

// itemNames returns the labels that the values of items depend on.
func itemNames(items []syntax.LabelItem) []string {
	var names []string
	for _, it := range items {
		if it.Matcher != nil {
			names = append(names, it.Name)
		}
	}
	return names
}

func bindItems(p *Processor, items []syntax.LabelItem) []item {
	bound := make([]item, len(items))
	for i, it := range items {
		bound[i].sym = p.symbol(it.Name)
		if it.Matcher != nil {
			bound[i].matches = newMatcher(it.Matcher)
		}
	}
	return bound
}

func compileDrop(s *syntax.DropLabels) stage {
	return stage{names: itemNames(s.Items), bind: func(p *Processor) step {
		items := bindItems(p, s.Items)
		return func(p *Processor) bool {
			for i := range items {
				if items[i].applies(p) {
					p.remove(items[i].sym)
				}
			}
			return true
		}
	}}
}

func compileKeep(s *syntax.KeepLabels) stage {
	return stage{names: itemNames(s.Items), bind: func(p *Processor) step {
		items := bindItems(p, s.Items)
		var kept []*symbol
		return func(p *Processor) bool {
			kept = append(kept[:0], p.err, p.errDetails)
			for i := range items {
				if items[i].applies(p) {
					kept = append(kept, items[i].sym)
				}
			}
			for i := range p.values {
				p.removeUnless(p.values[i].sym, kept)
			}
			for _, s := range p.touched {
				p.removeUnless(s, kept)
			}
			return true
		}
	}}
}

func (p *symbols) removeUnless(s *symbol, kept []*symbol) {
	for _, k := range kept {
		if k == s {
			return
		}
	}
	p.remove(s)
}
