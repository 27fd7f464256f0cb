package docscheck_test

import (
	"go/ast"
	"path"
	"regexp"
	"strings"
	"testing"
)

// declared are the functions, methods and methods of interfaces of all packages, by
// "dir.Func" or "dir.Type.Method"; those of interfaces have no body.
func declared(t *testing.T) map[string]*ast.BlockStmt {
	t.Helper()
	all := make(map[string]*ast.BlockStmt)
	source(t).each(func(dir string, file *ast.File) {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					name = receiver(d.Recv.List[0].Type) + "." + name
				}
				all[dir+"."+name] = d.Body
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					typ, ok := spec.(*ast.TypeSpec)
					if !ok {
						continue
					}
					if i, ok := typ.Type.(*ast.InterfaceType); ok {
						for _, m := range i.Methods.List {
							for _, name := range m.Names {
								all[dir+"."+typ.Name.Name+"."+name.Name] = nil
							}
						}
					}
				}
			}
		}
	})
	return all
}

// receiver is the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	}
	return lastName(e)
}

// names are all names that a function's body mentions.
func names(body *ast.BlockStmt) map[string]bool {
	all := make(map[string]bool)
	if body != nil {
		ast.Inspect(body, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				all[id.Name] = true
			}
			return true
		})
	}
	return all
}

// Each function that docs/architecture.md names exists, and each hop of its tables is
// called by an earlier hop of the same table.
func TestArchitecture(t *testing.T) {
	t.Parallel()
	all := declared(t)
	packages := make(map[string]bool)
	for name := range all {
		packages[name[:strings.Index(path.Base(name), ".")+len(name)-len(path.Base(name))]] = true
	}
	page := read(t, root, "docs", "architecture.md")
	function := regexp.MustCompile(`^([a-z0-9/]+)\.(\w+(?:\.\w+)?)$`)
	named := 0
	for _, text := range quoted(page) {
		m := function.FindStringSubmatch(text)
		if m == nil || !packages[m[1]] {
			continue
		}
		named++
		if _, ok := all[text]; !ok {
			t.Errorf("unknown function %s", text)
		}
	}
	if named < 50 {
		t.Errorf("only %d functions named", named)
	}
	for _, table := range strings.Split(page, "\n| function | step |\n")[1:] {
		table, _, _ = strings.Cut(table, "\n\n")
		called := map[string]bool{}
		for i, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
			body, ok := all[m[1]]
			if !ok {
				t.Errorf("unknown function %s", m[1])
			}
			if name := m[1][strings.LastIndex(m[1], ".")+1:]; i > 0 && !called[name] {
				t.Errorf("%s is not called by a hop before it", m[1])
			}
			for name := range names(body) {
				called[name] = true
			}
		}
	}
}
