package main

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

// An error of a temporary file is none of the file that is read: the query must not go on without it.
func TestFileProblem(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{"app.log": true, "/tmp/logstow-1": false} {
		err := fmt.Errorf("failed: %w", &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC})
		if p := fileProblem("app.log", err); (p != nil) != want {
			t.Errorf("%v: %+v", err, p)
		}
	}
}
