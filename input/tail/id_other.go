//go:build !unix

package tail

import "io/fs"

// removed reports whether an open file is known to be deleted.
func removed(fs.FileInfo) bool { return false }

// idOf identifies a file by its path: on systems without inodes, a renamed file is a new one.
func idOf(path string, _ fs.FileInfo) fileID { return idOfPath(path) }
