package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"

	"logstow/internal/suggest"
	"logstow/internal/units"
)

// decoder decodes a document and collects all problems.
type decoder struct {
	file     string
	getenv   func(string) (string, bool)
	readFile func(string) ([]byte, error)
	anchors  map[string]ast.Node
	problems []Problem
}

func (d *decoder) fail(at ast.Node, format string, args ...any) {
	p := Problem{File: d.file, Text: fmt.Sprintf(format, args...)}
	if tk := at.GetToken(); tk != nil && tk.Position != nil {
		p.Line, p.Column = tk.Position.Line, tk.Position.Column
	}
	d.problems = append(d.problems, p)
}

// resolveAlias returns a node without its anchor and tag, or the target of its alias.
func (d *decoder) resolveAlias(node ast.Node) ast.Node {
	switch n := node.(type) {
	case *ast.AnchorNode:
		d.anchors[n.Name.GetToken().Value] = n.Value
		return d.resolveAlias(n.Value)
	case *ast.AliasNode:
		target, ok := d.anchors[n.Value.GetToken().Value]
		if !ok {
			d.fail(n, "unknown anchor &%s", n.Value.GetToken().Value)
			return nil
		}
		return target
	case *ast.TagNode:
		return d.resolveAlias(n.Value)
	}
	return node
}

// section is a mapping that is being read. Each accessor makes its key known; done reports all other keys.
type section struct {
	d      *decoder
	node   ast.Node
	values map[string]ast.Node
	keys   []*ast.MappingValueNode // in the order of the file
	known  []string
}

// section reads a node as a mapping. For other nodes it is empty.
func (d *decoder) section(node ast.Node) *section {
	s := &section{d: d, node: node, values: map[string]ast.Node{}}
	var entries []*ast.MappingValueNode
	switch n := d.resolveAlias(node).(type) {
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	case nil, *ast.NullNode:
	default:
		d.fail(node, "want keys and values here")
	}
	for _, e := range entries {
		if _, merge := e.Key.(*ast.MergeKeyNode); merge {
			d.fail(e.Key, "merge keys (<<) are not supported")
			continue
		}
		key := e.Key.GetToken().Value
		if _, duplicate := s.values[key]; duplicate {
			d.fail(e.Key, "duplicate key %s", key)
			continue
		}
		s.values[key] = e.Value
		s.keys = append(s.keys, e)
	}
	return s
}

// otherNames maps the names of keys in other programs to keys.
func otherNames() map[string]string {
	const files = "files"
	return map[string]string{"path": files, "paths": files, "glob": files, "include": files}
}

// done reports unknown keys.
func (s *section) done() {
	for _, e := range s.keys {
		key := e.Key.GetToken().Value
		if slices.Contains(s.known, key) {
			continue
		}
		near := otherNames()[key]
		if !slices.Contains(s.known, near) {
			near = suggest.Nearest(key, s.known)
		}
		if near != "" {
			s.d.fail(e.Key, "unknown key %s; did you mean %s?", key, near)
		} else {
			s.d.fail(e.Key, "unknown key %s; valid keys are %s", key, wordList(s.known))
		}
	}
}

// get returns the value of a key, or nil if it is missing or null.
func (s *section) get(key string) ast.Node {
	s.known = append(s.known, key)
	node, ok := s.values[key]
	if !ok {
		return nil
	}
	if _, null := s.d.resolveAlias(node).(*ast.NullNode); null {
		return nil
	}
	return node
}

// has reports whether a key has a value.
func (s *section) has(key string) bool {
	node, ok := s.values[key]
	_, null := node.(*ast.NullNode)
	return ok && !null
}

// scalar returns the value of a key as text, with variables expanded.
func (s *section) scalar(key string) (text string, node ast.Node, ok bool) {
	node = s.get(key)
	if node == nil {
		return "", nil, false
	}
	text, ok = s.d.scalar(node)
	return text, node, ok
}

