package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each point at which the crash test kills is explained by package crashpoint, and no other.
func TestCrashPointsAreDocumented(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	inCode := make(map[string]bool)
	call := regexp.MustCompile(`crashpoint\.Here\("([^"]+)"\)`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(path)
		for _, m := range call.FindAllSubmatch(data, -1) {
			inCode[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "internal", "crashpoint", "crashpoint.go"))
	if err != nil {
		t.Fatal(err)
	}
	inPage := make(map[string]bool)
	for _, m := range regexp.MustCompile(`\b((?:wal|seal|sealed|state|quarantine|upload|entity|compact|export)\.[a-z.-]+)[,:]`).FindAllSubmatch(page, -1) {
		inPage[string(m[1])] = true
	}
	if len(inCode) < 20 {
		t.Errorf("only %d points found in the program", len(inCode))
	}
	for name := range inCode {
		if !inPage[name] {
			t.Errorf("package crashpoint does not explain %s", name)
		}
	}
	for name := range inPage {
		if !inCode[name] {
			t.Errorf("package crashpoint explains %s, which is not in the program", name)
		}
	}
}
