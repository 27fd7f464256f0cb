package explain

import "time"

// nearestRange explains a range without records by the records nearest to it.
func (x *explanation) nearestRange(asked string) {
	near := x.nearest.In(x.sel.Now.Location())
	f := Fix{Kind: FixRange, From: near.Truncate(time.Minute)}
	f.To = f.From.Add(time.Hour)
	if near.Before(x.sel.From) {
		f.To = f.From.Add(time.Minute)
		f.From = f.To.Add(-time.Hour)
	}
	x.add("range-empty", "%s; the nearest records are from %s (%s)", asked, near.Format(time.RFC3339), x.nearestOf)
	x.advise(": --from %s --to %s finds them", f.From.Format(time.RFC3339), f.To.Format(time.RFC3339))
	x.correct("", Correction{f})
}

// rangeOf is the correction to a range that contains a time: to now if its length is short, otherwise the hour before it.
func (x *explanation) rangeOf(t time.Time, since string) Correction {
	f := Fix{Kind: FixRange, From: t.Truncate(time.Hour), Since: since}
	if since == "" {
		f.From = t.Truncate(time.Minute).Add(time.Minute - time.Hour)
		f.To = t.Truncate(time.Minute).Add(time.Minute)
	}
	return Correction{f}
}
