package layers_test

import (
	"testing"

	"logstow/internal/layers"
)

func TestCycle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]map[string]bool
		want  bool
	}{
		"chain":   {map[string]map[string]bool{"a": {"b": true}, "b": {"c": true}, "c": {}}, false},
		"diamond": {map[string]map[string]bool{"a": {"b": true, "c": true}, "b": {"d": true}, "c": {"d": true}, "d": {}}, false},
		"pair":    {map[string]map[string]bool{"a": {"b": true}, "b": {"a": true}}, true},
		"circle":  {map[string]map[string]bool{"x": {"a": true}, "a": {"b": true}, "b": {"c": true}, "c": {"a": true}}, true},
	} {
		if got := layers.Cycle(c.files); (got != nil) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
