// Command typecheck checks the types of all packages of the module in the working directory, with their tests, for the systems
// that its arguments name as GOOS/GOARCH: what does not compile for a system is found without generating code for it.
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	failed := false
	for _, system := range os.Args[1:] {
		fmt.Println(system)
		if err := check(system); err != nil {
			fmt.Fprintf(os.Stderr, "typecheck %s: %v\n", system, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// check prints the errors of a system's packages.
func check(system string) error {
	goos, goarch, ok := strings.Cut(system, "/")
	if !ok {
		return fmt.Errorf("want GOOS/GOARCH")
	}
	all, err := packages.Load(&packages.Config{
		// Everything is checked from its source: export data would have to be compiled.
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesSizes,
		Env:   append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
		Tests: true,
	}, "./...")
	if err != nil {
		return err
	}
	if n := packages.PrintErrors(all); n > 0 {
		return fmt.Errorf("%d errors", n)
	}
	return nil
}
