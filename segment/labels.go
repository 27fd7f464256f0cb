package segment

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/record/attributes"
)

const (
	// MaxLabels is the maximum number of combinations of label attributes that a footer lists.
	MaxLabels = blobnaming.MaxLabels
	// maxLabelsText is the maximum size in bytes of all combinations.
	maxLabelsText = 256 << 10
	// maxUnlisted is the maximum number of names that are not listed.
	maxUnlisted = 128
	// AllUnlisted is alone in [Footer.Unlisted] if there are more: no name is listed.
	AllUnlisted = "*"
)

// Labels describes the records of a segment with one combination of label attributes.
type Labels struct {
	// Text has the label attributes as by [attributes.Labels]; "" for records without any.
	Text string
	// Instance is the shipper that wrote the records: in an output, that of their input.
	Instance string
	// Start and End are the times of the first and the last record, Unix nanoseconds UTC. Levels is the number of records by level.
	Start, End int64
	Levels     record.Counts
	// Bytes is the size of the messages as text.
	Bytes uint64
}

// compareLabels orders combinations by label attributes, then by instance.
func compareLabels(a, b *Labels) int {
	return cmp.Or(strings.Compare(a.Text, b.Text), strings.Compare(a.Instance, b.Instance))
}

// add adds the records that another combination describes.
func (l *Labels) add(other *Labels) {
	l.Start, l.End = min(l.Start, other.Start), max(l.End, other.End)
	l.Levels.Add(other.Levels)
	l.Bytes += other.Bytes
}

// labelTally counts records by their label attributes.
type labelTally struct {
	finder attributes.Labels
	all    map[labelKey]*Labels
	// last is the combination of the last record, lastKey its key. plain is last if that record has no attributes, otherwise nil.
	last, plain *Labels
	lastKey     labelKey
	// size is the size in bytes of the texts in all.
	size int
	// unlisted are the names of label attributes that have too many values, sorted.
	unlisted []string
}

type labelKey struct{ text, instance string }

// add counts a record of an instance, whose message has size bytes as text.
func (t *labelTally) add(at int64, level record.Level, text []byte, instance string, size int) {
	l := t.plain
	if l == nil || len(text) > 0 || instance != t.lastKey.instance {
		l = t.find(text, instance, at)
	}
	l.Start, l.End = min(l.Start, at), max(l.End, at)
	l.Levels[level]++
	l.Bytes += uint64(size)
}

// find returns the combination of a record.
func (t *labelTally) find(text []byte, instance string, at int64) *Labels {
	key := labelKey{t.finder.Of(text), instance}
	if t.last == nil || key != t.lastKey {
		t.last, t.lastKey = t.of(key, at), key
	}
	if t.plain = nil; len(text) == 0 {
		t.plain = t.last
	}
	return t.last
}

// of returns the combination with a key, whose first record is at a time.
func (t *labelTally) of(key labelKey, at int64) *Labels {
	if found := t.all[key]; found != nil {
		return found
	}
	if key.text = t.listed(key.text); t.all[key] != nil {
		return t.all[key]
	}
	if t.all == nil {
		t.all = map[labelKey]*Labels{}
	}
	t.all[key] = &Labels{Text: key.text, Instance: key.instance, Start: at, End: at}
	for t.size += len(key.text); t.size > 0 && (len(t.all) > MaxLabels || t.size > maxLabelsText); {
		t.shrink()
		key.text = t.listed(key.text)
	}
	return t.all[key]
}

// listed returns label attributes without those that are not listed.
func (t *labelTally) listed(text string) string {
	if slices.Contains(t.unlisted, AllUnlisted) {
		return ""
	}
	return attributes.WithoutLabels(text, t.unlisted)
}

// shrink removes the label attribute with the most values; there is one.
func (t *labelTally) shrink() {
	values := map[string]map[string]bool{}
	for key := range t.all {
		for name, value := range attributes.AllLabels(key.text) {
			if values[name] == nil {
				values[name] = map[string]bool{}
			}
			values[name][value] = true
		}
	}
	most := slices.MaxFunc(slices.Sorted(maps.Keys(values)), func(a, b string) int { return cmp.Compare(len(values[a]), len(values[b])) })
	if t.unlisted = append(t.unlisted, most); len(t.unlisted) > maxUnlisted {
		t.unlisted = []string{AllUnlisted}
	}
	slices.Sort(t.unlisted)
	before := t.all
	t.all, t.size = map[labelKey]*Labels{}, 0
	for key, l := range before {
		key.text = t.listed(key.text)
		if merged := t.all[key]; merged != nil {
			merged.add(l)
			continue
		}
		l.Text = key.text
		t.all[key] = l
		t.size += len(key.text)
	}
}

// list returns the combinations in order, nil if none has label attributes, and the names that are not listed in them.
func (t *labelTally) list() (all []Labels, unlisted []string) {
	some := false
	for _, l := range t.all {
		all = append(all, *l)
		some = some || l.Text != ""
	}
	if !some {
		return nil, t.unlisted
	}
	slices.SortFunc(all, func(a, b Labels) int { return compareLabels(&a, &b) })
	return all, t.unlisted
}

// validateLabels checks the combinations of label attributes.
func (f *Footer) validateLabels() error {
	switch {
	case len(f.Labels) > MaxLabels || len(f.Unlisted) > maxUnlisted:
		return fmt.Errorf("%d combinations of labels and %d names, at most %d and %d allowed", len(f.Labels), len(f.Unlisted),
			MaxLabels, maxUnlisted)
	case uint32(len(f.Labels)) != f.Metadata.Labels:
		return errors.New("the number of combinations of labels is not that of the metadata")
	case !slices.IsSorted(f.Unlisted):
		return errors.New("names of labels are not in order")
	case len(f.Labels) == 0:
		return nil
	}
	var sum record.Counts
	var bytes uint64
	for i := range f.Labels {
		l := &f.Labels[i]
		switch {
		case l.Text != "" && !attributes.ValidLabels(l.Text):
			return fmt.Errorf("combination %d of labels is not an object of strings", i)
		case i > 0 && compareLabels(&f.Labels[i-1], l) >= 0:
			return errors.New("combinations of labels are not in order")
		case !f.Mixed() && l.Instance != f.Instance:
			return fmt.Errorf("combination %d of labels is of another instance", i)
		case l.Start < f.Start || l.End > f.End || l.Start > l.End:
			return fmt.Errorf("combination %d of labels is outside the segment", i)
		case slices.Max(l.Levels[:]) == 0 || slices.Max(l.Levels[:]) > f.Records || l.Bytes > f.RawBytes:
			return fmt.Errorf("combination %d of labels has no records, or more than the segment", i)
		}
		sum.Add(l.Levels)
		bytes += l.Bytes
	}
	if sum != f.Levels || bytes > f.RawBytes {
		return errors.New("the sums of the combinations of labels are not the totals")
	}
	return nil
}
