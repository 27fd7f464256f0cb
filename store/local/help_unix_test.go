//go:build unix

package local_test

import (
	"context"
	"fmt"
	"strconv"
)

// helpOnSystem does what a helper process does that only some systems can do.
func helpOnSystem(ctx context.Context, mode, dir, arg string) error {
	switch mode {
	case "holder":
		return printHolder(dir)
	case "starve":
		most, err := strconv.Atoi(arg)
		for n := 0; n < most && err == nil; n++ {
			err = starve(ctx, dir, n)
		}
		return err
	default:
		return fmt.Errorf("unknown helper %q", mode)
	}
}
