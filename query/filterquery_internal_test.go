package query

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/effort"
	"logstow/internal/test/querytest"
	"logstow/internal/test/testrand"
	"logstow/record"
	"logstow/record/attributes"
)

// ids are identifiers, of which each is in few messages.
func ids(rnd *rand.Rand, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = []string{
			fmt.Sprintf("%016x", rnd.Uint64()),
			fmt.Sprintf("order-%07d", rnd.IntN(1e7)),
			fmt.Sprintf("10.%d.%d.%d", rnd.IntN(256), rnd.IntN(256), rnd.IntN(256)),
			fmt.Sprintf("%08x-0000-4000-8000-%012x", rnd.Uint32(), rnd.Uint64()>>16),
			fmt.Sprintf("Request_%d", rnd.Uint32()),
			fmt.Sprintf("größe%d", rnd.Uint32()),
			fmt.Sprintf("blk_-%d", rnd.Uint64()),
			fmt.Sprintf("aa:bb:cc:%02x:%02x:%02x", rnd.IntN(256), rnd.IntN(256), rnd.IntN(256)),
		}[i%8]
	}
	return all
}

// identified is a message with identifiers, in one of the forms that logs have.
func identified(rnd *rand.Rand, ids []string) string {
	id := func() string { return ids[rnd.IntN(len(ids))] }
	escaped := func(s string) string { // as some writers of JSON do, more or less
		switch rnd.IntN(1000) {
		case 0:
			return fmt.Sprintf(`\u%04x%s`, s[0], s[1:])
		case 1:
			return s[:3] + fmt.Sprintf(`\u%04X`, s[3]) + s[4:]
		}
		return []string{s, s, s, `\u003c` + s + `\u003e`, `\n` + s + `\t`}[rnd.IntN(5)]
	}
	message := []string{
		fmt.Sprintf(`{"id":"%s","msg":"took %d ms for %s, done","peer":{"ip":"%s"}}`, escaped(id()), rnd.IntN(100), escaped(id()), id()),
		fmt.Sprintf(`id=%s peer.ip=%s msg="for %s now"`, id(), id(), escaped(id())),
		fmt.Sprintf("GET /%s from %s:%d\nby %s", id(), id(), rnd.IntN(9999), id()),
		id(),
		id() + id() + "\\n" + id(),
	}[rnd.IntN(5)]
	if rnd.IntN(10) == 0 {
		return strings.ToUpper(message)
	}
	return message
}

// pick selects something of a message, in one of the ways that a query has.
func pick(rnd *rand.Rand, sel *Selection, ids []string) {
	id := ids[rnd.IntN(len(ids))]
	message := identified(rnd, ids)
	start := rnd.IntN(len(message))
	part := message[start:][:1+rnd.IntN(len(message)-start)]
	quoted := func(s string) string { return fmt.Sprintf("%q", s) }
	other := ids[rnd.IntN(len(ids))]
	switch rnd.IntN(15) {
	case 12:
		sel.IDs = append(sel.IDs, id, other)
	case 13, 14:
		for range 1 + rnd.IntN(30) {
			unknown := fmt.Sprintf("%016x", rnd.Uint64())
			sel.IDs = append(sel.IDs, []string{unknown, unknown, unknown, ids[rnd.IntN(len(ids))]}[rnd.IntN(4)])
		}
	case 9:
		sel.Where = []string{fmt.Sprintf("id in [%s, %s, %s]", quoted(id), quoted(other), quoted(ids[rnd.IntN(len(ids))]))}
	case 10:
		sel.Where = []string{fmt.Sprintf("id == %s or %s == peer.ip and msg contains %s", quoted(id), quoted(other), quoted(id[:2]))}
	case 11:
		sel.Where = []string{fmt.Sprintf("(id == %s || msg startsWith %s) && not (peer.ip in [%s])", quoted(id), quoted("for "+other+" n"), quoted(id))}
	case 0:
		sel.Patterns = append(sel.Patterns, part)
	case 1, 2:
		sel.Patterns = append(sel.Patterns, id)
	case 3:
		sel.Patterns = append(sel.Patterns, "for "+id+" now")
	case 4:
		sel.Regexps = append(sel.Regexps, `(for|by) `+regexp.QuoteMeta(id)+`\b`)
	case 5:
		sel.Where = []string{"id == " + quoted(id)}
	case 6:
		sel.Where = []string{fmt.Sprintf("%s == peer.ip or id == %s", quoted(id), quoted(id))}
	case 7:
		sel.Where = []string{fmt.Sprintf(`peer.ip == %s and msg != "x"`, quoted(id))}
	case 8:
		sel.Where = []string{"msg contains " + quoted([]string{id, "for " + id + ",", id[1:]}[rnd.IntN(3)])}
	}
	sel.IgnoreCase = rnd.IntN(3) == 0
	sel.Substring = rnd.IntN(4) == 0
}

