package azurite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"logstow/internal/test/module"
)

// packageDir is testdata/azurite of the module around the working directory.
func packageDir() (string, error) {
	root, err := module.Root()
	return filepath.Join(root, "testdata", "azurite"), err
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
	unlock, err := module.Lock(filepath.Join(home, ".install.lock"))
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
