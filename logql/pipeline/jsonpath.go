package pipeline

import (
	"logstow/logql/syntax"
	"logstow/message"
)

func compileJSONPaths(extractions []syntax.Extraction) stage {
	return stage{extracts: extractedLabels(extractions), bind: func(p *Processor) step { return bindJSONPaths(p, extractions) }}
}

func extractedLabels(extractions []syntax.Extraction) (names []string) {
	for _, e := range extractions {
		names = append(names, e.Label)
	}
	return names
}

// bindJSONPaths makes the step that finds values at paths: it reads a line only up to them, so the rest may be truncated. A label
// without a value is empty.
func bindJSONPaths(p *Processor, paths []syntax.Extraction) step {
	syms := make([]*symbol, len(paths))
	for i, path := range paths {
		syms[i] = p.symbol(path.Label)
	}
	return func(p *Processor) bool {
		p.replaceFields(syms)
		line := message.TrimBlank(p.line)
		if len(line) == 0 || line[0] != '{' && line[0] != '[' {
			p.fail(jsonError, errNotObject.Error())
			return true
		}
		for i := range paths {
			target := p.target(syms[i])
			if target == nil {
				continue
			}
			value := findPath(p, line, paths[i].Path)
			if value != nil && value[0] == 'n' {
				value = nil
			}
			if value != nil {
				value = p.jsonText(value)
			}
			if !p.parsed(target, value) {
				p.fail(jsonError, errTooMany.Error())
				return true
			}
		}
		return true
	}
}

// findPath returns the raw value at a path, nil if there is none, or if it does not end. Objects and arrays on the way need not end.
func findPath(p *Processor, b []byte, path []syntax.PathStep) []byte {
	for _, s := range path {
		switch {
		case b[0] == '{' && s.Index < 0:
			b = findMember(p, b, s.Key)
		case b[0] == '[' && s.Index >= 0:
			b = findElement(b, s.Index)
		default:
			return nil
		}
		if len(b) == 0 {
			return nil
		}
	}
	value, err := rawValue(b)
	if err != nil {
		return nil
	}
	return value
}

// findMember is the raw value of an object's member, or what there is of it.
func findMember(p *Processor, b []byte, want string) []byte {
	for m := message.Object(b); ; {
		name, value, ok := m.NextStrict()
		if !ok {
			if value = m.Open(); value == nil {
				return nil
			}
		}
		if string(unescapeJSON(p, name)) == want {
			return value
		}
		if !ok || !isAccepted(value) {
			return nil
		}
	}
}

// findElement is the raw value of an element of an array, or what there is of it.
func findElement(b []byte, index int) []byte {
	elements := message.Array(b)
	for i := 0; ; i++ {
		value, ok := elements.Next()
		switch {
		case !ok && i == index:
			return elements.Open()
		case !ok:
			return nil
		case i == index:
			return value
		}
	}
}
