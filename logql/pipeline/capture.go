package pipeline

import (
	"bytes"

	"logstow/logql/syntax"
)

func compileRegexp(s *syntax.RegexpParser) stage {
	return stage{extracts: s.Regexp.SubexpNames(), bind: func(p *Processor) step {
		syms := make([]*symbol, len(s.Regexp.SubexpNames()))
		for i, name := range s.Regexp.SubexpNames() {
			if name != "" {
				syms[i] = p.symbol(name)
			}
		}
		return func(p *Processor) bool {
			p.replaceFields(syms)
			if p.missing() == 0 {
				return true
			}
			at := s.Regexp.FindSubmatchIndex(p.line)
			for i := range len(at) / 2 {
				switch start := at[2*i]; {
				case syms[i] == nil:
				case start < 0: // of an alternative that does not match
					p.capture(syms[i], nil)
				default:
					p.capture(syms[i], p.line[start:at[2*i+1]])
				}
			}
			return true
		}
	}}
}

// limitError is the value of __error__ of a record that has too many labels for a capture.
const limitError = "LabelLimitErr"

// capture sets a label, which may be empty.
func (p *Processor) capture(s *symbol, value []byte) {
	if target := p.target(s); target != nil && !p.parsed(target, value) {
		p.fail(limitError, parseLimit)
	}
}

// compilePattern compiles a pattern. It must match at the start of the line. A capture ends at the first occurrence of the
// next literal; if there is none, the capture is the rest of the line, and later captures are missing.
func compilePattern(s *syntax.PatternParser) stage {
	var extracts []string
	for _, part := range s.Parts {
		extracts = append(extracts, part.Capture)
	}
	return stage{extracts: extracts, bind: func(p *Processor) step {
		type part struct {
			literal []byte
			sym     *symbol // nil for <_>
		}
		parts := make([]part, len(s.Parts))
		syms := make([]*symbol, len(s.Parts))
		for i, sp := range s.Parts {
			parts[i].literal = []byte(sp.Literal)
			if sp.Capture != "" && sp.Capture != "_" {
				syms[i] = p.symbol(sp.Capture)
				parts[i].sym = syms[i]
			}
		}
		return func(p *Processor) bool {
			p.replaceFields(syms)
			if p.missing() == 0 {
				return true
			}
			rest, parts := p.line, parts
			if len(parts) > 0 && len(parts[0].literal) > 0 {
				if !bytes.HasPrefix(rest, parts[0].literal) {
					return true
				}
				rest, parts = rest[len(parts[0].literal):], parts[1:]
			}
			for len(parts) > 0 {
				capture := parts[0]
				value, found := rest, false
				if len(parts) > 1 {
					if value, rest, found = bytes.Cut(rest, parts[1].literal); found {
						parts = parts[2:]
					}
				}
				if capture.sym != nil {
					p.capture(capture.sym, value)
				}
				if !found {
					break
				}
			}
			return true
		}
	}}
}
