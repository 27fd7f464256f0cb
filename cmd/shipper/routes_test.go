package main

import (
	"fmt"
	"testing"
)

// Shippers spread evenly over stores, and a new store takes only its share.
func TestChoice(t *testing.T) {
	t.Parallel()
	const shippers = 20_000
	three := []string{"azblob://one", "azblob://two", "azblob://three"}
	four := append(three[:3:3], "azblob://four")
	count, moved := map[string]int{}, 0
	for i := range shippers {
		instance := fmt.Sprintf("pod-%d", i)
		before, after := choice(three, "web", instance), choice(four, "web", instance)
		count[after]++
		if before == after {
			continue
		}
		moved++
		if after != "azblob://four" {
			t.Fatalf("%s moved from %s to %s", instance, before, after)
		}
	}
	for _, name := range four {
		if n := count[name]; n < shippers/4*9/10 || n > shippers/4*11/10 {
			t.Errorf("%d of %d in %s", n, shippers, name)
		}
	}
	if moved != count["azblob://four"] {
		t.Errorf("%d moved", moved)
	}
}
