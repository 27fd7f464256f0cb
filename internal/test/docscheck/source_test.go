package docscheck_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"logstow/internal/test/effort"
)

// sources are the packages that the two programs are made of, by directory.
type sources struct {
	dirs  []string
	files map[string][]*ast.File
}

// parsed parses all of them once, without tests.
var parsed = sync.OnceValues(func() (*sources, error) {
	list := exec.Command("go", "list", "-deps", "-f", `{{if not .Standard}}{{.ImportPath}} {{.Dir}} {{join .GoFiles ","}}{{end}}`, "./cmd/shipper", "./cmd/logq")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return nil, err
	}
	s := &sources{files: make(map[string][]*ast.File)}
	set := token.NewFileSet()
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || !strings.HasPrefix(fields[0], "logstow/") {
			continue
		}
		dir := strings.TrimPrefix(fields[0], "logstow/")
		s.dirs = append(s.dirs, dir)
		for name := range strings.SplitSeq(fields[2], ",") {
			file, err := parser.ParseFile(set, filepath.Join(fields[1], name), nil, 0)
			if err != nil {
				return nil, err
			}
			s.files[dir] = append(s.files[dir], file)
		}
	}
	return s, nil
})

func source(t *testing.T) *sources {
	t.Helper()
	effort.Need(t, effort.Test, "parses all of the source")
	s, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(s.dirs) < 30 {
		t.Fatalf("only %d packages", len(s.dirs))
	}
	return s
}

// each calls visit for each file.
func (s *sources) each(visit func(dir string, file *ast.File)) {
	for _, dir := range s.dirs {
		for _, file := range s.files[dir] {
			visit(dir, file)
		}
	}
}

// literal is the value of a string literal.
func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// lastName is the name that an expression ends in: Log of s.opts.Log.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// The table of environment variables has each that the programs read, and no others.
func TestReferenceEnvironment(t *testing.T) {
	t.Parallel()
	var inCode, onPage []string
	add := func(e ast.Expr) {
		if name, ok := literal(e); ok && regexp.MustCompile(`^[A-Z][A-Z_]+$`).MatchString(name) {
			inCode = append(inCode, name)
		}
	}
	source(t).each(func(_ string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if strings.HasSuffix(strings.ToLower(lastName(n.Fun)), "env") && len(n.Args) == 1 {
					add(n.Args[0])
				}
			case *ast.ValueSpec: // const AuthEnv = "LOGSTOW_AUTH"
				for i, name := range n.Names {
					if strings.HasSuffix(name.Name, "Env") && i < len(n.Values) {
						add(n.Values[i])
					}
				}
			case *ast.BasicLit: // cli.Text("config=$LOGSTOW_CONFIG", …)
				if _, name, ok := strings.Cut(n.Value, "=$"); ok {
					add(&ast.BasicLit{Kind: token.STRING, Value: `"` + name})
				}
			}
			return true
		})
	})
	if len(inCode) < 30 {
		t.Fatalf("only %d variables", len(inCode))
	}
	for _, row := range rows(t, "Environment variables") {
		onPage = append(onPage, quoted(row[0])...)
	}
	compare(t, inCode, onPage)
}

// logCall is a call of a logger: the first of its arguments that is a key or an attribute.
var logCall = map[string]int{ //nolint:gochecknoglobals // a table
	"Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "With": 0, "Log": 3, "LogAttrs": 3,
	"DebugContext": 2, "InfoContext": 2, "WarnContext": 2, "ErrorContext": 2,
}

// isLogger reports whether an expression looks like a *slog.Logger.
func isLogger(e ast.Expr) bool {
	name := strings.ToLower(lastName(e))
	return strings.HasSuffix(name, "log") || strings.HasSuffix(name, "logger")
}

// logKeys finds the keys of all attributes that are logged in a file: in calls of loggers, of
// method values of loggers, and of functions (by name) that hand their last argument on.
type logKeys struct {
	t        *testing.T
	wrappers map[string]int
	found    map[string]bool
}

