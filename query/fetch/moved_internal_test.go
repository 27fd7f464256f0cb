package fetch

import (
	"errors"
	"testing"

	"logstow/query/source"

	"logstow/catalog"
	"logstow/internal/test/catalogtest"
)

// An output takes the place of an input that vanished and of the others that are still to be read. If it
// turns out to be damaged, these are read again.
func TestReplacedInputsAreReadIfTheOutputIsDamaged(t *testing.T) {
	t.Parallel()
	inputs := catalogtest.Plains(1, 3)
	at := func(s catalog.Segment) *source.Segment {
		return &source.Segment{Store: "a", Name: s.Name, Meta: s.Meta, Size: s.Size}
	}
	first, second, late, other := at(inputs[0]), at(inputs[1]), at(catalogtest.Plain(9, nil)), at(inputs[2])
	other.Store = "b"
	output := at(catalogtest.OutputOf(1, inputs).Segment)
	vanished := &MovedError{Segment: first, Output: output, cause: errors.New("gone")}
	for _, s := range inputs {
		vanished.Inputs = append(vanished.Inputs, s.Origin())
	}
	got := vanished.Replace([]*source.Segment{first, second, late, other})
	if len(got) != 3 || got[0] != late || got[1] != other || got[2].Name != output.Name {
		t.Fatalf("%v", got)
	}
	taken := got[2]
	if taken.Excluded[0] || taken.Excluded[1] || !taken.Excluded[2] {
		t.Errorf("excluded %v", taken.Excluded)
	}
	damaged := &MovedError{Segment: taken, cause: errors.New("damaged"), unread: func(*source.Segment) bool { return false }}
	got = damaged.Replace(got)
	if len(got) != 4 || got[2].Name != second.Name {
		t.Fatalf("%v", got)
	}
	rest := got[3]
	if rest.Name != output.Name || rest.Excluded[0] || !rest.Excluded[1] || !rest.Excluded[2] || len(rest.Hidden) != 0 {
		t.Errorf("excluded %v, hidden %v", rest.Excluded, rest.Hidden)
	}
}

// A segment that stands in for a damaged output, and cannot be read because it is only a forged one, is read in the output.
func TestForgedStandIn(t *testing.T) {
	t.Parallel()
	inputs := catalogtest.Plains(1, 2)
	at := func(s catalog.Segment) *source.Segment {
		return &source.Segment{Store: "a", Name: s.Name, Meta: s.Meta, Size: s.Size}
	}
	output, forged := at(catalogtest.OutputOf(1, inputs).Segment), at(inputs[0])
	output.Hidden = map[int]*source.Segment{0: forged}
	for _, restMatches := range []bool{true, false} {
		damaged := &MovedError{Segment: output, cause: errors.New("damaged"), unread: func(*source.Segment) bool { return !restMatches }}
		got := damaged.Replace([]*source.Segment{output})
		standIn := got[0]
		if standIn.Name != forged.Name || standIn.Elsewhere == nil || len(standIn.Elsewhere.Hidden) > 0 {
			t.Fatalf("%v, elsewhere %v", standIn, standIn.Elsewhere)
		}
		unreadable := &MovedError{Segment: standIn, Output: standIn.Elsewhere, cause: errors.New("damaged")}
		for _, s := range inputs {
			unreadable.Inputs = append(unreadable.Inputs, s.Origin())
		}
		got = unreadable.Replace(got)
		if len(got) != 1 || got[0].Name != output.Name || got[0].Excluded[0] || got[0].Excluded[1] == restMatches || len(got[0].Hidden) > 0 {
			t.Errorf("%v, excluded %v, hidden %v", got, got[0].Excluded, got[0].Hidden)
		}
	}
	if forged.Elsewhere != nil || output.Hidden[0] != forged {
		t.Error("the plan is changed")
	}
}
