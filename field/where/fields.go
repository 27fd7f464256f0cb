package where

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"logstow/field"
)

// Use is a field of the message that an expression reads.
type Use struct {
	// Field is its name.
	Field string
	// Kind is the kind that the expression needs: field.String, field.Number or field.Bool
	// where the field is compared with such a constant, field.Missing where any kind may do.
	Kind field.Kind
	// Dimension is that of the constants with units with which the field is compared; then Kind is
	// field.String.
	Dimension field.Dimension
	// Equal are the strings one of which the field has to be equal to, if it is compared
	// with == or in.
	Equal []string
}

// Uses are the fields that the expression reads, in the order in which they occur,
// once for each occurrence. Columns are none, and message, which every record has, is none.
func (p *Program) Uses() []Use {
	return slices.DeleteFunc(p.uses(), func(use Use) bool { return use.Field == messageName || isColumn(use.Field) })
}

// uses are those of columns and of message too.
func (p *Program) uses() []Use {
	u := &uses{literals: p.literals, names: map[ast.Node]int{}, declared: map[string]bool{}}
	node := p.tree.Node
	ast.Walk(&node, u)
	return slices.DeleteFunc(u.all, func(use Use) bool {
		return use.Field == "" || u.declared[strings.TrimPrefix(use.Field, columnMark)]
	})
}

// uses gathers them; children are visited before their parents.
type uses struct {
	literals map[int]string
	all      []Use
	names    map[ast.Node]int // places in all
	declared map[string]bool
}

func (u *uses) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.MemberNode: // what it is a member of is no field by itself
		if _, ok := fieldName(n); ok {
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
	if name, ok := fieldName(*node); ok {
		u.names[*node] = len(u.all)
		u.all = append(u.all, Use{Field: name})
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
		kind, dimension, text := u.constant(node)
		if i > 0 && (kind != use.Kind || dimension != use.Dimension) {
			kind, dimension = field.Missing, field.NoDimension
		}
		use.Kind, use.Dimension = kind, dimension
		if kind == field.Missing {
			use.Equal = nil
			return
		}
		if kind == field.String && dimension == field.NoDimension && (operator == "==" || operator == "in") {
			use.Equal = append(use.Equal, text)
		}
	}
}

// constant is the kind of a constant, its dimension if it has a unit, and its text if it is a string.
func (u *uses) constant(node ast.Node) (field.Kind, field.Dimension, string) {
	switch n := node.(type) {
	case *ast.StringNode:
		return field.String, field.NoDimension, n.Value
	case *ast.BoolNode:
		return field.Bool, field.NoDimension, ""
	case *ast.IntegerNode, *ast.FloatNode:
		if _, d, ok := field.ParseQuantity([]byte(u.literals[n.Location().From])); ok {
			return field.String, d, ""
		}
		return field.Number, field.NoDimension, ""
	case *ast.UnaryNode:
		if n.Operator == "-" || n.Operator == "+" {
			return u.constant(n.Node)
		}
	}
	return field.Missing, field.NoDimension, ""
}
