package pipeline

import (
	"errors"

	"logstow/logql/syntax"
	"logstow/message"
)

var errPair = errors.New("malformed logfmt pair")

// logfmtParser finds pairs. It is for one processor.
type logfmtParser struct {
	p         *Processor
	strict    bool
	keepEmpty bool
	root      key
	left      int // wanted labels not found yet, -1 is no limit
}

func compileLogfmt(s *syntax.LogfmtParser) stage {
	return stage{extracts: extractedLabels(s.Extractions), bind: func(p *Processor) step {
		l := &logfmtParser{p: p, strict: s.Strict, keepEmpty: s.KeepEmpty}
		if len(s.Extractions) > 0 {
			return l.bindExtractions(s.Extractions)
		}
		return func(p *Processor) bool {
			if p.givenFields {
				p.setGiven()
				return true
			}
			if l.left = p.missing(); l.left == 0 && !l.exact() {
				p.skipped += len(p.line)
				return true
			}
			last := &l.root
			l.scan(p.line, func(name, value []byte) error {
				last = p.child(&l.root, last, name, plainText)
				return l.set(last.sym, value, l.keepEmpty)
			})
			return true
		}
	}}
}

// exact reports whether lines are read to their end: only then strict parsing finds all mistakes.
func (l *logfmtParser) exact() bool { return l.p.exact && l.strict }

func plainText(_ *Processor, raw []byte) []byte { return raw }

// bindExtractions makes a step that finds the pairs with given names only.
func (l *logfmtParser) bindExtractions(extractions []syntax.Extraction) step {
	syms, all := map[string][]*symbol{}, make([]*symbol, len(extractions))
	for i, e := range extractions {
		all[i] = l.p.symbol(e.Label)
		syms[e.Expr] = append(syms[e.Expr], all[i])
	}
	return func(p *Processor) bool {
		p.replaceFields(all)
		if l.left = p.missing(); l.left == 0 && !l.exact() {
			p.skipped += len(p.line)
			return true
		}
		l.scan(p.line, func(name, value []byte) error {
			for _, s := range syms[string(name)] {
				if err := l.set(s, value, l.keepEmpty || value == nil); err != nil {
					return err
				}
			}
			return nil
		})
		return true
	}
}

// set makes a label of a raw value, of an empty one only if keepEmpty is set.
func (l *logfmtParser) set(s *symbol, value []byte, keepEmpty bool) error {
	if s == nil {
		l.p.skipped++
		return nil
	}
	if !keepEmpty && (len(value) == 0 || string(value) == `""`) {
		return nil
	}
	target := l.p.target(s)
	if target == nil {
		return nil
	}
	if len(value) > 0 && value[0] == '"' {
		value = unescapeJSON(l.p, value[1:len(value)-1])
	}
	if !l.p.parsed(target, value) {
		return errTooMany
	}
	target.empty = keepEmpty
	if l.left--; l.left == 0 && !l.exact() {
		l.p.skipped += len(l.p.line)
		return errFound
	}
	return nil
}

// scan calls emit with the pairs of a line, values as written.
func (l *logfmtParser) scan(line []byte, emit func(name, value []byte) error) {
	for i := 0; ; {
		for i < len(line) && line[i] <= ' ' {
			i++
		}
		if i == len(line) {
			return
		}
		pair := message.PairAt(line, i)
		if !pair.Strict {
			if l.strict {
				l.p.fail(logfmtError, errPair.Error()+": "+string(l.p.validText(line[i:min(pair.End, i+100)])))
				return
			}
			i = pair.End
			continue
		}
		i = pair.End
		if err := emit(pair.Name, pair.Value); err != nil {
			if errors.Is(err, errTooMany) {
				l.p.fail(logfmtError, err.Error())
			}
			return
		}
	}
}
