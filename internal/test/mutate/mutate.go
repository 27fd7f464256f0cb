// Package mutate places deliberate faults in Go code, to see whether tests catch them: a
// condition is negated, a comparison includes its bound or not, a constant is off by one, a
// statement is missing, arguments are exchanged.
package mutate

import (
	"bytes"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// Fault is one change of one file: New stands in place of the bytes from Start to End.
type Fault struct {
	// Package is the import path; File the file's absolute path.
	Package, File string
	// Line is where the change is, from 1; Kind is what it is.
	Line       int
	Kind       string
	Start, End int
	New        string
}

// Apply returns the file's text with the fault.
func (f Fault) Apply(src []byte) []byte {
	return slices.Concat(src[:f.Start], []byte(f.New), src[f.End:])
}

// Diff shows the fault: the line's number, and the changed lines before and after.
func (f Fault) Diff(src []byte) string {
	begin := bytes.LastIndexByte(src[:f.Start], '\n') + 1
	end := len(src)
	if i := bytes.IndexByte(src[f.End:], '\n'); i >= 0 {
		end = f.End + i
	}
	var b strings.Builder
	b.WriteString("@@ -" + strconv.Itoa(f.Line) + " @@ " + f.Kind + "\n")
	show := func(prefix string, text []byte) {
		for line := range bytes.Lines(append(bytes.Clone(text), '\n')) {
			b.WriteString(prefix)
			b.Write(line)
		}
	}
	show("-", src[begin:end])
	show("+", slices.Concat(src[begin:f.Start], []byte(f.New), src[f.End:end]))
	return b.String()
}

// finder collects the faults of one file.
type finder struct {
	pkg, path string
	fset      *token.FileSet
	src       []byte
	info      *types.Info
	faults    []Fault
	// unused are constants that no caller uses.
	unused map[ast.Expr]bool
}

// Find lists the faults that can be placed in a file, in order. Some may not compile.
// Locks, deferred calls, logging and the points of crash tests are left as they are:
// tests of packages rarely see them.
func Find(pkg, path string, fset *token.FileSet, file *ast.File, src []byte, info *types.Info) []Fault {
	f := &finder{pkg: pkg, path: path, fset: fset, src: src, info: info, unused: map[ast.Expr]bool{}}
	ast.Inspect(file, f.visit)
	slices.SortStableFunc(f.faults, func(a, b Fault) int { return a.Start - b.Start })
	return f.faults
}

// visit adds the faults of a node, and reports whether those inside of it are wanted.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.DeferStmt, *ast.ImportSpec:
		return false
	case *ast.CallExpr:
		if f.isUntested(n) {
			return false
		}
		if b, ok := n.Fun.(*ast.Ident); !ok || b.Name != "min" && b.Name != "max" {
			f.exchange(n) // the order of theirs does not matter
		}
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.ForStmt:
		f.negate(n.Cond)
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.BasicLit:
		f.constant(n)
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
	case *ast.CommClause:
		f.statements(n.Body)
	case *ast.ReturnStmt:
		f.results(n)
	case *ast.BranchStmt:
		f.branch(n)
	}
	return true
}

func (f *finder) offset(p token.Pos) int { return f.fset.Position(p).Offset }

func (f *finder) text(n ast.Node) string { return string(f.src[f.offset(n.Pos()):f.offset(n.End())]) }

// add adds a fault that replaces the text from one position to another.
func (f *finder) add(kind string, from, to token.Pos, replacement string) {
	f.faults = append(f.faults, Fault{
		Package: f.pkg, File: f.path, Line: f.fset.Position(from).Line, Kind: kind,
		Start: f.offset(from), End: f.offset(to), New: replacement,
	})
}

func (f *finder) negate(cond ast.Expr) {
	// Where a comparison is all, another operator is the same fault.
	if n, ok := cond.(*ast.BinaryExpr); cond != nil && (!ok || n.Op != token.EQL && n.Op != token.NEQ) {
		f.add("condition negated", cond.Pos(), cond.End(), "!("+f.text(cond)+")")
	}
}

