package aggregate

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"logstow/message"
)

// refRow is a row of the result; sorting are the functions that it is sorted by.
type refRow struct {
	refGroup
	typed   []refValue // of By
	sorting []refValue
	values  []refValue
}

func compareRef(a, b refValue, descending bool) int {
	switch {
	case a.kind == Missing || b.kind == Missing:
		return cmp.Compare(btoi(a.kind == Missing), btoi(b.kind == Missing)) // last
	case (a.rat != nil) != (b.rat != nil):
		if (a.rat != nil) != descending {
			return -1
		}
		return 1
	}
	c := strings.Compare(a.text, b.text)
	if a.rat != nil {
		c = a.rat.Cmp(b.rat)
	}
	if descending {
		return -c
	}
	return c
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compareRows compares by the order of the Spec; without the step for groups over the whole range.
func (s *Spec) compareRows(a, b *refRow, stepped bool) int {
	for _, o := range s.Sort {
		var c int
		switch {
		case o.Function >= 0:
			c = compareRef(a.sorting[o.Function], b.sorting[o.Function], o.Descending)
		case s.By[o.Key].Step.IsZero():
			c = compareRef(a.typed[o.Key], b.typed[o.Key], o.Descending)
		case stepped && o.Descending:
			c = cmp.Compare(b.step, a.step)
		case stepped:
			c = cmp.Compare(a.step, b.step)
		}
		if c != 0 {
			return c
		}
	}
	if stepped && a.step != b.step {
		return cmp.Compare(a.step, b.step)
	}
	if stepped || !slices.ContainsFunc(s.By, func(k Key) bool { return !k.Step.IsZero() }) {
		for i, k := range s.By {
			if i == s.Pivot || !k.Bucket {
				continue
			}
			if c := compareRef(a.typed[i], b.typed[i], false); c != 0 {
				return c
			}
		}
	}
	if c := compareRef(a.sorting[0], b.sorting[0], true); c != 0 {
		return c
	}
	for i := range a.keys {
		if i == s.Pivot {
			continue
		}
		x, y := a.keys[i], b.keys[i]
		switch {
		case x == nil && y == nil:
		case x == nil:
			return -1
		case y == nil:
			return 1
		default:
			if c := bytes.Compare([]byte(*x), []byte(*y)); c != 0 {
				return c
			}
		}
	}
	return 0
}

// reference are the header and the rows of a Spec.
func (s *Spec) reference(records []*refRecord) []string {
	step := slices.IndexFunc(s.By, func(k Key) bool { return !k.Step.IsZero() })
	isKey := func(i int) bool { return i != step && i != s.Pivot }
	others := 0
	for i := range s.By {
		if isKey(i) {
			others++
		}
	}
	from, to := s.From, s.To
	if from == 0 && to == 0 && len(records) > 0 {
		from, to = math.MaxInt64, math.MinInt64
		for _, r := range records {
			from, to = min(from, r.time), max(to, r.time+1)
		}
	}
	split := func(records []*refRecord, use func(int) bool, step bool) map[string]*refRow {
		rows := map[string]*refRow{}
		for _, r := range records {
			g := s.refKey(r)
			id := g.id(use, step)
			if rows[id] == nil {
				rows[id] = &refRow{refGroup: g, typed: make([]refValue, len(s.By))}
			}
			rows[id].records = append(rows[id].records, r)
		}
		return rows
	}
	seconds := func(g *refGroup, stepped bool) *big.Rat {
		a, b := from, to
		if stepped {
			a, b = max(a, g.step), min(b, s.By[step].Step.End(g.step, s.Zone))
		}
		return big.NewRat(b-a, 1e9)
	}
	finish := func(row *refRow, stepped bool) {
		for i, k := range s.By {
			isString := slices.ContainsFunc(row.records, func(r *refRecord) bool { return !k.Bucket && r.values[name(k.Field)].Kind == message.String })
			row.typed[i] = refTyped(row.keys[i], isString)
		}
		for _, f := range s.Compute {
			row.sorting = append(row.sorting, s.compute(f, row.records, len(records), seconds(&row.refGroup, stepped)))
		}
	}
	ranks := s.Limit > 0 && step >= 0 && others > 0
	if ranks {
		groups := split(records, isKey, false)
		var order []*refRow
		for _, g := range groups {
			finish(g, false)
			order = append(order, g)
		}
		slices.SortFunc(order, func(a, b *refRow) int { return s.compareRows(a, b, false) })
		var kept []*refRecord
		for _, g := range order[:min(len(order), s.Limit)] {
			kept = append(kept, g.records...)
		}
		return s.rows(kept, step, others, from, to, split, finish, isKey)
	}
	return s.rows(records, step, others, from, to, split, finish, isKey)
}

func (s *Spec) rows(records []*refRecord, step, others int, from, to int64,
	split func([]*refRecord, func(int) bool, bool) map[string]*refRow, finish func(*refRow, bool), isKey func(int) bool,
) []string {
	var columns []*string
	if s.Pivot >= 0 {
		seen := map[string]bool{}
		for _, r := range records {
			k := s.refKey(r).keys[s.Pivot]
			if !seen[show(k)] {
				seen[show(k)] = true
				columns = append(columns, k)
			}
		}
		slices.SortFunc(columns, func(a, b *string) int {
			if a == nil || b == nil {
				return cmp.Compare(btoi(a != nil), btoi(b != nil))
			}
			if s.By[s.Pivot].Bucket {
				return compareRef(refTyped(a, false), refTyped(b, false), false)
			}
			return strings.Compare(*a, *b)
		})
	}
	empty := make([]refValue, len(s.Compute))
	for i, f := range s.Compute {
		if f.Kind == Count {
			empty[i] = refInt(0)
		}
	}
	rows := split(records, isKey, step >= 0)
	if step >= 0 && others == 0 {
		a, b := from, to
		if s.From == 0 && s.To == 0 {
			a, b = math.MaxInt64, math.MinInt64
			for _, row := range rows {
				a, b = min(a, row.step), max(b, row.step)
			}
		}
		for at := a; at < b && len(rows) < 1_000_000; at = s.By[step].Step.End(s.By[step].Step.Start(at, s.Zone), s.Zone) {
			g := refGroup{step: s.By[step].Step.Start(at, s.Zone), keys: make([]*string, len(s.By))}
			if id := g.id(isKey, true); rows[id] == nil {
				rows[id] = &refRow{refGroup: g, typed: make([]refValue, len(s.By)), sorting: empty}
			}
		}
	}
	if len(s.By) == 0 && len(rows) == 0 {
		rows[""] = &refRow{sorting: empty}
	}
	var order []*refRow
	for _, row := range rows {
		if len(row.records) > 0 {
			finish(row, step >= 0)
		}
		if s.Pivot < 0 {
			row.values = row.sorting
		}
		for _, column := range columns {
			var cell []*refRecord
			for _, r := range row.records {
				if show(s.refKey(r).keys[s.Pivot]) == show(column) {
					cell = append(cell, r)
				}
			}
			if len(cell) == 0 {
				row.values = append(row.values, empty...)
				continue
			}
			c := &refRow{refGroup: row.refGroup, typed: make([]refValue, len(s.By))}
			c.records = cell
			finish(c, step >= 0)
			row.values = append(row.values, c.sorting...)
		}
		order = append(order, row)
	}
	slices.SortFunc(order, func(a, b *refRow) int { return s.compareRows(a, b, step >= 0) })
	if s.Limit > 0 && (step < 0 || others == 0) {
		order = order[:min(len(order), s.Limit)]
	}
	var out []string
	for _, c := range columns {
		out = append(out, "column "+show(c))
	}
	for _, row := range order {
		var b strings.Builder
		for i := range s.By {
			switch i {
			case step:
				fmt.Fprint(&b, refValue{kind: Time, rat: new(big.Rat).SetInt64(row.step)}, " ")
			case s.Pivot:
			default:
				fmt.Fprint(&b, row.typed[i], " ")
			}
		}
		out = append(out, b.String()+"|"+fmt.Sprint(row.values))
	}
	return out
}
