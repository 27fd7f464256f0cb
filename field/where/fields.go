package where

import (
	"slices"

	"github.com/expr-lang/expr/ast"

	"logstow/field"
)

// Use is a field of the message that an expression looks at.
type Use struct {
	// Field is its name.
	Field string
	// Kind is the kind that the expression needs: field.String, field.Number or field.Bool
	// where the field is compared with such a constant, field.Missing where any kind may do.
	Kind field.Kind
	// Equal are the strings one of which the field has to be equal to, if it is compared
	// with == or in.
	Equal []string
}

// Uses are the fields that the expression looks at, in the order in which they occur,
// once for each occurrence. Columns are none, and message, which every record has, is none.
func (p *Program) Uses() []Use {
	u := &uses{names: map[ast.Node]int{}, declared: map[string]bool{}}
	node := p.tree.Node
	ast.Walk(&node, u)
	return slices.DeleteFunc(u.all, func(use Use) bool {
		return use.Field == "" || u.declared[use.Field]
	})
}

// uses gathers them; children are visited before their parents.
type uses struct {
	all      []Use
	names    map[ast.Node]int // places in all
	declared map[string]bool
}

func (u *uses) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.MemberNode: // what it is a member of is no field by itself
		if _, ok := referenceOf(n); ok {
			u.drop(n.Node)
		}
	case *ast.CallNode:
		u.drop(n.Callee)
	case *ast.VariableDeclaratorNode:
		u.declared[n.Name] = true
	case *ast.BinaryNode:
		u.compare(n.Operator, n.Left, n.Right)
		u.compare(mirror(n.Operator), n.Right, n.Left)
	}
	if ref, ok := referenceOf(*node); ok && ref.column == "" {
		u.names[*node] = len(u.all)
		u.all = append(u.all, Use{Field: ref.name})
	}
}

func (u *uses) drop(node ast.Node) {
	if i, ok := u.names[node]; ok {
		u.all[i].Field = ""
	}
}

// compare notes what "left operator right" needs, where left is a field.
func (u *uses) compare(operator string, left, right ast.Node) {
	i, ok := u.names[left]
	if !ok || !slices.Contains([]string{"==", "!=", "<", "<=", ">", ">=", "in", "contains", "startsWith", "endsWith", "matches"}, operator) {
		return
	}
	use := &u.all[i]
	constants := []ast.Node{right}
	if array, ok := right.(*ast.ArrayNode); ok && operator == "in" {
		constants = array.Nodes
	}
	for i, node := range constants {
		kind, text := constant(node)
		if i > 0 && kind != use.Kind {
			kind = field.Missing
		}
		use.Kind = kind
		if kind == field.Missing {
			use.Equal = nil
			return
		}
		if kind == field.String && (operator == "==" || operator == "in") {
			use.Equal = append(use.Equal, text)
		}
	}
}

// constant is the kind of a constant, and its text if it is a string.
func constant(node ast.Node) (field.Kind, string) {
	switch n := node.(type) {
	case *ast.StringNode:
		return field.String, n.Value
	case *ast.BoolNode:
		return field.Bool, ""
	case *ast.IntegerNode, *ast.FloatNode:
		return field.Number, ""
	case *ast.UnaryNode:
		if n.Operator == "-" || n.Operator == "+" {
			return constant(n.Node)
		}
	}
	return field.Missing, ""
}
