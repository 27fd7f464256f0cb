//go:build unix

package access

import (
	"os"
	"syscall"
)

// mountedSecret reports whether root owns a file and this process does not run as root.
func mountedSecret(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Uid == 0 && os.Geteuid() != 0
}
