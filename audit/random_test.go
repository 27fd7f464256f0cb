package audit_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/audit"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/store"
	"logstow/tableindex"
)

// garden is a random store in which things were made wrong, and what is to be reported of it.
type garden struct {
	s   store.Store
	rng *rand.Rand
	// numbers are the segments of each bucket and service.
	numbers map[string]uint64
	// found is what verify finds at each depth; left what reindex by footers leaves, and after what
	// verify finds then.
	found, after [3][]string
	left         []string
}

// expect is what is found of an object at each depth, what reindex leaves of it, and what is found then.
type expect struct {
	listing, footers, blocks audit.Kind
	left                     audit.Kind
	then                     [3]audit.Kind
}

// repaired is what verify finds at each depth, and reindex repairs.
func repaired(listing, footers, blocks audit.Kind) expect {
	return expect{listing: listing, footers: footers, blocks: blocks}
}

// lasting is what is found before and after, and reindex can only report.
func lasting(listing, footers, blocks audit.Kind) expect {
	return expect{listing, footers, blocks, footers, [3]audit.Kind{listing, footers, blocks}}
}

func (g *garden) expect(object string, e expect) {
	add := func(to *[]string, kind audit.Kind) {
		if kind != "" {
			*to = append(*to, string(kind)+" "+object)
		}
	}
	for depth, kind := range [3]audit.Kind{e.listing, e.footers, e.blocks} {
		add(&g.found[depth], kind)
		add(&g.after[depth], e.then[depth])
	}
	add(&g.left, e.left)
}

// segment makes a segment at a random place.
func (g *garden) segment(t *testing.T) made {
	t.Helper()
	service := []string{"api", "api-b", "api.c", "web", "z9"}[g.rng.IntN(5)]
	class := []string{"", "", "audit"}[g.rng.IntN(3)]
	bucket := hour().Truncate(24*time.Hour).AddDate(0, 0, g.rng.IntN(3)).Add(time.Duration(g.rng.IntN(24)) * time.Hour)
	at := service + bucket.String()
	g.numbers[at]++
	return newSegment(t, service, class, bucket, g.numbers[at]+uint64(g.rng.IntN(2))*1_000_000, 1+g.rng.IntN(60))
}

// changedDigit is a string with one of its digits another.
func changedDigit(s string, rng *rand.Rand) string {
	for {
		i := rng.IntN(len(s))
		if s[i] < '0' || s[i] > '9' {
			continue
		}
		b := []byte(s)
		b[i] = '0' + (b[i]-'0'+1+byte(rng.IntN(9)))%10
		return string(b)
	}
}

// check compares what is reported with what is expected.
func (g *garden) check(t *testing.T) {
	t.Helper()
	for depth := range g.found {
		if diff := cmp.Diff(sorted(g.found[depth]), lines(t, g.s, audit.Verify, g.options(audit.Depth(depth)))); diff != "" {
			t.Errorf("verify at depth %d: %s", depth, diff)
		}
	}
	if diff := cmp.Diff(sorted(g.left), lines(t, g.s, audit.Reindex, g.options(audit.Footers))); diff != "" {
		t.Errorf("left by reindex: %s", diff)
	}
	for depth := range g.after {
		if diff := cmp.Diff(sorted(g.after[depth]), lines(t, g.s, audit.Verify, g.options(audit.Depth(depth)))); diff != "" {
			t.Errorf("verify after reindex at depth %d: %s", depth, diff)
		}
	}
	before := indexed(t, g.s)
	if _, report := reindex(t, g.s, audit.Options{}); report.Written+report.Removed != 0 {
		t.Errorf("a second reindex did %+v", report)
	}
	if diff := cmp.Diff(before, indexed(t, g.s)); diff != "" {
		t.Errorf("a second reindex changed: %s", diff)
	}
}

// options divide days into parts of another size each time.
func (g *garden) options(depth audit.Depth) audit.Options {
	o := audit.Options{Depth: depth}
	if g.rng.IntN(2) == 0 {
		o = audit.Divide(o, 1+g.rng.IntN(10), 1+g.rng.IntN(10))
	}
	return o
}

func sorted(all []string) []string { return slices.Sorted(slices.Values(all)) }

// lines are the kinds and objects of all differences, in order, each of one printable line.
func lines(t *testing.T, s store.Store, run runner, o audit.Options) (all []string) {
	t.Helper()
	o.Settle = time.Millisecond
	o.OnDifference = func(d audit.Difference) {
		all = append(all, string(d.Kind)+" "+d.Object)
		line := d.String()
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f }) || !strings.HasPrefix(line, all[len(all)-1]+": ") || d.Text == "" {
			t.Errorf("not a line that names what differs: %q", line)
		}
	}
	report, err := run(t.Context(), s, o)
	if err != nil || report.Err() != nil {
		t.Fatal(err, report.Err())
	}
	if int(report.Differences) != len(all) {
		t.Errorf("%d differences, the report has %d", len(all), report.Differences)
	}
	slices.Sort(all)
	return all
}

// Whatever is made wrong in a random store, it is found at the depth that can, and nothing else
// is; reindex repairs all that can be, and then only the rest is found.
func TestRandomDamage(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "damages many stores")
	seed := testrand.Seed(t)
	rounds := map[string]int{"local": effort.Cases{Test: 1, Full: 6}.N(), "azurite": 1}
	backends(t, func(t *testing.T, s store.Store) {
		_, name, _ := strings.Cut(t.Name(), "/")
		for round := range rounds[name] {
			t.Logf("round %d", round)
			g := &garden{s: s, rng: rand.New(rand.NewPCG(seed, uint64(round))), numbers: make(map[string]uint64)}
			var clean []tableindex.Entity
			for range 20 {
				m := g.segment(t)
				create(t, s, &m, m.entity.Meta.Encode())
				clean = append(clean, m.entity)
			}
			index(t, s, clean...)
			for _, damage := range slices.Sorted(maps.Keys(damages())) {
				for range g.rng.IntN(4) {
					damages()[damage](t, g, g.segment(t))
				}
			}
			g.check(t)
			if t.Failed() {
				return
			}
			empty(t, s)
		}
	})
}

// empty deletes everything.
func empty(t *testing.T, s store.Store) {
	t.Helper()
	var names []string
	for page, err := range s.Blobs().List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page {
			names = append(names, b.Name)
		}
	}
	if err := s.Blobs().Delete(t.Context(), store.AnyVersion(names...)); err != nil {
		t.Fatal(err)
	}
	dropTables(t, s)
}

// partitionOf is a service's partition.
func partitionOf(service string, shard int) string { return fmt.Sprintf("%s|%02x", service, shard) }
