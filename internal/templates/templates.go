// Package templates walks parsed templates.
package templates

import "text/template/parse"

// Walk visits a node of a template after all nodes below it, in their order. Declared variables are not visited.
func Walk(n parse.Node, visit func(parse.Node)) {
	branch := func(b *parse.BranchNode) {
		Walk(b.Pipe, visit)
		Walk(b.List, visit)
		Walk(b.ElseList, visit)
	}
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, below := range n.Nodes {
			Walk(below, visit)
		}
	case *parse.PipeNode:
		if n == nil {
			return
		}
		for _, below := range n.Cmds {
			Walk(below, visit)
		}
	case *parse.CommandNode:
		for _, below := range n.Args {
			Walk(below, visit)
		}
	case *parse.ActionNode:
		Walk(n.Pipe, visit)
	case *parse.TemplateNode:
		Walk(n.Pipe, visit)
	case *parse.ChainNode:
		Walk(n.Node, visit)
	case *parse.IfNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	case *parse.RangeNode:
		branch(&n.BranchNode)
	}
	visit(n)
}
