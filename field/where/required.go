package where

import (
	"bytes"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// Required are texts that the message of every record which matches holds, unless
// it holds a \u escape of JSON.
func (p *Program) Required() []string { return p.required }

// required are the texts that the message holds if a node is true.
func required(node ast.Node) []string {
	switch n := node.(type) {
	case *ast.CallNode:
		if name, ok := callee(n); ok && name == "has" && len(n.Arguments) == 1 {
			return requiredName(n.Arguments[0])
		}
	case *ast.UnaryNode:
		// "not" of an operation is unknown if the operation is, so its fields have to be there too.
		if b, ok := n.Node.(*ast.BinaryNode); ok && (n.Operator == "not" || n.Operator == "!") {
			return requiredNames(b)
		}
	case *ast.BinaryNode:
		if n.Operator == "and" || n.Operator == "&&" {
			return append(required(n.Left), required(n.Right)...)
		}
		texts := requiredNames(n)
		if name, constant, ok := fieldAndConstant(n); ok {
			inside := n.Operator == "contains" || n.Operator == "startsWith" || n.Operator == "endsWith"
			if text := textOf(constant, false).Value; (n.Operator == "==" || inside && fieldIs(n.Left, name)) && verbatim(text) {
				texts = append(texts, text)
			}
		}
		return texts
	}
	return nil
}

// requiredNames are the names of the fields that an operation compares or looks into: it is unknown if one is missing.
func requiredNames(b *ast.BinaryNode) []string {
	switch b.Operator {
	case "==", "!=", "<", "<=", ">", ">=", "in", "contains", "startsWith", "endsWith", "matches":
		return append(requiredName(b.Left), requiredName(b.Right)...)
	}
	return nil
}

// requiredName is what stands in a message that has the field which a node stands for, if it does.
func requiredName(node ast.Node) []string {
	name, ok := fieldName(node)
	if !ok || isColumn(name) || name == messageName {
		return nil
	}
	if key := name[strings.LastIndexByte(name, '.')+1:]; verbatim(key) {
		return []string{key}
	}
	return nil
}

const (
	// maxTexts is the number of texts in a group, maxGroups that of groups on one side of an "or".
	maxTexts  = 16
	maxGroups = 4
)

// Text is a text that a message holds.
type Text struct {
	Value string
	// Whole is set if a field is equal to it, not only contains it.
	Whole bool
}

// Groups are groups of texts: the message of every record that matches holds one at
// least of each group, unless it holds a \u escape of JSON.
func (p *Program) Groups() [][]Text { return p.groups }

// groups are those of a node that has to be true.
func groups(node ast.Node) [][]Text {
	b, ok := node.(*ast.BinaryNode)
	if !ok {
		return nil
	}
	switch b.Operator {
	case "and", "&&":
		return append(groups(b.Left), groups(b.Right)...)
	case "or", "||":
		return either(groups(b.Left), groups(b.Right))
	}
	name, constant, ok := fieldAndConstant(b)
	if !ok {
		return nil
	}
	whole := b.Operator == "==" || b.Operator == "in"
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
		if !verbatim(t.Value) {
			return nil
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return [][]Text{texts}
}

// either are the groups of "a or b": one of a's or one of b's texts is there.
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

// fieldAndConstant are the two sides of a comparison of a field of the message.
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

// textOf is the text of a constant, "" if it is none.
func textOf(node ast.Node, whole bool) Text {
	s, ok := node.(*ast.StringNode)
	if !ok {
		return Text{}
	}
	return Text{s.Value, whole}
}

// verbatim reports whether text stands in a message as it is, whatever writes it
// as a string, unless with \u escapes.
func verbatim(text string) bool {
	return text != "" && bytes.IndexFunc([]byte(text), func(r rune) bool {
		return r < ' ' || r == '"' || r == '\\' || r == '/' || r == 0x7f || r == '\uFFFD'
	}) < 0
}
