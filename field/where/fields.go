package where

import (
	"slices"
	"strings"

	"logstow/message"

	"github.com/expr-lang/expr/ast"
)

// Use is a field of the message that an expression reads.
type Use struct {
	// Field is its name.
	Field string
	// Kind is the kind that the expression expects: message.String, message.Number or message.Bool if the field is compared with
	// such a constant, message.Missing if any kind may do.
	Kind message.Kind
	// Dimension is the dimension of constants with units with which the field is compared; Kind is then message.String.
	Dimension message.Dimension
	// Equal are the strings with which the field is compared by == or in.
	Equal []string
	// Bare is set if another field is compared with this one, whose name has no dot: it may be a text without quotes.
	Bare bool
}

// Uses returns the fields that the expression reads, in order of occurrence, with repetitions. It omits columns and message.
func (p *Program) Uses() []Use {
	return slices.DeleteFunc(p.uses(), func(use Use) bool { return use.Field == messageName || isColumn(use.Field) })
}

// uses is Uses with columns and message.
func (p *Program) uses() []Use {
	u := &uses{literals: p.literals, names: map[ast.Node]int{}, declared: map[string]bool{}}
	node := p.tree.Node
	ast.Walk(&node, u)
	return slices.DeleteFunc(u.all, func(use Use) bool {
		return use.Field == "" || u.declared[strings.TrimPrefix(use.Field, columnMark)]
	})
}

// uses collects the uses of fields; children are visited before their parents.
type uses struct {
	literals map[int]string
	all      []Use
	names    map[ast.Node]int // indexes into all
	declared map[string]bool
}

func (u *uses) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.MemberNode: // the object itself is not used as a field
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
		u.compareFields(n)
	}
	if name, ok := fieldName(*node); ok {
		u.names[*node] = len(u.all)
		u.all = append(u.all, Use{Field: name})
	}
}

// compareFields sets Bare of the fields with which another one is compared.
func (u *uses) compareFields(n *ast.BinaryNode) {
	with := []ast.Node{n.Right}
	if list, ok := n.Right.(*ast.ArrayNode); ok && n.Operator == "in" {
		with = list.Nodes
	} else if n.Operator != "==" && n.Operator != "!=" {
		return
	}
	if _, ok := u.names[n.Left]; !ok {
		return
	}
	for _, node := range with {
		if i, ok := u.names[node]; ok {
			u.all[i].Bare = !strings.Contains(u.all[i].Field, ".")
		}
	}
}

func (u *uses) drop(node ast.Node) {
	if i, ok := u.names[node]; ok {
		u.all[i].Field = ""
	}
}

// compare records the constants with which "left operator right" compares a field left.
func (u *uses) compare(operator string, left, right ast.Node) {
	i, ok := u.names[left]
	if !ok ||
		!slices.Contains([]string{"==", "!=", "<", "<=", ">", ">=", "in", "contains", "startsWith", "endsWith", "matches"}, operator) {
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
			kind, dimension = message.Missing, message.NoDimension
		}
		use.Kind, use.Dimension = kind, dimension
		if kind == message.Missing {
			use.Equal = nil
			return
		}
		if kind == message.String && dimension == message.NoDimension && (operator == "==" || operator == "in") {
			use.Equal = append(use.Equal, text)
		}
	}
}

// constant returns the kind of a constant, its dimension if it has a unit, and its text if it is a string.
func (u *uses) constant(node ast.Node) (message.Kind, message.Dimension, string) {
	switch n := node.(type) {
	case *ast.StringNode:
		return message.String, message.NoDimension, n.Value
	case *ast.BoolNode:
		return message.Bool, message.NoDimension, ""
	case *ast.IntegerNode, *ast.FloatNode:
		if _, d, ok := message.ParseQuantity([]byte(u.literals[n.Location().From])); ok {
			return message.String, d, ""
		}
		return message.Number, message.NoDimension, ""
	case *ast.UnaryNode:
		if n.Operator == "-" || n.Operator == "+" {
			return u.constant(n.Node)
		}
	}
	return message.Missing, message.NoDimension, ""
}
