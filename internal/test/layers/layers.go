// Package layers checks that the files of a package refer to each other in one direction.
package layers

import (
	"errors"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// References are, for each file of the package in a directory, without tests and files of other
// systems, the others in which something that it uses is declared.
func References(dir string) (map[string]map[string]bool, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	var parsed []*ast.File
	references := map[string]map[string]bool{}
	for _, path := range paths {
		name := filepath.Base(path)
		if ok, err := build.Default.MatchFile(dir, name); err != nil || !ok || isTest(name) {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, file)
		references[name] = map[string]bool{}
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: nothing{}, Error: func(error) {}} // what is imported stays unknown
	pkg, _ := config.Check(dir, set, parsed, info)
	for use, object := range info.Uses {
		if object.Pkg() != pkg || !object.Pos().IsValid() {
			continue
		}
		from, to := filepath.Base(set.Position(use.Pos()).Filename), filepath.Base(set.Position(object.Pos()).Filename)
		if from != to {
			references[from][to] = true
		}
	}
	return references, nil
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

// nothing imports no package.
type nothing struct{}

// Import implements [types.Importer].
func (nothing) Import(string) (*types.Package, error) { return nil, errors.New("not imported") }

// Cycle are files of which none can come before the others; nil if the files can be ordered
// so that each refers only to later ones.
func Cycle(references map[string]map[string]bool) []string {
	left := map[string]map[string]bool{}
	for file, to := range references {
		left[file] = maps.Clone(to)
	}
	for {
		removed := false
		for _, file := range slices.Sorted(maps.Keys(left)) {
			if len(left[file]) > 0 {
				continue
			}
			delete(left, file)
			for _, to := range left {
				delete(to, file)
			}
			removed = true
		}
		switch {
		case len(left) == 0:
			return nil
		case !removed:
			return slices.Sorted(maps.Keys(left))
		}
	}
}
