//go:build !unix

package tail

import "io/fs"

// removed reports whether a file is known to have no name any more.
func removed(fs.FileInfo) bool { return false }

// idOf identifies a file among all that are there, by its path: a renamed file
// is taken for another one on systems that number files in other ways.
func idOf(path string, _ fs.FileInfo) fileID { return idOfPath(path) }
