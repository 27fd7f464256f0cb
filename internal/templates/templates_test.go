package templates

import (
	"slices"
	"testing"
	"text/template"
	"text/template/parse"
)

// Each kind of node is entered, nodes come after those below them, and absent branches and arguments are not visited.
func TestWalk(t *testing.T) {
	parsed := template.Must(template.New("").Parse(`{{if .a}}{{.b}}{{else}}{{with .c}}{{$.d}}{{end}}{{end}}` +
		`{{range .e}}{{(index .f "g").h}}{{else}}{{template "" .i}}{{end}}{{template ""}}{{$x := .j}}{{.}}`))
	var names, kinds []string
	Walk(parsed.Root, func(n parse.Node) {
		switch n := n.(type) {
		case *parse.FieldNode:
			names = append(names, n.Ident...)
		case *parse.VariableNode:
			names = append(names, n.Ident...)
		case *parse.IfNode, *parse.WithNode, *parse.RangeNode, *parse.TemplateNode, *parse.DotNode, *parse.ChainNode:
			kinds = append(kinds, n.String()[:min(5, len(n.String()))])
		}
	})
	if want := []string{"a", "b", "c", "$", "d", "e", "f", "i", "j"}; !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
	if want := []string{"{{wit", "{{if ", "(inde", "{{tem", "{{ran", "{{tem", "."}; !slices.Equal(kinds, want) {
		t.Errorf("nodes %q, want %q", kinds, want)
	}
}
