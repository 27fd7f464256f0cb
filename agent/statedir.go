package agent

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"logstow/internal/hint"
)

// BufferRoot returns the default parent directory of all buffers, which are in SERVICE/INSTANCE
// below it.
func BufferRoot(getenv func(string) string, uid int) (string, error) {
	state, home := getenv("XDG_STATE_HOME"), getenv("HOME")
	switch {
	case filepath.IsAbs(state):
	case runtime.GOOS == "windows" && getenv("ProgramData") != "":
		state = getenv("ProgramData")
	case uid == 0:
		state = "/var/lib"
	case home != "":
		state = filepath.Join(home, ".local", "state")
	default:
		return "", hint.Wrap(errors.New("cannot choose a buffer directory: neither XDG_STATE_HOME nor HOME is set"),
			"give --buffer-dir, or --buffer memory")
	}
	return filepath.Join(state, "logstow"), nil
}

// DefaultBufferDir returns the default buffer directory of a service and instance.
func DefaultBufferDir(service, instance string, getenv func(string) string) (string, error) {
	if instance == "." || instance == ".." {
		return "", hint.Wrap(errors.New("the instance name cannot be a directory"), "give --buffer-dir")
	}
	all, err := BufferRoot(getenv, os.Getuid())
	if err != nil {
		return "", err
	}
	return filepath.Join(all, service, instance), nil
}
