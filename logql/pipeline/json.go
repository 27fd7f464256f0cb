package pipeline

import (
	"bytes"
	"errors"

	"logstow/logql/syntax"
	"logstow/message"
)

// Values of __error__ that parsers set.
const (
	jsonError   = "JSONParserErr"
	logfmtError = "LogfmtParserErr"
)

// maxDepth is how deep objects may be nested.
const maxDepth = 64

var (
	errNotObject = errors.New("the line is not a JSON object")
	errMalformed = errors.New("malformed JSON")
	errDepth     = errors.New("JSON nested more than 64 deep")
	errTooMany   = errors.New(parseLimit)
	// errFound ends parsers that have found all wanted labels.
	errFound = errors.New("found")
)

func compileJSON(s *syntax.JSONParser) stage {
	if len(s.Extractions) == 0 {
		return stage{bind: bindJSON}
	}
	return compileJSONPaths(s.Extractions)
}

// jsonParser flattens objects. It is for one processor.
type jsonParser struct {
	p    *Processor
	root key
	last *key
	left int        // wanted labels not found yet, -1 is no limit
	keys []quickKey // of wanted labels
	// shapes is the tree of shapes of the lines so far. shape is the node of the current line, nil if its shape is not
	// followed; behind is the offset after its last value.
	shapes shape
	shape  *shape
	behind int
}

func bindJSON(p *Processor) step {
	j := &jsonParser{p: p}
	j.root.inner = true
	for _, s := range p.wanted {
		j.keys = append(j.keys, newQuickKey(s))
	}
	return func(p *Processor) bool {
		if p.givenFields {
			p.setGiven(func(f *Field) bool { return f.Text != nil })
			return true
		}
		if j.left = p.missing(); j.left == 0 && !p.exact {
			return true
		}
		object := message.TrimBlank(p.line)
		if len(object) == 0 || object[0] != '{' {
			p.fail(jsonError, errNotObject.Error())
			return true
		}
		if j.left > 0 && !p.exact && j.quick(object) {
			return true
		}
		known, err := j.values(object)
		if !known {
			j.last, j.shape, j.behind = &j.root, &j.shapes, 0
			err = j.object(object, 0, &j.root, 1)
		}
		if err != nil && err != errFound { //nolint:errorlint // no error wraps it
			p.fail(jsonError, err.Error())
		}
		return true
	}
}

// nextMember returns the next member; at the end of the object it is done.
func nextMember(m *message.Members) (name, value []byte, done bool, err error) {
	name, value, ok := m.NextStrict()
	if ok && isAccepted(value) {
		return name, value, false, nil
	}
	if _, done = m.Close(); ok || !done {
		return nil, nil, false, errMalformed
	}
	return nil, nil, true, nil
}

// rawValue is the value that b starts with. Arrays and objects are not checked.
func rawValue(b []byte) ([]byte, error) {
	value, ok := message.RawValue(b)
	if !ok || !isAccepted(value) {
		return nil, errMalformed
	}
	return value, nil
}

// isAccepted reports whether a raw value is a scalar, an object or an array, whose contents are not checked.
func isAccepted(value []byte) bool { return value[0] == '{' || value[0] == '[' || isScalar(value) }

// isScalar reports whether a raw value is a string, a number, true, false or null.
func isScalar(value []byte) bool {
	switch c := value[0]; {
	case c == '"':
		return true
	case c == '-' || c-'0' < 10:
		for _, c := range value[1:] {
			if c-'0' >= 10 && c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-' {
				return false
			}
		}
		return true
	}
	return string(value) == "true" || string(value) == "false" || string(value) == "null"
}

// object sets the labels of the object at b[i].
func (j *jsonParser) object(b []byte, i int, parent *key, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	for m := message.ObjectAt(b, i); ; {
		name, value, done, err := nextMember(&m)
		if err != nil {
			return err
		}
		if done {
			if end, _ := m.Close(); depth == 1 {
				j.learn(b, end, end, nil)
			}
			return nil
		}
		k := j.p.child(parent, j.last, name, unescapeJSON)
		j.last = k
		start := m.Offset() - len(value)
		if value[0] == '{' && k.inner {
			if err := j.object(b, start, k, depth+1); err != nil {
				return err
			}
			continue
		}
		j.learn(b, start, m.Offset(), k)
		if err := j.set(k, value); err != nil {
			return err
		}
	}
}

// set makes a label of a key's raw value.
func (j *jsonParser) set(k *key, value []byte) error {
	if k.sym == nil {
		j.p.skipped++
		return nil
	}
	if value[0] == '{' || value[0] == '[' || value[0] == 'n' {
		return nil
	}
	target := j.p.target(k.sym)
	if target == nil {
		return nil
	}
	if !j.p.parsed(target, j.p.jsonText(value)) {
		return errTooMany
	}
	if j.left--; j.left == 0 && !j.p.exact {
		return errFound
	}
	return nil
}

// jsonText is the text of a raw value: a string without quotes and escapes, others as written.
func (p *Processor) jsonText(value []byte) []byte {
	if value[0] != '"' {
		return value
	}
	return unescapeJSON(p, value[1:len(value)-1])
}

func unescapeJSON(p *Processor, raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	start := len(p.arena)
	p.arena = message.Unescape(p.arena, raw)
	return p.arena[start:len(p.arena):len(p.arena)]
}

// entryKey is the member that unpack makes the line of.
const entryKey = "_entry"

// bindUnpack makes the step of unpack: if the line is an object with a string _entry, that is the line, and the other strings are labels.
func bindUnpack(p *Processor) step {
	root := &key{}
	type pair struct {
		key   *key
		value []byte
	}
	var pairs []pair
	return func(p *Processor) bool {
		b := message.TrimBlank(p.line)
		if len(b) == 0 || b[0] != '{' {
			p.fail(jsonError, errNotObject.Error())
			return true
		}
		var entry []byte
		pairs = pairs[:0]
		last := root
		for m := message.Object(b); ; {
			name, value, done, err := nextMember(&m)
			if done {
				break
			}
			if err != nil {
				p.fail(jsonError, err.Error())
				return true
			}
			switch {
			case value[0] != '"':
			case string(name) == entryKey:
				entry = value
			default:
				last = p.child(root, last, name, unescapeJSON)
				pairs = append(pairs, pair{last, value})
			}
		}
		if entry == nil {
			return true
		}
		p.line = p.jsonText(entry)
		for _, pair := range pairs {
			if !p.extract(pair.key.sym, p.jsonText(pair.value)) {
				p.fail(jsonError, errTooMany.Error())
				break
			}
		}
		return true
	}
}
