package query_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The files of each layer refer to each other in one direction. That packages do, the compiler
// checks. The formats in output and foreign, which are no layers, are chosen by the file that they build on.
func TestFilesReferInOneDirection(t *testing.T) {
	t.Parallel()
	references, packages := 0, 0
	err := filepath.WalkDir(".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if slices.Contains([]string{"testdata", "output", "foreign"}, d.Name()) {
			return fs.SkipDir
		}
		files := fileReferences(t, dir)
		if len(files) > 0 {
			packages++
		}
		for _, to := range files {
			references += len(to)
		}
		if cycle := fileCycle(files); cycle != nil {
			t.Errorf("%s: files that refer to each other in a circle: %s", dir, strings.Join(cycle, ", "))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if packages < 9 || references < 70 {
		t.Errorf("%d packages with %d references between files: the test checks too little", packages, references)
	}
}

func TestFileCycle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]map[string]bool
		want  bool
	}{
		"chain":   {map[string]map[string]bool{"a": {"b": true}, "b": {"c": true}, "c": {}}, false},
		"diamond": {map[string]map[string]bool{"a": {"b": true, "c": true}, "b": {"d": true}, "c": {"d": true}, "d": {}}, false},
		"pair":    {map[string]map[string]bool{"a": {"b": true}, "b": {"a": true}}, true},
		"circle":  {map[string]map[string]bool{"x": {"a": true}, "a": {"b": true}, "b": {"c": true}, "c": {"a": true}}, true},
	} {
		if got := fileCycle(c.files); (got != nil) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// fileReferences are, for each file of a package, the others in which something it uses is declared.
func fileReferences(t *testing.T, dir string) map[string]map[string]bool {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var parsed []*ast.File
	references := map[string]map[string]bool{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
		references[filepath.Base(path)] = map[string]bool{}
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
	return references
}

// nothing imports no package.
type nothing struct{}

func (nothing) Import(string) (*types.Package, error) { return nil, errors.New("not imported") }

// fileCycle are files of which none can come before the others; nil if the files can be ordered
// so that each refers only to later ones.
func fileCycle(references map[string]map[string]bool) []string {
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
