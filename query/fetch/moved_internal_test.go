package fetch

import (
	"errors"
	"slices"
	"testing"

	"logstow/query/source"

	"logstow/containment"
	"logstow/internal/test/containmenttest"
)

// An output takes the place of an input that vanished and of the others that are still to be read. If it
// turns out to be damaged, these are read again.
func TestReplacedInputsAreReadIfTheOutputIsDamaged(t *testing.T) {
	t.Parallel()
	inputs := containmenttest.Plains(1, 3)
	at := func(s containment.Segment) *source.Segment {
		return &source.Segment{Store: "a", Name: s.Name, Meta: s.Meta, Size: s.Size}
	}
	first, second, late, other := at(inputs[0]), at(inputs[1]), at(containmenttest.Plain(9, nil)), at(inputs[2])
	other.Store = "b"
	output := at(containmenttest.OutputOf(1, inputs).Segment)
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
	if len(got) != 4 || !slices.Contains(got, second) || slices.Contains(got, first) {
		t.Fatalf("%v", got)
	}
	rest := got[3]
	if rest.Name != output.Name || rest.Excluded[0] || !rest.Excluded[1] || !rest.Excluded[2] || len(rest.Hidden) != 0 {
		t.Errorf("excluded %v, hidden %v", rest.Excluded, rest.Hidden)
	}
}
