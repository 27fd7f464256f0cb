//go:build !unix

package local_test

import (
	"context"
	"fmt"
)

// helpOnSystem does what a helper process does that only some systems can do.
func helpOnSystem(_ context.Context, mode, _, _ string) error {
	return fmt.Errorf("unknown helper %q on this system", mode)
}
