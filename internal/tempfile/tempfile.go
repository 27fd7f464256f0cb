// Package tempfile creates temporary files that do not outlive the process.
package tempfile

import (
	"errors"
	"fmt"
	"os"

	"logstow/internal/hint"
)

// Create makes a temporary file in dir, or in the system's directory if dir is empty. It removes the name at once if the system
// allows that for open files, so that no file is left after a crash. The caller must end the file with [Remove].
func Create(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "logstow-*")
	if err != nil {
		return nil, Advise(dir, fmt.Errorf("cannot create temporary file: %w", err))
	}
	_ = os.Remove(file.Name())
	return file, nil
}

// WriteError is the error of a write to a file of [Create] in dir.
func WriteError(dir string, err error) error {
	return Advise(dir, fmt.Errorf("cannot write temporary file: %w", err))
}

// Advise adds what determines dir to an error of a file of [Create] in it, unless that is not TMPDIR.
func Advise(dir string, err error) error {
	if dir == "" || dir == os.TempDir() {
		return hint.Wrap(err, "TMPDIR names the directory")
	}
	return err
}

// Remove closes a file of [Create], and removes its name if Create could not.
func Remove(file *os.File) error {
	err := file.Close()
	if removeErr := os.Remove(file.Name()); !errors.Is(removeErr, os.ErrNotExist) {
		err = errors.Join(err, removeErr)
	}
	return err
}
