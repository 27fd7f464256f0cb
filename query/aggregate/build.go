package aggregate

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"

	"logstow/spill"
)

// build puts all rows into the sorter.
func (r *Result) build(ctx context.Context) error {
	var kept map[string]bool
	if r.ranksGroups() {
		var err error
		if kept, err = r.top(ctx); err != nil {
			return err
		}
	}
	b := newRowBuilder(r)
	if err := r.each(ctx, func(t *table, group ref) error {
		if !r.key.parse(r.Plan, t.key(group), t.flags(group), r.Pivot >= 0) {
			return errCorrupt
		}
		if kept != nil && !kept[string(r.key.others)] {
			return nil
		}
		return b.add(t, group)
	}); err != nil {
		return err
	}
	if err := b.end(); err != nil {
		return err
	}
	if kept == nil {
		r.Groups = b.rows
	}
	r.makeColumns(b)
	return nil
}

// top returns the first groups, ranked over the whole range, by their keys other than the step.
func (r *Result) top(ctx context.Context) (map[string]bool, error) {
	sorter := spill.NewSorter(r.sorter.Dir(), r.sorter.Memory(), r.Limit)
	kept, err := r.rank(ctx, sorter)
	return kept, errors.Join(err, sorter.Close())
}

// rank ranks the groups of the keys other than the step with a sorter that keeps only the first ones.
func (r *Result) rank(ctx context.Context, sorter *spill.Sorter) (map[string]bool, error) {
	ranked := newSingle(r.Plan)
	put := func(t *table, group ref) error {
		var k rowKey
		k.parse(r.Plan, t.key(group), t.flags(group), false) // the key has neither step nor pivot
		k.stepped = false
		r.Groups++
		r.sortKey = r.appendSortKey(r.sortKey[:0], &k, r.finish(t, group, r.To-r.From))
		return sorter.Put(r.sortKey, k.others)
	}
	if err := r.each(ctx, func(t *table, group ref) error {
		if !r.key.parse(r.Plan, t.key(group), t.flags(group), r.Pivot >= 0) {
			return errCorrupt
		}
		if !ranked.has(r.key.others) {
			if err := ranked.flush(put); err != nil {
				return err
			}
			ranked.start(r.key.others)
		}
		return r.mergeInto(ranked, t, group)
	}); err != nil {
		return nil, err
	}
	if err := ranked.flush(put); err != nil {
		return nil, err
	}
	kept := map[string]bool{}
	return kept, sorter.Each(func(_, others []byte) error {
		kept[string(others)] = true
		return nil
	})
}

// makeColumns makes the columns; with a pivot key, in bytewise order of its values, of buckets in the order of their bounds.
func (r *Result) makeColumns(b *rowBuilder) {
	if r.Pivot < 0 {
		for i, f := range r.Compute {
			r.Columns = append(r.Columns, Column{Header: f.Header, Function: i})
		}
		return
	}
	order := slices.SortedFunc(maps.Values(b.pivots), func(a, c *pivot) int {
		if (a.text == nil) != (c.text == nil) {
			if a.text == nil {
				return -1
			}
			return 1
		}
		if r.By[r.Pivot].Bucket {
			return bytes.Compare(appendBucket(nil, a.text), appendBucket(nil, c.text))
		}
		return bytes.Compare(a.text, c.text)
	})
	taken := map[string]bool{}
	for _, k := range r.Keys {
		taken[k.Header] = true
	}
	r.cells = make([]int, len(order))
	for _, p := range order {
		r.cells[p.number] = len(r.Columns)
		for i, f := range r.Compute {
			header := p.header(f, len(r.Compute))
			for taken[header] {
				header = `"` + header + `"`
			}
			taken[header] = true
			r.Columns = append(r.Columns, Column{Header: header, Function: i, Pivot: keyValue(p.text, p.isString)})
		}
	}
}
