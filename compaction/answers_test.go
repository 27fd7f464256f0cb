package compaction_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/catalog"
	"logstow/compaction"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/query/cache"
	"logstow/record"
	"logstow/store"
	"logstow/tableindex"
)

// All answers are the same before, between the steps of and after compaction, and after a second
// generation, for a fleet of 50 instances with late records, equal times, copies of a batch and
// buckets of several widths in an hour.
func TestLongAnswers(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "compares many answers")
	rnd := testrand.New(t)
	s := openStore(t)
	web, audited, other := newFleet(t, s, rnd, "web"), newFleet(t, s, rnd, "web"), newFleet(t, s, rnd, "other")
	audited.class, audited.number = "audit", 5000
	parsed := newFleet(t, s, rnd, "web")
	parsed.parse, parsed.number = "pattern/1 '<who> line <number> <_>'", 6000
	segments := effort.Cases{Test: 12, Full: 60, Long: 1000}.N()
	web.fill(hour(), 50, segments)
	web.fill(hour().Add(time.Hour), 50, segments/2)
	audited.fill(hour(), 5, 20)
	parsed.fill(hour(), 5, 20)
	other.fill(hour(), 3, 9)
	copied := web.segment("pod-1", hour(), time.Hour, 50)
	web.store(copied)
	copied.name.Number = 7000
	web.store(copied)
	a := &asker{tb: t, s: s, from: hour(), to: hour().Add(2 * time.Hour), word: "pod-7"}
	want := a.answers()
	for name, text := range want {
		if strings.HasSuffix(name, "everything stats by instance") && !strings.Contains(text, "pod-49") {
			t.Fatalf("%s: %s", name, text)
		}
	}

	o := options(t)
	o.Limits.Target = 150 << 10 // several outputs an hour
	for generation := range 2 {
		when := fmt.Sprintf("generation %d", generation)
		o.KeepInputs = true
		made := run(t, s, o)
		if made.Outputs == 0 {
			t.Fatalf("%+v", made)
		}
		a.compare(when+" with its inputs", want)
		removeSome(t, s, rnd)
		a.compare(when+" without some inputs", want)
		o.KeepInputs = false
		run(t, s, o)
		a.compare(when+" without inputs", want)
		if generation > 0 || effort.Of() < effort.Full {
			break
		}
		web.store(copied) // once more, after it was merged
		a.compare("a copy of an input", want)
		web.fill(hour(), 50, 30)
		want = a.answers()
	}
	a.cache = openCache(t)
	a.compare("cold cache", want)
	a.compare("warm cache", want)
}

// A relay's segments have the answers of those that were sent to it, before and after compaction.
func TestAnswersOfRelays(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "compares many answers")
	rnd := testrand.New(t)
	plainly, pooled := openStore(t), openStore(t)
	senders, relays := newFleet(t, plainly, rnd, "web"), newFleet(t, pooled, rnd, "web")
	rounds := effort.Cases{Test: 3, Full: 12}.N()
	for round := range rounds {
		var parts []plain
		for i := range 1 + rnd.IntN(9) {
			p := senders.segment(fmt.Sprintf("pod-%d", i*rnd.IntN(3)), hour(), time.Hour, 1+rnd.IntN(80))
			senders.store(p)
			parts = append(parts, p)
		}
		if round == 0 { // one that was not relayed
			parts[0].name.Number = 9000
			relays.store(parts[0])
			parts = append(parts[1:], senders.segment("pod-5", hour(), time.Hour, 30))
			senders.store(parts[len(parts)-1])
		}
		relays.store(relays.relay("relay-0", parts...))
	}
	a := &asker{tb: t, s: plainly, from: hour(), to: hour().Add(time.Hour), word: "pod-3"}
	want := a.answers()
	a.s = pooled
	a.compare("relayed", want)
	o := options(t)
	o.KeepInputs = true
	if made := run(t, pooled, o); made.Outputs == 0 {
		t.Fatalf("%+v", made)
	}
	a.compare("relayed and compacted, with the inputs", want)
	o.KeepInputs = false
	run(t, pooled, o)
	a.compare("relayed and compacted", want)
}

// A batch that two stores have is read once and from the same store, whichever of them is compacted, and
// both: context is that of a store's instances.
func TestAnswersOfTwoStores(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "compares many answers")
	rnd := testrand.New(t)
	s, also := openStore(t), openStore(t)
	first, second := newFleet(t, s, rnd, "web"), newFleet(t, also, rnd, "web")
	first.number = 500
	for i := range 30 {
		p := first.segment(fmt.Sprintf("pod-%d", i%7), hour(), time.Hour, 30)
		switch i % 5 {
		case 0:
			first.store(p)
			second.store(p)
		case 1: // under a greater number
			first.store(p)
			p.name.Number += 1000
			second.store(p)
		case 2: // under a smaller number
			first.store(p)
			p.name.Number -= 450
			second.store(p)
		case 3:
			first.store(p)
		case 4:
			second.store(p)
		}
	}
	a := &asker{tb: t, s: s, also: also, from: hour(), to: hour().Add(time.Hour), word: "pod-3"}
	want := a.answers()
	o := options(t)
	run(t, also, o)
	a.compare("one is compacted", want)
	o.KeepInputs = true
	run(t, s, o)
	a.compare("both are, one with its inputs", want)
	o.KeepInputs = false
	run(t, s, o)
	a.compare("both are compacted", want)
}