// scatter adds segments of messages with identifiers, large enough that their
// filters are asked.
func (w *world) scatter(segments int, ids []string) {
	w.t.Helper()
	for range segments {
		records := make([]record.Record, 150+w.rnd.IntN(100))
		for i := range records {
			noise := fmt.Sprintf(" %x", w.salt())
			records[i] = record.Record{
				Time: origin().Add(time.Duration(w.rnd.IntN(3600)) * time.Second).UnixNano(), Level: record.Info,
				Source: ids[w.rnd.IntN(len(ids))][:3], Message: []byte(identified(w.rnd, ids) + strings.Repeat(noise, w.rnd.IntN(2))),
			}
		}
		for i := range records {
			if w.rnd.IntN(8) == 0 { // the identifiers are attributes instead
				set := attributes.Set{Own: []attributes.Member{{Name: "id", Value: attributes.AppendText(nil, "x\n"+identified(w.rnd, ids)+"\ty")}}}
				records[i].Attributes, _ = set.Append(nil)
			}
		}
		b := w.add("svc", fmt.Sprintf("pod-%d", w.rnd.IntN(3)), 2000+w.rnd.IntN(8000), w.salt(), records)
		if len(b.bodies[0]) <= 4<<10 { // below that a filter is not used
			w.t.Fatalf("a segment of %d bytes is too small for this test", len(b.bodies[0]))
		}
		switch w.rnd.IntN(6) {
		case 0:
			w.duplicate(b, true)
		case 1:
			w.duplicate(b, false)
		}
	}
}

// No filter, plan or cache hides a match: queries for identifiers answer as
// reading everything does.
func TestFilterAgreesWithReference(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many queries")
	rnd := testrand.New(t)
	var skipped, blocks, found int64
	for round := range max(4, rounds(8)) {
		w := newWorld(t, rnd, round == 0)
		if round%2 == 1 {
			w.keep()
		}
		known := ids(rnd, 400)
		w.scatter(1+rnd.IntN(8), known)
		plans := []string{PlanList}
		if w.tables != nil {
			w.indexed()
			plans = append(plans, PlanIndex)
		}
		for range (effort.Cases{Test: 7, Full: 40}).N() {
			sel := querytest.Everything()
			sel.From, sel.To = origin(), origin().Add(time.Hour)
			for range 1 + rnd.IntN(2) {
				pick(rnd, &sel, known)
			}
			want := w.want(&sel)
			for _, plan := range plans {
				q := w.query(sel, Options{Plan: plan})
				if diff := cmp.Diff(want, got(t, q)); diff != "" {
					t.Fatalf("round %d, %+v (-reference +query)\n%s", round, sel, diff)
				}
				r := q.Report()
				if len(r.Problems) > 0 {
					t.Fatalf("%+v: %v", sel, r.Problems)
				}
				skipped, blocks, found = skipped+r.SegmentsFiltered, blocks+r.BlocksFiltered, found+int64(len(want))
			}
		}
	}
	if skipped < int64(rounds(100)) || blocks < 100 || found < 50 {
		t.Errorf("%d segments and %d blocks skipped, %d records found: too few", skipped, blocks, found)
	}
}

// filler is a message without a known token, of bytes that do not compress.
func filler(rnd *rand.Rand) string { return fmt.Sprintf("%x %x", rnd.Uint64(), rnd.Uint64()) }

// needles is a world of some segments, in blocks of about 2,000 bytes, of which the
// first has the messages, each far from the others, and all are else alike.
func needles(t *testing.T, segments int, messages ...string) *world {
	t.Helper()
	w := newWorld(t, rand.New(rand.NewPCG(9, 9)), false)
	for i := range segments {
		var records []record.Record
		for j := range 400 {
			text := filler(w.rnd)
			if i == 0 && j%20 == 10 && j/20 < len(messages) {
				text = messages[j/20]
			}
			records = append(records, record.Record{Time: origin().Add(time.Duration(j)).UnixNano(), Source: "s", Message: []byte(text)})
		}
		w.add("svc", "pod", 2000, w.salt(), records)
	}
	return w
}

// What a field is equal to is found however it is escaped.
func TestFilterFindsEscapes(t *testing.T) {
	t.Parallel()
	messages := []string{
		`{"id":"abcdef1234567"}`, `{"id":"\u0061bcdef1234567"}`, `{"id":"abcdef123456\u0037"}`, `{"id":"abc\u0064ef\u00311234567"}`,
		`{"id":"<abcdef1234567>"}`, `{"id":"\u003cabcdef1234567\u003E"}`, `{"id":"é1234567"}`, `{"id":"\u00e91234567"}`, `id="abcdef\u00311234567"`,
	}
	w := needles(t, 5, messages...)
	for where, want := range map[string]int{
		`id == "abcdef1234567"`: 3, `id == "<abcdef1234567>"`: 2, `id == "é1234567"`: 2, `id == "abcdef11234567"`: 2,
		`id contains "<abcdef1234567>"`: 2, `id startsWith "<abcdef1234567>"`: 2, `id in ["abcdef1234567", "x"]`: 3, `id == "7654321"`: 0,
	} {
		sel := querytest.Everything()
		sel.From, sel.To, sel.Where = origin(), origin().Add(time.Hour), []string{where}
		if lines := got(t, w.query(sel, Options{})); len(lines) != want {
			t.Errorf("%s: %q, want %d", where, lines, want)
		}
	}
}

