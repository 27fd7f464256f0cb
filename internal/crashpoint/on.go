//go:build crashpoints

package crashpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// target is the point to die at.
type target struct {
	name string
	left atomic.Int64 // passings until then
}

// chosen reads the environment once.
//
//nolint:gochecknoglobals // not in programs that anybody runs: the tag is for tests only
var chosen = sync.OnceValue(func() *target {
	name, count, counted := strings.Cut(os.Getenv(Env), ":")
	t := &target{name: name}
	t.left.Store(1)
	if counted {
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil || n < 1 {
			panic(fmt.Sprintf("%s: the passing %q must be a number from 1", Env, count))
		}
		t.left.Store(n)
	}
	return t
})

// Here kills the process if this is the passing that [Env] names. It is safe
// for concurrent use; a killed process's other goroutines run on for an instant.
func Here(name string) {
	t := chosen()
	if t.name != name || t.left.Add(-1) != 0 {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(fmt.Sprintf("die at %s: %v", name, err))
	}
	select {} // until the signal arrives
}
