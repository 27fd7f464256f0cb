//go:build !unix

package main

import "github.com/rogpeppe/go-internal/testscript"

// systemCommands are the commands of scripts that only some systems can run.
func systemCommands() map[string]func(*testscript.TestScript, bool, []string) { return nil }
