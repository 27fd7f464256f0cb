// Package module finds the module that a test runs in, and lets test binaries of several packages take turns.
package module

import (
	"fmt"
	"os"
	"path/filepath"
)

// Root is the directory of the go.mod at or above the working directory that belongs to Logstow.
func Root() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find Logstow's source tree: %w", err)
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "testdata", "azurite", "package-lock.json")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no source tree of Logstow above %s: run this inside of it", wd)
		}
	}
}
