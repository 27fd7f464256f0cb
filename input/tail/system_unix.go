//go:build unix

package tail

import (
	"io/fs"
	"syscall"
)

// isRemoved reports whether an open file was deleted.
func isRemoved(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}

// idOf identifies a file by device and inode.
func idOf(info fs.FileInfo) fileID {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok { // not a file of the operating system
		return fileID{}
	}
	return fileID{uint64(st.Dev), st.Ino} //nolint:unconvert // the type of Dev differs between systems
}
