package patterns

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"logstow/record"
)

// Template is a template that many messages match.
type Template struct {
	// Text is the template, with [Wildcard] for variable parts. It is empty for messages without text.
	Text string
	// Counts are the numbers of records in the two ranges. Without a second range, its count is 0.
	Counts [2]uint64
	// Share is the part of all records counted, from 0 to 1.
	Share float64
	// Levels are the numbers of records by level.
	Levels record.Counts
	// First and Last are the times of the first and the last record, in Unix nanoseconds.
	First, Last int64
	// Example is the text of the first record as logged, up to 1 KiB. It may contain any byte but newlines. Of several
	// records at that time it is the bytewise least.
	Example string
	// Services are the services with such records, sorted, up to [MaxServices].
	Services []string
	// MoreServices is set if there are more.
	MoreServices bool
}

// Count is the number of records in both ranges. A record in both counts twice.
func (t *Template) Count() uint64 { return t.Counts[0] + t.Counts[1] }

// Result are the templates of the records counted.
type Result struct {
	// Templates are sorted by number of records, the greatest first, then bytewise.
	Templates []Template
	// Records are the numbers of records in the two ranges.
	Records [2]uint64
	// Ungrouped are the numbers of records without a template, because there were too many shapes. If they are not 0,
	// Templates may depend on the order of records.
	Ungrouped [2]uint64
	// Coarse is set if there were more than [MaxShapes] shapes: words at positions with many values
	// are wildcards.
	Coarse bool

	ranges [2]Range
}

// Result makes templates of the counts. The Counter must not be used afterwards.
func (c *Counter) Result() *Result {
	templates := map[string]*tally{}
	for _, d := range c.drafts() {
		if d.into == nil {
			addTally(templates, d.text(), d.tally)
		}
		d.words, d.hashes = nil, nil // they take more memory than the template
	}
	r := &Result{Records: c.total, Ungrouped: c.ungrouped, Coarse: c.set.coarse, ranges: c.ranges}
	for text, t := range templates {
		r.Templates = append(r.Templates, t.template(text, c.total[0]+c.total[1]))
	}
	slices.SortFunc(r.Templates, func(a, b Template) int {
		return cmp.Or(cmp.Compare(b.Count(), a.Count()), cmp.Compare(a.Text, b.Text))
	})
	return r
}

// drafts returns the drafts of all shapes, generalized and merged, in the order of the shapes.
func (c *Counter) drafts() []*draft {
	shapes := map[string]*tally{}
	for _, g := range c.set.groups {
		if g != nil {
			for shape, t := range g.shapes {
				addTally(shapes, shape, t)
			}
		}
	}
	var all []*draft
	byWords := map[int][]*draft{}
	for _, shape := range slices.Sorted(maps.Keys(shapes)) {
		d := newDraft(shape, shapes[shape])
		all = append(all, d)
		byWords[len(d.words)] = append(byWords[len(d.words)], d)
	}
	for _, drafts := range byWords {
		drafts = generalize(drafts)
		partition(drafts)
		absorb(drafts)
	}
	return all
}

// addTally adds the tally of a text to a map.
func addTally(to map[string]*tally, text string, t *tally) {
	if same := to[text]; same != nil {
		same.merge(t)
	} else {
		to[text] = t
	}
}

// text returns the draft's template. Wildcards separated only by a space are merged.
func (d *draft) text() string {
	text := make([]byte, 0, len(d.shape))
	for i, word := range d.words {
		switch {
		case i == 0:
		case bytes.HasSuffix(text, []byte(Wildcard)) && strings.HasPrefix(word, Wildcard):
			word = word[len(Wildcard):]
		default:
			text = append(text, ' ')
		}
		text = append(text, word...)
	}
	return string(text)
}

// template is the tally of a template, of all records.
func (t *tally) template(text string, all uint64) Template {
	return Template{
		Text: text, Counts: t.counts, Share: float64(t.count()) / float64(all), Levels: t.levels,
		First: t.first, Last: t.last, Example: string(t.example),
		Services: t.services[:min(len(t.services), MaxServices)], MoreServices: len(t.services) > MaxServices,
	}
}
