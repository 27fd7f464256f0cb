package agent

import (
	"errors"
	"os"
	"path/filepath"

	"logstow/internal/hint"
)

// BufferRoot is the directory below which every service and instance has its
// buffer, unless told otherwise.
func BufferRoot(getenv func(string) string, uid int) (string, error) {
	state, home := getenv("XDG_STATE_HOME"), getenv("HOME")
	switch {
	case filepath.IsAbs(state):
	case uid == 0:
		state = "/var/lib"
	case home != "":
		state = filepath.Join(home, ".local", "state")
	default:
		return "", hint.Wrap(errors.New("there is no place for the buffer: neither XDG_STATE_HOME nor HOME is set"), "give --buffer-dir, or --buffer memory")
	}
	return filepath.Join(state, "logstow"), nil
}

// DefaultBufferDir is the buffer directory of a service and instance.
func DefaultBufferDir(service, instance string) (string, error) {
	if instance == "." || instance == ".." {
		return "", hint.Wrap(errors.New("the instance's name is no directory's"), "give --buffer-dir")
	}
	all, err := BufferRoot(os.Getenv, os.Getuid())
	if err != nil {
		return "", err
	}
	return filepath.Join(all, service, instance), nil
}
