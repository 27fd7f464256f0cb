package pipeline

import (
	"slices"

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

func bindJSONPaths(p *Processor, paths []syntax.Extraction) step {
	syms := make([]*symbol, len(paths))
	for i, path := range paths {
		syms[i] = p.symbol(path.Label)
	}
	// If none of its labels is wanted, only errors matter.
	exact := p.exact || !slices.ContainsFunc(syms, func(s *symbol) bool { return slices.Contains(p.wanted, s) })
	return func(p *Processor) bool {
		p.replaceFields(syms)
		line := message.TrimBlank(p.line)
		if exact {
			if err := checkJSON(line); err != nil {
				p.fail(jsonError, err.Error())
				return true
			}
		}
		for i := range paths {
			target := p.target(syms[i])
			if target == nil && !exact {
				continue
			}
			value, err := findPath(p, line, paths[i].Path)
			if err != nil {
				p.fail(jsonError, err.Error())
				return true
			}
			if value == nil || value[0] == 'n' || target == nil {
				continue
			}
			if !p.parsed(target, p.jsonText(value)) {
				p.fail(jsonError, errTooMany.Error())
				return true
			}
		}
		return true
	}
}

// checkJSON checks the members of an object, or that an array ends.
func checkJSON(line []byte) error {
	if len(line) > 0 && line[0] == '[' {
		_, err := rawValue(line)
		return err
	}
	if len(line) == 0 || line[0] != '{' {
		return errNotObject
	}
	for m := message.Object(line); ; {
		if _, _, done, err := nextMember(&m); err != nil || done {
			return err
		}
	}
}

// findPath returns the raw value at a path, nil if there is none.
func findPath(p *Processor, b []byte, path []syntax.PathStep) ([]byte, error) {
	if len(b) == 0 || b[0] != '{' && b[0] != '[' {
		return nil, errNotObject
	}
	for _, s := range path {
		var err error
		switch {
		case b[0] == '{' && s.Index < 0:
			b, err = findMember(p, b, s.Key)
		case b[0] == '[' && s.Index >= 0:
			b, err = findElement(b, s.Index)
		default:
			return nil, nil
		}
		if b == nil || err != nil {
			return nil, err
		}
	}
	return rawValue(b)
}

// findMember is the raw value of an object's member.
func findMember(p *Processor, b []byte, want string) ([]byte, error) {
	for m := message.Object(b); ; {
		name, value, done, err := nextMember(&m)
		if err != nil || done {
			return nil, err
		}
		if string(unescapeJSON(p, name)) == want {
			return value, nil
		}
	}
}

// findElement is an element of an array.
func findElement(b []byte, index int) ([]byte, error) {
	elements := message.Array(b)
	for i := 0; ; i++ {
		value, ok := elements.Next()
		if !ok {
			return nil, nil
		}
		if i == index {
			return value, nil
		}
	}
}