// operators are what stands in place of an operator.
func operators() map[token.Token]string {
	return map[token.Token]string{
		token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==",
		token.LAND: "||", token.LOR: "&&",
		token.ADD: "-", token.SUB: "+", token.MUL: "/", token.QUO: "*", token.REM: "*",
		token.AND: "|", token.OR: "&", token.SHL: ">>", token.SHR: "<<",
	}
}

func (f *finder) binary(n *ast.BinaryExpr) {
	if other := operators()[n.Op]; other != "" && !f.isConstant(n) {
		f.add("operator "+n.Op.String()+" is "+other, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), other)
	}
}

// isConstant reports whether an expression has a value when it is compiled: those of
// texts and of types' sizes rarely matter.
func (f *finder) isConstant(e ast.Expr) bool { return f.info.Types[e].Value != nil }

func (f *finder) constant(n *ast.BasicLit) {
	if n.Kind != token.INT || f.unused[n] {
		return
	}
	if v, err := strconv.ParseInt(n.Value, 0, 64); err == nil && v < 1<<62 {
		f.add("constant is one more", n.Pos(), n.End(), strconv.FormatInt(v+1, 10))
	}
}

// statements adds those that are missing.
func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok && f.isUntested(call) {
				continue
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.IncDecStmt, *ast.SendStmt:
		default:
			continue
		}
		f.add("statement is missing", s.Pos(), s.End(), "")
	}
}

// exchange adds calls with neighbouring arguments of one type exchanged.
func (f *finder) exchange(n *ast.CallExpr) {
	for i := range max(0, len(n.Args)-1) {
		a, b := n.Args[i], n.Args[i+1]
		ta, tb := f.info.TypeOf(a), f.info.TypeOf(b)
		if ta == nil || tb == nil || !types.Identical(ta, tb) || f.text(a) == f.text(b) {
			continue
		}
		between := string(f.src[f.offset(a.End()):f.offset(b.Pos())])
		f.add("arguments are exchanged", a.Pos(), b.End(), f.text(b)+between+f.text(a))
	}
}

// results adds returns of false for true, and of no error. Constants beside an error or
// beside false are not looked at by callers.
func (f *finder) results(n *ast.ReturnStmt) {
	if last := len(n.Results) - 1; last > 0 &&
		(f.text(n.Results[last]) == "false" || f.text(n.Results[last]) != "nil" && f.isError(n.Results[last])) {
		for _, r := range n.Results[:last] {
			f.unused[r] = true
		}
	}
	for _, r := range n.Results {
		name, ok := r.(*ast.Ident)
		if !ok {
			continue
		}
		switch {
		case name.Name == "true" || name.Name == "false":
			f.add("result is negated", r.Pos(), r.End(), "!"+name.Name)
		case name.Name != "nil" && f.isError(r):
			f.add("error is not returned", r.Pos(), r.End(), "nil")
		}
	}
}

func (f *finder) isError(e ast.Expr) bool {
	t := f.info.TypeOf(e)
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}

func (f *finder) branch(n *ast.BranchStmt) {
	switch n.Tok {
	case token.BREAK:
		f.add("break is continue", n.Pos(), n.Pos()+token.Pos(len("break")), "continue")
	case token.CONTINUE:
		f.add("continue is break", n.Pos(), n.Pos()+token.Pos(len("continue")), "break")
	}
}

// isUntested reports whether a call is one of a lock, a logger or a point of a crash test.
func (f *finder) isUntested(n *ast.CallExpr) bool {
	method, ok := n.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	object := f.info.Uses[method.Sel]
	if object == nil || object.Pkg() == nil {
		return false
	}
	switch object.Pkg().Path() {
	case "log/slog", "logstow/internal/crashpoint":
		return true
	case "sync":
		return strings.HasSuffix(method.Sel.Name, "ock")
	}
	return false
}