// scalar returns a value as text, with variables expanded.
func (d *decoder) scalar(node ast.Node) (string, bool) {
	text, ok := d.rawScalar(node)
	if !ok {
		return "", false
	}
	expanded, err := d.expand(text)
	if err != nil {
		d.fail(node, "%v", err)
		return "", false
	}
	return expanded, true
}

// rawScalar returns a value as it is written in the file.
func (d *decoder) rawScalar(node ast.Node) (string, bool) {
	switch n := d.resolveAlias(node).(type) {
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	case nil:
		return "", false
	}
	d.fail(node, "want one value here")
	return "", false
}

// value passes the value of a key to set and reports its error. It does nothing if the key is missing.
func (s *section) value(key string, set func(string) error) {
	text, node, ok := s.scalar(key)
	if !ok {
		return
	}
	if err := set(text); err != nil {
		s.invalid(key, node, text, err)
	}
}

// read parses the value of a key into to. It keeps to if the key is missing or its value is invalid.
func read[T any](s *section, key string, to *T, parse func(string) (T, error)) {
	s.value(key, into(to, parse))
}

// invalid reports an invalid value of a key. It omits the value of a variable, which may be a secret.
func (s *section) invalid(key string, node ast.Node, text string, err error) {
	if written, _ := s.d.rawScalar(node); written != text {
		s.d.fail(node, "%s: invalid value of %s", key, written)
		return
	}
	s.d.fail(node, "%s: %v", key, err)
}

func (s *section) text(key string, to *string) { read(s, key, to, anyText) }

func (s *section) duration(key string, to *time.Duration) { read(s, key, to, units.ParseDuration) }

func (s *section) size(key string, to *int64) { read(s, key, to, parseSize) }

// number reads a whole number of at least minimum.
func (s *section) number(key string, minimum int, to *int) {
	read(s, key, to, wholeNumber(minimum, math.MaxInt))
}

func (s *section) float(key string, to *float64) {
	read(s, key, to, func(v string) (float64, error) {
		x, err := strconv.ParseFloat(v, 64)
		if err != nil || !(x > 0) {
			return 0, fmt.Errorf("%q: want a number above 0", v)
		}
		return x, nil
	})
}

func (s *section) boolean(key string, to *bool) {
	read(s, key, to, func(v string) (bool, error) {
		switch v {
		case "true", "yes", "on":
			return true, nil
		case "false", "no", "off":
			return false, nil
		}
		return false, fmt.Errorf("%q: want true or false", v)
	})
}

// addresses reads one address or a list of them.
func (s *section) addresses(key string, check func(string) error) (all []string) {
	items := s.items(key)
	if len(items) == 0 && s.has(key) {
		s.d.fail(s.values[key], "%s: want an address", key)
	}
	for _, node := range items {
		text, ok := s.d.scalar(node)
		if !ok {
			continue
		}
		if err := check(text); err != nil {
			s.invalid(key, node, text, err)
			continue
		}
		all = append(all, text)
	}
	return all
}

// stringList reads one value or a list of them.
func (s *section) stringList(key string, to *[]string) {
	for _, node := range s.items(key) {
		if text, ok := s.d.scalar(node); ok {
			*to = append(*to, text)
		}
	}
}

// items returns the elements of a list. Any other value is the only element.
func (s *section) items(key string) []ast.Node {
	node := s.get(key)
	if node == nil {
		return nil
	}
	if sequence, ok := s.d.resolveAlias(node).(*ast.SequenceNode); ok {
		return sequence.Values
	}
	return []ast.Node{node}
}

// isSection reports whether the value of a key is a mapping.
func (s *section) isSection(key string) bool {
	switch s.d.resolveAlias(s.get(key)).(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}

// sections returns the elements of a list of mappings.
func (s *section) sections(key string) (all []*section) {
	for _, node := range s.items(key) {
		all = append(all, s.d.section(node))
	}
	return all
}

// section returns the mapping of a key, which is empty if the key is missing.
func (s *section) section(key string) *section {
	node := s.get(key)
	if node == nil {
		return &section{d: s.d, node: s.node, values: map[string]ast.Node{}}
	}
	return s.d.section(node)
}