// A segment without the needle costs one request, one with it three, and none of
// them a second time.
func TestFilterRequests(t *testing.T) {
	t.Parallel()
	w := needles(t, 40, "order 8b0ca7d1f4e9 done")
	w.keep()
	for _, pattern := range []string{"8b0ca7d1f4e9", "8B0CA7D1F4E9", " 8b0ca7d1f4e9 "} {
		sel := querytest.Everything()
		sel.From, sel.To, sel.Patterns, sel.IgnoreCase = origin(), origin().Add(time.Hour), []string{pattern}, pattern == "8B0CA7D1F4E9"
		for _, warm := range []bool{false, true} {
			q := w.query(sel, Options{})
			lines, r := got(t, q), q.Report()
			if len(lines) != 1 {
				t.Errorf("%q: %q", pattern, lines)
			}
			// The filters of 39 segments of 16 blocks name 3 of them in vain, on average.
			if warm = warm || pattern != "8b0ca7d1f4e9"; !warm && (r.Requests.Get < 42 || r.Requests.Get > 56) || warm && r.Requests.Get != 0 {
				t.Errorf("%q, warm %v: %d requests, %v", pattern, warm, r.Requests.Get, r)
			}
			if r.SegmentsFiltered < 32 || r.SegmentsFiltered+r.SegmentsRead != 40 || r.BlocksRead > 8 {
				t.Errorf("%q: %v", pattern, r)
			}
		}
	}
}

// For two texts, of which either suffices, each segment's filter is used.
func TestFilterOfAlternatives(t *testing.T) {
	t.Parallel()
	w := needles(t, 40, `id=8b0ca7d1f4e9 done`, `id=0c1d2e3f4a5b done`)
	for expr, want := range map[string]int{
		`id in ["8b0ca7d1f4e9", "0c1d2e3f4a5b"]`:               2,
		`id == "8b0ca7d1f4e9" or id == "7777777777777"`:        1,
		`id == "5555555555555" || id == "7777777777777"`:       0,
		`id == "0c1d2e3f4a5b" and (id == "a" or id == "é")`:    0,
		`id == "0c1d2e3f4a5b" and id in ["0c1d2e3f4a5b", "é"]`: 1,
	} {
		sel := querytest.Everything()
		sel.From, sel.To, sel.Where = origin(), origin().Add(time.Hour), []string{expr}
		q := w.query(sel, Options{})
		if lines, r := got(t, q), q.Report(); len(lines) != want || r.SegmentsFiltered < 28 || r.BlocksRead > 14 {
			t.Errorf("%s: %q, %v", expr, lines, r)
		}
	}
	// One that the filter cannot look up: everything is read.
	sel := querytest.Everything()
	sel.From, sel.To, sel.Where = origin(), origin().Add(time.Hour), []string{`id in ["8b0ca7d1f4e9", "é"]`}
	q := w.query(sel, Options{})
	if lines, r := got(t, q), q.Report(); len(lines) != 1 || r.SegmentsFiltered != 0 {
		t.Errorf("%q, %v", lines, r)
	}
}

// A filter that is damaged, or not at its place in the metadata, costs time but no match.
func TestDamagedFilter(t *testing.T) {
	t.Parallel()
	w := needles(t, 2, "order 8b0ca7d1f4e9 done")
	first := w.segments[0]
	sel := querytest.Everything()
	sel.From, sel.To, sel.Patterns = origin(), origin().Add(time.Hour), []string{"8b0ca7d1f4e9"}
	offset := first.meta.Filter.Offset
	for range 200 {
		at := offset + w.rnd.Int64N(first.meta.Footer-offset)
		first.bodies[0][at] ^= 1
		q := w.query(sel, Options{})
		if lines, r := got(t, q), q.Report(); len(lines) != 1 || len(r.Problems) > 0 {
			t.Fatalf("byte %d: %q, %v", at, lines, r.Problems)
		}
		first.bodies[0][at] ^= 1
	}
	// The metadata are of another place.
	meta := first.meta
	meta.Filter.Offset -= 7
	w.memory.put(first.name.String(), first.bodies[0], meta.Encode())
	q := w.query(sel, Options{})
	got(t, q)
	if r := q.Report(); len(r.Problems) != 1 { // footer and metadata differ
		t.Errorf("%v", r.Problems)
	}
}