// firstKey is the place of the first key in a call that logs.
func (k *logKeys) firstKey(call *ast.CallExpr, values map[string]int) (int, bool) {
	if f, ok := call.Fun.(*ast.SelectorExpr); ok && isLogger(f.X) {
		first, ok := logCall[f.Sel.Name]
		return first, ok
	}
	if id, ok := call.Fun.(*ast.Ident); ok && values[id.Name] > 0 {
		return values[id.Name], true
	}
	first, ok := k.wrappers[lastName(call.Fun)]
	return first, ok
}

// wrapper notes a function that hands its last argument, which is ...any, to a logger.
func (k *logKeys) wrapper(f *ast.FuncDecl) {
	n := 0
	var last *ast.Ident
	for _, field := range f.Type.Params.List {
		if _, variadic := field.Type.(*ast.Ellipsis); variadic && len(field.Names) == 1 {
			last = field.Names[0]
			break
		}
		n += len(field.Names)
	}
	if last == nil || f.Body == nil {
		return
	}
	ast.Inspect(f.Body, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok && call.Ellipsis.IsValid() && lastName(call.Args[len(call.Args)-1]) == last.Name {
			if _, logs := k.firstKey(call, nil); logs {
				k.wrappers[f.Name.Name] = n
			}
		}
		return true
	})
}

// pairs notes every other expression as a key.
func (k *logKeys) pairs(where string, args []ast.Expr) {
	for i := 0; i < len(args); {
		if key, ok := literal(args[i]); ok {
			k.found[key] = true
			i += 2
			continue
		}
		if _, attribute := args[i].(*ast.CallExpr); !attribute {
			k.t.Errorf("%s: the key of a logged attribute is no literal", where)
		}
		i++
	}
}

func (k *logKeys) function(dir string, f *ast.FuncDecl) {
	where := dir + "." + f.Name.Name
	values := map[string]int{}  // variables that are method values of loggers
	spread := map[string]bool{} // slices whose elements are logged
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, rhs := range n.Rhs {
				if sel, ok := rhs.(*ast.SelectorExpr); ok && isLogger(sel.X) && logCall[sel.Sel.Name] > 0 && i < len(n.Lhs) {
					values[lastName(n.Lhs[i])] = logCall[sel.Sel.Name]
				}
			}
		case *ast.CallExpr:
			if pkg, ok := n.Fun.(*ast.SelectorExpr); ok && lastName(pkg.X) == "slog" && len(n.Args) == 2 {
				if key, ok := literal(n.Args[0]); ok { // slog.String("key", …)
					k.found[key] = true
				}
			}
			first, logs := k.firstKey(n, values)
			if !logs || len(n.Args) < first {
				return true
			}
			args := n.Args[first:]
			if n.Ellipsis.IsValid() {
				spread[lastName(args[len(args)-1])] = true
				args = args[:len(args)-1]
			}
			k.pairs(where, args)
		}
		return true
	})
	ast.Inspect(f, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != 1 || !spread[lastName(assign.Lhs[0])] {
			return true
		}
		switch rhs := assign.Rhs[0].(type) {
		case *ast.CompositeLit:
			k.pairs(where, rhs.Elts)
		case *ast.CallExpr:
			if lastName(rhs.Fun) == "append" {
				k.pairs(where, rhs.Args[1:])
			}
		}
		return true
	})
}

// The table of log keys has each key that the programs log, and no others.
func TestReferenceLogKeys(t *testing.T) {
	t.Parallel()
	k := &logKeys{t: t, wrappers: map[string]int{}, found: map[string]bool{}}
	functions := func(visit func(dir string, f *ast.FuncDecl)) {
		source(t).each(func(dir string, file *ast.File) {
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok {
					visit(dir, f)
				}
			}
		})
	}
	functions(func(_ string, f *ast.FuncDecl) { k.wrapper(f) })
	functions(k.function)
	var inCode, onPage []string
	for key := range k.found {
		inCode = append(inCode, key)
	}
	if len(inCode) < 60 {
		t.Fatalf("only %d keys", len(inCode))
	}
	for _, row := range rows(t, "Log keys") {
		onPage = append(onPage, quoted(row[0])...)
	}
	compare(t, inCode, onPage)
}
