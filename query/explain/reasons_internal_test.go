package explain

import (
	"strings"
	"testing"
	"time"

	"logstow/message"
	"logstow/query/match"

	"logstow/field/where"
	"logstow/record"
)

// What is known, and the codes of the reasons in their order.
func TestExplain(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 15, 30, 0, 0, time.UTC)
	rejected := func(pairs ...uint64) (r match.Rejections) {
		for i := 0; i < len(pairs); i += 2 {
			r[pairs[i]] = pairs[i+1]
		}
		return r
	}
	use := func(name string, kind message.Kind, kinds map[message.Kind]int) sampledUse {
		return sampledUse{Use: where.Use{Field: name, Kind: kind}, kinds: kinds}
	}
	levels := func(l record.Level, n uint64) (c record.Counts) { c[l] = n; return c }
	some := Evidence{Segments: 1, recordsKnown: true, records: 9, levels: levels(record.Info, 9)}
	for name, c := range map[string]struct {
		sel  match.Selection
		e    Evidence
		want string
	}{
		"empty store":                 {match.Selection{}, Evidence{ServicesKnown: true}, "store-empty"},
		"empty store, named":          {match.Selection{Services: []string{"a"}}, Evidence{ServicesKnown: true, Defaulted: true}, "store-empty"},
		"unknown":                     {match.Selection{Services: []string{"wbe"}}, Evidence{ServicesKnown: true, Services: []string{"web"}}, "service-unknown"},
		"unknown and known":           {match.Selection{Services: []string{"wbe", "web"}}, Evidence{ServicesKnown: true, Services: []string{"web"}}, "service-unknown range-empty"},
		"glob":                        {match.Selection{Services: []string{"x*"}}, Evidence{ServicesKnown: true, Services: []string{"web"}}, "service-unknown"},
		"glob that matches":           {match.Selection{Services: []string{"w*"}}, Evidence{ServicesKnown: true, Services: []string{"web"}}, "range-empty"},
		"services not listed":         {match.Selection{Services: []string{"w"}}, Evidence{}, "range-empty"},
		"old":                         {match.Selection{}, Evidence{Newest: now.Add(-time.Hour * 50), NewestOf: "web"}, "range-empty"},
		"ahead":                       {match.Selection{}, Evidence{Newest: now.Add(9 * time.Hour), NewestOf: "web", Defaulted: true}, "future"},
		"index":                       {match.Selection{}, Evidence{Indexed: true}, "index"},
		"default range":               {match.Selection{Patterns: []string{"x"}}, with(some, func(e *Evidence) { e.Defaulted = true }), "pattern default-range"},
		"level":                       {match.Selection{Levels: 1 << record.Error}, some, "level"},
		"no levels":                   {match.Selection{Levels: 1 << record.Error}, with(some, func(e *Evidence) { e.levels = levels(record.None, 4) }), "levels-missing"},
		"levels of others":            {match.Selection{Levels: 1 << record.Error}, Evidence{Foreign: 1}, "level"},
		"source":                      {match.Selection{Sources: []string{"a*"}}, with(some, func(e *Evidence) { e.sources, e.sourcesKnown = []string{"b"}, true }), "source-unknown"},
		"name as a glob":              {match.Selection{Sources: []string{"a[1]"}}, with(some, func(e *Evidence) { e.sources, e.sourcesKnown = []string{"a[1]", "a2"}, true }), "source-unknown"},
		"source of some":              {match.Selection{Sources: []string{"b*"}, Patterns: []string{"x"}}, with(some, func(e *Evidence) { e.sources, e.sourcesKnown, e.rejected = []string{"b"}, true, rejected(2, 3) }), "source"},
		"too many sources":            {match.Selection{Sources: []string{"a*"}}, with(some, func(e *Evidence) { e.sources = []string{"b"} }), "range-empty"},
		"excluded":                    {match.Selection{Patterns: []string{"x"}, Excludes: []string{"y"}}, with(some, func(e *Evidence) { e.rejected = rejected(0, 7, 7, 3) }), "exclude"},
		"template":                    {match.Selection{Templates: []string{"<_> x"}}, with(some, func(e *Evidence) { e.rejected = rejected(8, 3) }), "template"},
		"template without candidates": {match.Selection{Templates: []string{"<_> x"}}, some, "template"},
		"regexp":                      {match.Selection{Regexps: []string{"x"}}, with(some, func(e *Evidence) { e.rejected = rejected(6, 3) }), "regexp"},
		"regexp without candidates":   {match.Selection{Regexps: []string{"x"}}, some, "regexp"},
		"identifiers":                 {match.Selection{IDs: []string{"x", "y"}}, some, "pattern"},
		"identifiers and pattern":     {match.Selection{Patterns: []string{"x"}, IDs: []string{"y"}}, with(some, func(e *Evidence) { e.rejected = rejected(5, 3) }), "pattern"},
		"inside":                      {match.Selection{Patterns: []string{"order-123"}}, with(some, func(e *Evidence) { e.rejected = rejected(4, 3) }), "identifier"},
		"identifier":                  {match.Selection{Patterns: []string{"order-123"}}, some, "pattern identifier"},
		"identifier as substring":     {match.Selection{Patterns: []string{"order-123"}, Substring: true}, some, "pattern"},
		"case":                        {match.Selection{Patterns: []string{"X"}}, with(some, func(e *Evidence) { e.sample.otherCase = []string{"X"} }), "case"},
		"several patterns":            {match.Selection{Patterns: []string{"x", "y"}}, with(some, func(e *Evidence) { e.rejected = rejected(3, 3) }), "pattern"},
		"service as pattern":          {match.Selection{Patterns: []string{"web"}}, with(some, func(e *Evidence) { e.planned = []string{"web"} }), "pattern service-name"},
		"LogQL as pattern":            {match.Selection{Patterns: []string{`{app=~"web"} |= "x"`}}, some, "pattern meaning"},
		"object as pattern":           {match.Selection{Patterns: []string{`{"app":"web"}`}}, some, "pattern"},
		"condition with blanks":       {match.Selection{Patterns: []string{"status = 500"}}, some, "meaning"},
		"level as pattern":            {match.Selection{Patterns: []string{"info"}}, some, "pattern level-name"},
		"level as pattern and level":  {match.Selection{Patterns: []string{"info"}, Levels: 1 << record.Info}, some, "pattern"},
		"other level":                 {match.Selection{Patterns: []string{"x"}, Levels: 1 << record.Info}, with(some, func(e *Evidence) { e.rejected = rejected(1, 3) }), "level"},
		"level rare":                  {match.Selection{Levels: 1 << record.Info}, some, "level"},
		"outside":                     {match.Selection{}, with(some, func(e *Evidence) { e.rejected = rejected(0, 3) }), "range-empty"},
		"outside, unread":             {match.Selection{}, some, "range-empty"},
		"where":                       {match.Selection{Where: []string{"a > 1"}}, with(some, func(e *Evidence) { e.rejected = rejected(9, 3) }), "where"},
		"where without candidates":    {match.Selection{Where: []string{"a > 1"}}, some, "where"},
		"field missing":               {match.Selection{Where: []string{"a > 1"}}, sampleOf(some, use("a", message.Number, nil)), "field-missing"},
		"field missing in candidates": {match.Selection{Where: []string{"a > 1"}}, with(sampleOf(some, use("a", message.Number, nil)), func(e *Evidence) { e.rejected = rejected(9, 3) }), "field-missing"},
		"field twice":                 {match.Selection{Where: []string{"a > 1 and a < 2"}}, sampleOf(some, use("a", message.Number, nil), use("a", message.Number, nil)), "field-missing"},
		"string for number":           {match.Selection{Where: []string{"a > 1"}}, sampleOf(some, use("a", message.Number, map[message.Kind]int{message.String: 3})), "field-type"},
		"number for string":           {match.Selection{Where: []string{"a > 1"}}, sampleOf(some, use("a", message.String, map[message.Kind]int{message.Number: 3, message.Null: 1})), "field-type"},
		"null for string":             {match.Selection{Where: []string{"a > 1"}}, sampleOf(some, use("a", message.String, map[message.Kind]int{message.Null: 1})), "field-type"},
		"bare for number":             {match.Selection{Where: []string{"a > 1"}}, sampleOf(some, use("a", message.Number, map[message.Kind]int{message.Bare: 3})), "where"},
		"number for duration":         {match.Selection{Where: []string{"a > 1s"}}, sampleOf(some, sampledUse{Use: where.Use{Field: "a", Kind: message.String, Dimension: message.Duration}, kinds: map[message.Kind]int{message.Number: 3}, numbers: 3}), "field-type"},
		"duration for number":         {match.Selection{Where: []string{"a > 1"}}, sampleOf(some, sampledUse{Use: where.Use{Field: "a", Kind: message.Number}, kinds: map[message.Kind]int{message.Bare: 3}, measured: "154ms", dimension: message.Duration}), "field-unit"},
		"string for duration":         {match.Selection{Where: []string{"a > 1s"}}, sampleOf(some, sampledUse{Use: where.Use{Field: "a", Kind: message.String, Dimension: message.Duration}, kinds: map[message.Kind]int{message.String: 3}}), "field-type"},
		"duration for duration":       {match.Selection{Where: []string{"a > 1s"}}, sampleOf(some, sampledUse{Use: where.Use{Field: "a", Kind: message.String, Dimension: message.Duration}, kinds: map[message.Kind]int{message.String: 3}, numbers: 2, suitable: 1}), "where"},
		"some of the kind":            {match.Selection{Where: []string{"a > 1"}}, sampleOf(some, use("a", message.Number, map[message.Kind]int{message.String: 3, message.Number: 1})), "where"},
		"value in another case":       {match.Selection{Where: []string{"a == 'X'"}}, sampleOf(some, sampledUse{Use: where.Use{Field: "a", Kind: message.String, Equal: []string{"X"}}, kinds: map[message.Kind]int{message.String: 3}, values: []string{"x", "y"}}), "value-unknown"},
		"short value":                 {match.Selection{Where: []string{"a == 'u1'"}}, sampleOf(some, sampledUse{Use: where.Use{Field: "a", Kind: message.String, Equal: []string{"u1"}}, kinds: map[message.Kind]int{message.String: 3}, values: []string{"u2", "u3"}}), "where"},
		"misspelled value":            {match.Selection{Where: []string{"a == 'retyr'"}}, sampleOf(some, sampledUse{Use: where.Use{Field: "a", Kind: message.String, Equal: []string{"retyr"}}, kinds: map[message.Kind]int{message.String: 3}, values: []string{"retry"}}), "value-unknown"},
		"where, unread":               {match.Selection{Where: []string{"a"}, Patterns: []string{"x"}}, with(some, func(e *Evidence) { e.rejected = rejected(3, 2, 10, 7) }), "where"},
		"where, some unread":          {match.Selection{Where: []string{"a"}}, with(some, func(e *Evidence) { e.rejected = rejected(9, 2, 10, 7) }), "where"},
		"any kind":                    {match.Selection{Where: []string{"a"}}, sampleOf(some, use("a", message.Missing, map[message.Kind]int{message.Composite: 3})), "where"},
		"nothing sampled":             {match.Selection{Where: []string{"a > 1"}}, with(sampleOf(some, use("a", message.Number, nil)), func(e *Evidence) { e.sample.records = 0 }), "where"},
	} {
		c.sel.Now, c.sel.From, c.sel.To, c.e.sel = now, now.Add(-time.Hour), now.Add(time.Hour), &c.sel
		var codes []string
		for _, r := range Reasons(&c.e) {
			codes = append(codes, r.Code)
			if r.Text == "" || strings.ContainsAny(r.Text, "\n") || strings.HasSuffix(r.Text, ".") || strings.Contains(r.Text, "%!") {
				t.Errorf("%s: %q", name, r.Text)
			}
		}
		if got := strings.Join(codes, " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func with(e Evidence, change func(*Evidence)) Evidence {
	change(&e)
	return e
}

// sampleOf is evidence with a sample of nine records that have fields.
func sampleOf(e Evidence, uses ...sampledUse) Evidence {
	e.sample = sampled{records: 9, all: true, names: []string{"b"}, uses: uses}
	return e
}

// What none of the records has is said only of conditions that alone decided which records were looked at.
func TestPassedOver(t *testing.T) {
	t.Parallel()
	var levels record.Counts
	levels[record.Error], levels[record.Info] = 4, 5
	e := Evidence{Segments: 1, recordsKnown: true, records: 9, levels: levels}
	missing := sampleOf(e, sampledUse{Use: where.Use{Field: "a", Kind: message.Number}})
	bare := func(name string) Evidence { return sampleOf(e, sampledUse{Use: where.Use{Field: name, Bare: true}}) }
	for _, c := range []struct {
		sel  match.Selection
		e    Evidence
		want string
	}{
		{match.Selection{Patterns: []string{"GET"}}, e, `none of the 9 records in the segments of the range contains "GET"`},
		{match.Selection{Patterns: []string{"GET"}, Where: []string{`user == "x"`}}, e, `none of the 9 records in the segments of the range meets all of "GET", --where`},
		{match.Selection{Regexps: []string{"G.T"}, Where: []string{`user == "x"`}}, e, "none of the 9 records in the segments of the range meets all of --regexp, --where"},
		{match.Selection{Patterns: []string{"GET"}, Levels: 1 << record.Error}, e, `no record of the range that --level selects contains "GET"`},
		{match.Selection{Patterns: []string{"GET"}, Levels: 1 << record.Error, Sources: []string{"b"}}, e, `no record of the range that --level and --source select contains "GET"`},
		{match.Selection{Levels: 1 << record.Error}, e, "no record of the range has such a level"},
		{match.Selection{Where: []string{"a == ann"}}, bare("ann"), `field "ann" does not occur in the 9 records read: write "ann" to compare with the value`},
		{match.Selection{Where: []string{"a == null"}}, bare("null"), `field "null" does not occur in the 9 records read: write nil to compare with the value`},
		{match.Selection{Levels: 1 << record.Error, Patterns: []string{"GET"}, Where: []string{"a > 1"}}, missing, `field "a" does not occur in the 9 records read; available: b`},
	} {
		c.e.sel = &c.sel
		var texts []string
		for _, r := range Reasons(&c.e) {
			texts = append(texts, r.Text)
		}
		if got := strings.Join(texts, "\n"); got != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
}
