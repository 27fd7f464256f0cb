package azurite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// packageDir finds testdata/azurite of the module around the working directory.
func packageDir() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find testdata/azurite: %w", err)
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		home := filepath.Join(dir, "testdata", "azurite")
		if _, err := os.Stat(filepath.Join(home, "package-lock.json")); err == nil {
			return home, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no testdata/azurite above %s: run this inside Logstow's source tree", wd)
		}
	}
}

// install runs npm ci in home unless it was done. Several processes may call it concurrently: one
// installs, the others wait.
func install(ctx context.Context, home string) error {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w: %w", ErrMissing, err)
		}
	}
	if installed(home) {
		return nil
	}
	unlock, err := lock(filepath.Join(home, ".install.lock"))
	if err != nil {
		return fmt.Errorf("install azurite: %w", err)
	}
	defer unlock()
	if installed(home) { // by the previous holder of the lock
		return nil
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--no-progress")
	cmd.Dir = home
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("install azurite: npm ci in %s: %w\n%s", home, err, out)
	}
	if !installed(home) {
		return errors.New("install azurite: npm ci ended without a complete node_modules in " + home)
	}
	return nil
}

// installed reports whether npm has finished here: it writes this file last.
func installed(home string) bool {
	_, err := os.Stat(filepath.Join(home, "node_modules", ".package-lock.json"))
	return err == nil
}
