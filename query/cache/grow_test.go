package cache_test

import (
	"fmt"
	"os"
	"testing"
)

// A server keeps its cache open for months: the size holds meanwhile, too.
func TestSizeWhileOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := open(t, dir, 100_000)
	for i := range 1000 {
		c.Put(fmt.Sprint(i), make([]byte, 1000))
	}
	var sum int64
	for _, path := range files(t, dir) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	if sum > 130_000 {
		t.Errorf("%d bytes of 100000", sum)
	}
}
