//go:build !unix

package tail

import "io/fs"

const nonblocking = 0

// isRemoved reports whether an open file is known to be deleted.
func isRemoved(fs.FileInfo) bool { return false }

// idOf identifies a file by its path: on systems without inodes, a renamed file is a new one.
func idOf(path string, _ fs.FileInfo) fileID { return idOfPath(path) }

func openLimit() uint64 { return 1024 }
