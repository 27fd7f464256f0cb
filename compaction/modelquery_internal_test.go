//go:build !race

package compaction

import (
	"fmt"
	"strings"

	"logstow/query"
)

// frozen runs a real query that lists what the reader has listed, and for which the store then stays as it is now: whatever it reads, and
// lists again. It returns what is wrong with the answer, "" if nothing.
func (m *model) frozen(s *state) string {
	if len(m.broken) > 0 || m.scene.indexed {
		return ""
	}
	k := shelfPair{s.reader.seen, s.shelf}
	a, ok := m.memo.answers[k]
	if !ok {
		a = m.ask(k)
		m.memo.answers[k] = a
	}
	// All records of an output are in one block.
	var damaged mask
	for _, o := range s.comp {
		if o.damage != intact {
			damaged |= o.inputs
		}
	}
	for name, c := range s.raw[:rawNames] {
		if c != 0 && c == s.reader.seen.raw[name] && m.items[c].kind == honest {
			damaged &^= m.content(c)
		}
	}
	switch missing := s.reader.want &^ a.got; {
	case a.wrong != "":
		return "a query " + a.wrong
	case s.expired:
	case missing&^damaged != 0:
		return fmt.Sprintf("a query misses a record: has %03b of %03b", a.got, s.reader.want)
	case missing != 0 && !a.reported:
		return fmt.Sprintf("a query does not report a record that it misses: has %03b of %03b", a.got, s.reader.want)
	}
	return ""
}

// answer is that of a query.
type answer struct {
	got      mask
	reported bool
	wrong    string
}

// ask asks for all records.
func (m *model) ask(k shelfPair) (a answer) {
	at := m.storeOf(k.seen, k.now, 0)
	for _, c := range []*container{&at.raw, &at.compacted, &at.other} {
		c.moves = true
	}
	stores := []query.Store{{Name: "store", Container: "logs", Blobs: &at.raw, Compacted: &at.compacted, Free: true}}
	if k.seen.raw[elsewhere] != 0 {
		stores = append(stores, query.Store{Name: "other", Container: "logs", Blobs: &at.other, Compacted: &container{}, Free: true})
	}
	q, err := query.New(stores, *m.matcher.Selection, query.Options{TempDir: m.run.o.TempDir, Unexplained: true})
	m.must(err)
	p, err := q.Plan(m.ctx)
	m.must(err)
	m.must(q.Run(m.ctx, p, func(r query.Match) error {
		line := string(r.Line)
		batch := strings.IndexByte("ABC", line[len(line)-1])
		switch {
		case batch < 0:
			a.wrong = "has a forged record: " + line
		case a.got&(1<<batch) != 0:
			a.wrong = "has a record twice: " + line
		case r.Segment.Meta.Class != m.scene.classes[batch] || r.Segment.Meta.Parse != m.scene.parsers[batch]:
			a.wrong = fmt.Sprintf("has a record of another class or parser: %s of %s", line, r.Segment)
		default:
			a.got |= 1 << batch
		}
		return nil
	}))
	a.reported = len(q.Report().Problems) > 0
	return a
}
