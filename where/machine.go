package where

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"logstow/field"
)

// machine compiles a node for expr's machine. Its fields become variables.
func (c *compiler) machine(node ast.Node) truth {
	n := &namer{callees: map[ast.Node]bool{}, declared: map[string]bool{}}
	ast.Walk(&node, (*declarations)(n))
	if n.unknown != nil {
		return c.fail(n.unknown, "there is no function %s", n.unknown.Value)
	}
	ast.Walk(&node, n)
	env := map[string]any{}
	var getters []getter
	for _, name := range n.fields {
		getters = append(getters, c.field(name))
	}
	program, err := expr.Compile(node.String(), expr.Env(env), expr.AllowUndefinedVariables(), expr.AsBool())
	if err != nil {
		text := strings.TrimSpace(strings.SplitN(err.Error(), "\n", 2)[0])
		if at := strings.LastIndex(text, " ("); at > 0 {
			text = text[:at] // the place is one in what was made of the expression
		}
		return c.fail(node, "%s", text)
	}
	machine := &vm.VM{}
	return func(r *Record) bool {
		for i, get := range getters {
			env[variable(i)] = native(get(r))
		}
		result, err := machine.Run(program, env)
		holds, ok := result.(bool)
		return err == nil && ok && holds
	}
}

// variablePrefix begins the names of variables.
const variablePrefix = "logstow_field_"

func variable(i int) string { return variablePrefix + strconv.Itoa(i) }

// native is a value as expr knows it.
func native(v field.Value) any {
	if n, ok := v.Integer(); ok {
		return int(n)
	}
	if x, ok := v.Float(); ok {
		return x
	}
	if b, ok := v.Truth(); ok {
		return b
	}
	switch v.Kind {
	case field.String, field.Bare:
		return string(v.Text)
	case field.Composite:
		var any any
		if json.Unmarshal(v.Text, &any) == nil {
			return any
		}
		return string(v.Text)
	}
	return nil
}

// namer puts variables in the place of fields. Children are visited before their
// parents, so a field inside a field is one only after its parent was seen.
type namer struct {
	fields   []string
	callees  map[ast.Node]bool
	declared map[string]bool
	// unknown is a function that there is not.
	unknown *ast.IdentifierNode
}

// declarations gathers the names that are no fields.
type declarations namer

func (d *declarations) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.CallNode:
		d.callees[n.Callee] = true
		if id, ok := n.Callee.(*ast.IdentifierNode); ok && id.Value != "field" {
			d.unknown = id
		}
	case *ast.VariableDeclaratorNode:
		d.declared[n.Name] = true
	}
}

func (n *namer) Visit(node *ast.Node) {
	if id, ok := (*node).(*ast.IdentifierNode); ok && (n.callees[id] || n.declared[id.Value] || n.isVariable(id.Value)) {
		return
	}
	if m, ok := (*node).(*ast.MemberNode); ok {
		// The object has become a variable: undo that.
		if id, ok := m.Node.(*ast.IdentifierNode); ok && n.isVariable(id.Value) {
			if _, ok := m.Property.(*ast.StringNode); ok && !m.Optional && !m.Method {
				i, _ := strconv.Atoi(id.Value[len(variablePrefix):])
				id.Value = n.fields[i]
			}
		}
	}
	name, ok := fieldName(*node)
	if !ok {
		return
	}
	n.fields = append(n.fields, name)
	ast.Patch(node, &ast.IdentifierNode{Value: variable(len(n.fields) - 1)})
}

func (n *namer) isVariable(name string) bool {
	i, err := strconv.Atoi(strings.TrimPrefix(name, variablePrefix))
	return err == nil && i < len(n.fields) && name == variable(i)
}
