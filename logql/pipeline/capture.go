package pipeline

import (
	"logstow/logql/syntax"
	"logstow/message/pattern"
)

// captures makes a stage that sets labels. find appends the start and the end of the value of each name; "" is no label.
func captures(names []string, find func(dst []int, line []byte) []int) stage {
	return stage{extracts: names, bind: func(p *Processor) step {
		syms := make([]*symbol, len(names))
		for i, name := range names {
			if name != "" {
				syms[i] = p.symbol(name)
			}
		}
		var at []int
		return func(p *Processor) bool {
			p.replaceFields(syms)
			if p.missing() == 0 {
				return true
			}
			at = find(at[:0], p.line)
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

func compileRegexp(s *syntax.RegexpParser) stage {
	return captures(s.Regexp.SubexpNames(), func(_ []int, line []byte) []int { return s.Regexp.FindSubmatchIndex(line) })
}

// limitError is the value of __error__ of a record that has too many labels for a capture.
const limitError = "LabelLimitErr"

// capture sets a label, which may be empty.
func (p *Processor) capture(s *symbol, value []byte) {
	if !p.extract(s, value) {
		p.fail(limitError, parseLimit)
	}
}

func compilePattern(s *syntax.PatternParser) stage {
	compiled := pattern.New(s.Parts)
	return captures(compiled.Names, compiled.Append)
}
