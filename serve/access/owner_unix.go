//go:build unix

package access

import (
	"os"
	"syscall"
)

// mountedSecret reports whether a file is root's and this process is not.
func mountedSecret(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Uid == 0 && os.Geteuid() != 0
}
