package where

import "github.com/expr-lang/expr/ast"

const (
	// maxTexts is the number of texts in a group, maxGroups that of groups on one side of an "or".
	maxTexts  = 16
	maxGroups = 4
)

// Text is a text that a message holds.
type Text struct {
	Value string
	// Whole says that a field is equal to it, not only holds it.
	Whole bool
}

// Groups are groups of texts: the message of every record that matches holds one at
// least of each group, unless it holds a \u escape of JSON.
func (p *Program) Groups() [][]Text { return p.groups }

// groups are those of a node that has to hold.
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

func fieldIs(node ast.Node, name string) bool {
	found, ok := fieldName(node)
	return ok && found == name
}

// textOf is the text of a constant, "" where it is none.
func textOf(node ast.Node, whole bool) Text {
	s, ok := node.(*ast.StringNode)
	if !ok {
		return Text{}
	}
	return Text{s.Value, whole}
}
