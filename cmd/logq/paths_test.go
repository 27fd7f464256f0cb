package main

import (
	"strings"
	"testing"

	"logstow/blobnaming"
	"logstow/internal/hint"
	"logstow/query"
	"logstow/store"
)

// A segment that another program would read wrongly is left out, with what to do.
func TestUnreadableByOthers(t *testing.T) {
	t.Parallel()
	output := blobnaming.Metadata{Origins: 1}
	excluding := map[int]bool{1: true}
	for name, c := range map[string]struct {
		segment query.Segment
		stores  int
		// cause and advice are parts of error and hint; "" for none.
		cause, advice string
	}{
		"plain":                        {query.Segment{}, 1, "", ""},
		"output":                       {query.Segment{Meta: output}, 2, "", ""},
		"cool":                         {query.Segment{Tier: store.Cool}, 1, "", ""},
		"archived":                     {query.Segment{Tier: "Archive"}, 1, "archive tier", "change its tier"},
		"of another program":           {query.Segment{Foreign: true}, 1, "another program", "logq query"},
		"with records of two stores":   {query.Segment{Meta: output, Excluded: excluding}, 2, "another store", "name one store"},
		"with records of two segments": {query.Segment{Meta: output, Excluded: excluding}, 1, "another segment", "shipper verify --deep"},
	} {
		err := unreadableByOthers(&c.segment, c.stores)
		switch {
		case err == nil:
			if c.cause != "" {
				t.Errorf("%s: no error", name)
			}
		case c.cause == "" || !strings.Contains(err.Error(), c.cause) || !strings.Contains(hint.Text(err), c.advice):
			t.Errorf("%s: %v, hint %q", name, err, hint.Text(err))
		}
	}
}