// A damaged segment is read from the output of another store that contains its batch.
func TestAnswersOfAnotherStoresOutput(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "asks all questions of TestAnswersOfTwoStores")
	rnd := testrand.New(t)
	s, also := openStore(t), openStore(t)
	first, second := newFleet(t, s, rnd, "web"), newFleet(t, also, rnd, "web")
	var all []plain
	for i := range 12 {
		p := first.segment(fmt.Sprintf("pod-%d", i%5), hour(), time.Hour, 30)
		first.store(p)
		second.store(p)
		all = append(all, p)
	}
	a := &asker{tb: t, s: s, also: also, from: hour(), to: hour().Add(time.Hour), word: "pod-3"}
	want := a.answers()
	run(t, also, options(t))
	for _, i := range []int{0, 5, 11} {
		flip(t, s, all[i].name.String(), func(size int64) int64 { return rnd.Int64N(size * 8) })
	}
	a.compare("segments are damaged", want)
}

// The reasons of an empty answer count each record once.
func TestReasons(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "compares many answers")
	rnd := testrand.New(t)
	s, also := openStore(t), openStore(t)
	web := newFleet(t, s, rnd, "web")
	web.levels = int(record.Info)
	web.fill(hour(), 5, 20)
	p := web.segment("pod-1", hour(), time.Hour, 30)
	web.store(p)
	newFleet(t, also, rnd, "web").store(p)
	a := &asker{tb: t, s: s, also: also, from: hour(), to: hour().Add(time.Hour)}
	want := a.answers()
	if text := want["list errors reasons"]; !strings.Contains(text, "other levels: ") {
		t.Fatal(text)
	}
	o := options(t)
	o.KeepInputs = true
	run(t, s, o)
	a.compare("merged", want)
	o.KeepInputs = false
	run(t, s, o)
	a.compare("removed", want)
}

// A rejected output is read in no way: not its blocks, its list, or its entity.
func TestRejectedAnswers(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "compares many answers")
	rnd := testrand.New(t)
	s := openStore(t)
	newFleet(t, s, rnd, "web").fill(hour(), 5, 20)
	a := &asker{tb: t, s: s, from: hour(), to: hour().Add(2 * time.Hour), word: "pod-3"}
	want := a.answers()
	o := options(t)
	o.KeepInputs = true
	if made := run(t, s, o); made.Outputs != 1 {
		t.Fatalf("%+v", made)
	}
	segments, _ := list(t, s)
	output := segments[slices.IndexFunc(segments, func(s catalog.Segment) bool { return s.Meta.IsOutput() })]
	entity := tableindex.Entity{Name: output.Name, Meta: output.Meta, ETag: output.ETag, Size: output.Size}
	if err := tableindex.Put(t.Context(), s.Tables(), s.Container(), []tableindex.Entity{entity}); err != nil {
		t.Fatal(err)
	}
	name := output.Name.String()
	err := deleteAll(t.Context(), s, output.Name.String())
	if err == nil {
		_, err = s.Compacted().Create(t.Context(), name, make([]byte, output.Size), store.CreateOptions{Metadata: output.Meta.Encode()})
	}
	if err == nil {
		err = compaction.Reject(t.Context(), s, name)
	}
	if err != nil {
		t.Fatal(err)
	}
	a.compare("a rejected output", want)
}

// removeSome removes some inputs of outputs, some of them from the index only, as a compaction does
// that is killed.
func removeSome(t *testing.T, s store.Store, rnd *rand.Rand) {
	t.Helper()
	for _, h := range chains(t, s) {
		outputs := h.Outputs
		for i, o := range outputs {
			var err error
			if outputs[i], err = catalog.ReadOutput(t.Context(), rangeOf(s, o.Segment), o.Segment); err != nil {
				t.Fatal(err)
			}
			entity := tableindex.Entity{Name: o.Name, Meta: o.Meta, ETag: o.ETag, Size: o.Size}
			if err := tableindex.Put(t.Context(), s.Tables(), s.Container(), []tableindex.Entity{entity}); err != nil {
				t.Fatal(err)
			}
		}
		for i, place := range catalog.Contain(h.Plain, outputs) {
			p := h.Plain[i]
			if !place.Contained() || rnd.IntN(2) == 0 {
				continue
			}
			entity := tableindex.Entity{Name: p.Name, Meta: p.Meta}
			if err := tableindex.Remove(t.Context(), s.Tables(), entity.Table(s.Container()), []store.Key{entity.Key()}); err != nil {
				t.Fatal(err)
			}
			if rnd.IntN(2) == 0 {
				continue
			}
			if err := deleteAll(t.Context(), s, p.Name.String()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func openCache(t *testing.T) *cache.Cache {
	t.Helper()
	c, err := cache.Open(t.TempDir(), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}
