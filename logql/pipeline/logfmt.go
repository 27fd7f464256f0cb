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
				p.setGiven(func(f *Field) bool { return len(f.Text) > 0 })
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

// bindExtractions makes a step that finds the pairs with given names only, the last of several with one name.
func (l *logfmtParser) bindExtractions(extractions []syntax.Extraction) step {
	places, all := map[string][]int{}, make([]*symbol, len(extractions))
	for i, e := range extractions {
		all[i] = l.p.symbol(e.Label)
		places[e.Expr] = append(places[e.Expr], i)
	}
	type pair struct {
		found bool
		value []byte
	}
	last := make([]pair, len(extractions))
	return func(p *Processor) bool {
		p.replaceFields(all)
		if p.missing() == 0 && !l.exact() {
			p.skipped += len(p.line)
			return true
		}
		clear(last)
		l.left = -1
		l.scan(p.line, func(name, value []byte) error {
			if l.keepEmpty || value == nil || !isEmptyValue(value) {
				for _, i := range places[string(name)] {
					last[i] = pair{true, value}
				}
			}
			return nil
		})
		for i, pair := range last {
			if pair.found && l.set(all[i], pair.value, true) == errTooMany { //nolint:errorlint // no error wraps it
				p.fail(logfmtError, errTooMany.Error())
				break
			}
		}
		return true
	}
}

// isEmptyValue reports whether a raw value is empty.
func isEmptyValue(value []byte) bool { return len(value) == 0 || string(value) == `""` }

// set makes a label of a raw value, of an empty one only if keepEmpty is set.
func (l *logfmtParser) set(s *symbol, value []byte, keepEmpty bool) error {
	if s == nil {
		l.p.skipped++
		return nil
	}
	if !keepEmpty && isEmptyValue(value) {
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
			switch {
			case pair.Quoted: // another pair follows without a blank
				pair.End = i + len(pair.Name) + 1 + len(pair.Value)
			case l.strict:
				l.p.fail(logfmtError, errPair.Error()+": "+string(l.p.validText(line[i:min(pair.End, i+100)])))
				return
			case len(pair.Value) > 0 && pair.Value[0] == '"': // the rest of the line is in quotes
				return
			default:
				i = pair.End
				continue
			}
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
