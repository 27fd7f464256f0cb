package where

import (
	"bytes"
	"strings"

	"github.com/expr-lang/expr/ast"

	"logstow/message/parse"
)

// Required returns texts that the message of every match contains, unless it has a \u escape of JSON. fields is the parser of the
// messages.
func (p *Program) Required(fields *parse.Parser) []string {
	return (&inMessage{fields}).required(p.tree.Node)
}

// inMessage derives texts that messages contain from conditions on their fields.
type inMessage struct{ parser *parse.Parser }

// required returns the texts that a message contains if a node is true.
func (m *inMessage) required(node ast.Node) []string {
	switch n := node.(type) {
	case *ast.CallNode:
		if name, ok := callee(n); ok && name == "has" && len(n.Arguments) == 1 {
			return m.name(n.Arguments[0])
		}
	case *ast.UnaryNode:
		// "not" of an unknown operation is unknown, so the fields must exist in this case, too.
		if b, ok := n.Node.(*ast.BinaryNode); ok && (n.Operator == "not" || n.Operator == "!") {
			return m.names(b)
		}
	case *ast.BinaryNode:
		if n.Operator == "and" || n.Operator == "&&" {
			return append(m.required(n.Left), m.required(n.Right)...)
		}
		texts := m.names(n)
		if name, constant, ok := fieldAndConstant(n); ok {
			inside := n.Operator == "contains" || n.Operator == "startsWith" || n.Operator == "endsWith"
			text := textOf(constant, false).Value
			if (n.Operator == "==" || inside && fieldIs(n.Left, name)) && m.verbatim(name, text) {
				texts = append(texts, text)
			}
		}
		return texts
	}
	return nil
}

// names returns the names of the fields that an operation uses. The operation is unknown if one is missing.
func (m *inMessage) names(b *ast.BinaryNode) []string {
	switch b.Operator {
	case "==", "!=", "<", "<=", ">", ">=", "in", "contains", "startsWith", "endsWith", "matches":
		return append(m.name(b.Left), m.name(b.Right)...)
	}
	return nil
}

// name returns the text that a message contains if it has the field that a node denotes; none if there is no such text.
func (m *inMessage) name(node ast.Node) []string {
	name, ok := fieldName(node)
	if !ok || isColumn(name) || name == messageName || !m.parser.NameInMessage(name) {
		return nil
	}
	if key := name[strings.LastIndexByte(name, '.')+1:]; verbatim(key) {
		return []string{key}
	}
	return nil
}

// verbatim reports whether a message contains text verbatim if the value of a field does, except for \u escapes.
func (m *inMessage) verbatim(name, text string) bool {
	return verbatim(text) && m.parser.TextInMessage(name, text)
}

const (
	// maxTexts is the maximum number of texts in a group, maxGroups that of groups on one side of an "or".
	maxTexts  = 16
	maxGroups = 4
)

// Text is a text that a message contains.
type Text struct {
	Value string
	// Whole is set if the text is a whole token of the message.
	Whole bool
}

// Groups returns groups of texts: the message of every match contains at least one text of each group, unless it has a \u escape of
// JSON. fields is the parser of the messages.
func (p *Program) Groups(fields *parse.Parser) [][]Text {
	return (&inMessage{fields}).groups(p.tree.Node)
}

// groups returns the groups of a node that must be true.
func (m *inMessage) groups(node ast.Node) [][]Text {
	b, ok := node.(*ast.BinaryNode)
	if !ok {
		return nil
	}
	switch b.Operator {
	case "and", "&&":
		return append(m.groups(b.Left), m.groups(b.Right)...)
	case "or", "||":
		return either(m.groups(b.Left), m.groups(b.Right))
	}
	name, constant, ok := fieldAndConstant(b)
	if !ok {
		return nil
	}
	whole := (b.Operator == "==" || b.Operator == "in") && m.parser.WholeInMessage()
	var texts []Text
	switch {
	case b.Operator == "in" && fieldIs(b.Left, name):
		array, ok := constant.(*ast.ArrayNode)
		if !ok || len(array.Nodes) > maxTexts {
			return nil
		}
		for _, node := range array.Nodes {
			texts = append(texts, textOf(node, whole))
		}
	case b.Operator == "==":
		texts = []Text{textOf(constant, whole)}
	case b.Operator == "contains" || b.Operator == "startsWith" || b.Operator == "endsWith":
		if fieldIs(b.Left, name) {
			texts = []Text{textOf(constant, whole)}
		}
	}
	for _, t := range texts {
		if !m.verbatim(name, t.Value) {
			return nil
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return [][]Text{texts}
}

// either returns the groups of "a or b": each is the union of a group of a and one of b.
func either(a, b [][]Text) (all [][]Text) {
	for _, left := range a[:min(len(a), maxGroups)] {
		for _, right := range b[:min(len(b), maxGroups)] {
			if len(left)+len(right) <= maxTexts {
				all = append(all, append(left[:len(left):len(left)], right...))
			}
		}
	}
	return all
}

// fieldAndConstant returns the two sides of a comparison with a field of the message.
func fieldAndConstant(b *ast.BinaryNode) (name string, constant ast.Node, ok bool) {
	name, ok = fieldName(b.Left)
	constant = b.Right
	if !ok {
		name, ok = fieldName(b.Right)
		constant = b.Left
	}
	return name, constant, ok && !isColumn(name)
}

func fieldIs(node ast.Node, name string) bool {
	found, ok := fieldName(node)
	return ok && found == name
}

// textOf returns the text of a string constant, "" for other nodes.
func textOf(node ast.Node, whole bool) Text {
	s, ok := node.(*ast.StringNode)
	if !ok {
		return Text{}
	}
	return Text{s.Value, whole}
}

// verbatim reports whether no encoder escapes text in a string, except by \u escapes.
func verbatim(text string) bool {
	return text != "" && bytes.IndexFunc([]byte(text), func(r rune) bool {
		return r < ' ' || r == '"' || r == '\\' || r == '/' || r == 0x7f || r == '\uFFFD'
	}) < 0
}
