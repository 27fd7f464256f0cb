package mutate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// listed is the output of go list for a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

// Load lists the faults of the packages that patterns name in the module of a directory.
func Load(ctx context.Context, dir string, patterns ...string) ([]Fault, error) {
	packages, err := list(ctx, dir, patterns)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	var all []Fault
	for _, p := range packages {
		if p.DepOnly {
			continue
		}
		faults, err := loadPackage(fset, imports, p)
		if err != nil {
			return nil, err
		}
		all = append(all, faults...)
	}
	return all, nil
}

// list runs go list, which also compiles what the packages import.
func list(ctx context.Context, dir string, patterns []string) (all []listed, err error) {
	cmd := exec.CommandContext(ctx, "go",
		append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly", "--"}, patterns...)...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list packages: %w\n%s", err, stderr.Bytes())
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("cannot list packages: %w", err)
		}
		all = append(all, p)
	}
}

func loadPackage(fset *token.FileSet, imports types.Importer, p listed) (all []Fault, err error) {
	var files []*ast.File
	var texts [][]byte
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(fset, path, src, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files, texts = append(files, file), append(texts, src)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: imports}
	if _, err := config.Check(p.ImportPath, fset, files, info); err != nil {
		return nil, fmt.Errorf("cannot check %s: %w", p.ImportPath, err)
	}
	for i, file := range files {
		if ast.IsGenerated(file) {
			continue
		}
		all = append(all, Find(p.ImportPath, filepath.Join(p.Dir, p.GoFiles[i]), fset, file, texts[i], info)...)
	}
	return all, nil
}
