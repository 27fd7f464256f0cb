package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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

// The choice is written down nowhere: another version of the program has to make the
// same one, or shippers would change their stores with an upgrade.
func TestChoiceGolden(t *testing.T) {
	t.Parallel()
	stores := []string{"azblob://logs?account=one", "azblob://logs?account=two", "azblob://logs?account=three"}
	for of, want := range map[[2]string]string{
		{"web", "pod-0"}: stores[1], {"web", "pod-1"}: stores[2], {"web", "pod-2"}: stores[2],
		{"web", "pod-3"}: stores[0], {"api", "pod-0"}: stores[1], {"api", "pod-1"}: stores[1],
	} {
		got := choice(stores, of[0], of[1])
		if got != want {
			t.Errorf("%v: %s, want %s", of, got, want)
		}
		slices.Reverse(stores) // the order of the list means nothing
		if again := choice(stores, of[0], of[1]); again != got {
			t.Errorf("%v: %s, in another order %s", of, got, again)
		}
	}
}

// The services of one instance spread as well.
func TestChoiceOfServices(t *testing.T) {
	t.Parallel()
	count := map[string]int{}
	for i := range 1000 {
		count[choice([]string{"one", "two"}, fmt.Sprintf("service-%d", i), "pod-0")]++
	}
	if count["one"] < 400 || count["two"] < 400 {
		t.Errorf("services: %v", count)
	}
}

// A change of any store is a change, and so is that of a service's own.
func TestStoreNamesEqual(t *testing.T) {
	t.Parallel()
	own := func(stores ...string) map[string][]string { return map[string][]string{"audit": stores} }
	base := Stores{All: []string{"a", "b"}, Own: own("c")}
	for name, tt := range map[string]struct {
		other Stores
		equal bool
	}{
		"the same":      {Stores{All: []string{"a", "b"}, Own: own("c")}, true},
		"another list":  {Stores{All: []string{"a"}, Own: own("c")}, false},
		"another own":   {Stores{All: []string{"a", "b"}, Own: own("d")}, false},
		"no own":        {Stores{All: []string{"a", "b"}}, false},
		"a service too": {Stores{All: []string{"a", "b"}, Own: map[string][]string{"audit": {"c"}, "web": {"c"}}}, false},
	} {
		if base.equal(tt.other) != tt.equal || tt.other.equal(base) != tt.equal {
			t.Errorf("%s: equal is %v", name, !tt.equal)
		}
	}
	if !(Stores{All: []string{"a"}}).equal(Stores{All: []string{"a"}, Own: map[string][]string{}}) {
		t.Error("none of its own is none")
	}
}

// A service goes to its own store or list, all others to the stores of all, by their absolute names.
func TestRoute(t *testing.T) {
	t.Parallel()
	names := Stores{All: []string{"/a", "/b"}, Own: map[string][]string{"audit": {"/c"}, "pay": {"/c", "/d"}}}
	if got := names.Every(); !slices.Equal(got, []string{"/a", "/b", "/c", "/d"}) {
		t.Errorf("every is %v", got)
	}
	route, err := names.route(noEnv)
	if err != nil {
		t.Fatal(err)
	}
	for service, want := range map[string][]string{"web": {"/a", "/b"}, "audit": {"/c"}, "pay": {"/c", "/d"}} {
		seen := map[string]bool{}
		for i := range 100 {
			name := route(service, fmt.Sprintf("pod-%d", i))
			if again := route(service, fmt.Sprintf("pod-%d", i)); again != name {
				t.Errorf("%s: %s, then %s", service, name, again)
			}
			seen[name] = true
		}
		if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
			t.Errorf("%s goes to %v, want %v", service, got, want)
		}
	}
	for _, one := range []Stores{{All: []string{"/a"}}, {All: []string{"/a", "/a"}}, {All: []string{"/a"}, Own: map[string][]string{"web": {"/a"}}}} {
		if route, err := one.route(noEnv); route != nil || err != nil {
			t.Errorf("%v: a route, or %v, where there is one store", one, err)
		}
	}
	if _, err := (Stores{All: []string{"/a", "azblob://NO?sig=CANARY"}}).route(noEnv); err == nil || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("got %v", err)
	}
}

func noEnv(string) string { return "" }
