package storage_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/logql/engine"
	"logstow/logql/storage"
	"logstow/record"
)

// Values of labels are looked up in token filters, in whatever way the line has them.
func TestValuesInTokenFilters(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many queries")
	rnd := testrand.New(t)
	w := newWorld(t, rnd)
	var ids []string
	at := origin().UnixNano()
	for range 3 {
		var records []record.Record
		for range 2000 {
			id := fmt.Sprintf("%c%07x", 'a'+rune(rnd.IntN(26)), rnd.Uint32()>>4)
			ids = append(ids, id)
			records = append(records, record.Record{Time: at, Message: []byte(lineWith(rnd, id))})
			at++
		}
		w.ship("api", "a-0", records...)
	}
	source := w.reference().Source
	found, filtered := 0, int64(0)
	for range 60 {
		id := pick(rnd, ids)
		text := `{service_name="api"} ` + fmt.Sprintf(pick(rnd, []string{
			`| json | user=%q`, `| logfmt | user=%q`, `|= "user" | json | user=%q`, `| regexp "user=(?P<user>[a-z]\\w+)" | user=%q`,
			`| json | user=%q | level="unknown"`, `| pattern "<_>user=<user> <_>" | user=%q`, `| json | logfmt | user=%q`, `| json user="o.user" | user=%q`,
			`| label_format x=level | json | user=%q`, `| json | line_format "{{.user}}" | user=%q`, `| json o="o" | o=~%q`, "| json o=`o` | o=`{\"user\":%q}`",
		}), id)
		log, p := parse(t, text), engine.LogParams{From: origin().UnixNano(), To: origin().Add(time.Hour).UnixNano()}
		want, err := answer(t.Context(), source, log, p)
		if err != nil {
			t.Fatal(err)
		}
		v := w.view(storage.Access{})
		got, err := answer(t.Context(), v, log, p)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-without pushdown +with)\n%s", text, diff)
		}
		found += len(got)
		filtered += v.Report().BlocksFiltered + v.Report().SegmentsFiltered
	}
	if found == 0 || filtered == 0 {
		t.Errorf("%d records found, %d blocks or segments left out", found, filtered)
	}
}

// A capture may be a part of a word, which token filters have whole: also where another parser stands in the query.
func TestPartsOfWordsInTokenFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	w.parse = "pattern/1 'id-<prefix>4711<_> '"
	var records []record.Record
	for i := range 2000 {
		records = append(records, record.Record{Time: origin().UnixNano() + int64(i), Message: fmt.Appendf(nil, "id-user%05d4711end of it", i)})
	}
	w.ship("api", "a-0", records...)
	for _, text := range []string{`| prefix="user00017"`, `| json | prefix="user00017"`, `| logfmt | prefix="user00017"`} {
		log, p := parse(t, `{service_name="api"} `+text), engine.LogParams{From: origin().UnixNano(), To: origin().Add(time.Hour).UnixNano()}
		got, err := answer(t.Context(), w.view(storage.Access{}), log, p)
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
}

// lineWith is a line in which an identifier is the field user.
func lineWith(rnd *rand.Rand, id string) string {
	fill := fmt.Sprintf("%016x%016x", rnd.Uint64(), rnd.Uint64())
	switch rnd.IntN(6) {
	case 0:
		return fmt.Sprintf(`{"fill":"%s","user":%s}`, fill, escaped(rnd, id))
	case 1:
		return fmt.Sprintf(`{"user":"%s","fill":"%s"}`, id, fill)
	case 2:
		return fmt.Sprintf(`{"o":{"user":"%s"},"fill":"%s"}`, id, fill)
	case 3:
		return fmt.Sprintf(`fill=%s user="%s"`, fill, id)
	case 4:
		return fmt.Sprintf(`fill=%s user=%s end`, fill, id)
	}
	return fmt.Sprintf(`{"user":"%s_%s"}`, id, fill) // only a part of a longer token
}

// Line filters before all other stages are applied exactly. Conditions on labels of streams are matchers before.
func TestApplied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	for text, want := range map[string]int{
		``: 0, `|= "a"`: 1, `|= "a" or "b"`: 1, `|= "a" or ""`: 1, `|= "a" or "b" |= "c" or "d"`: 1, `!= "a" or "b"`: 1, `!= "a" or ""`: 0, `|~ "a"`: 1, `|~ "a" or "b"`: 0,
		`!~ "a"`: 0, `|> "<_>a<_>"`: 0, "|= `a\nb`": 0, `|= ip("10.0.0.0/8")`: 0, `|= "a" | json |= "b"`: 1, `|= "a" | level="error" != "b"`: 1, `| level="error" or instance="a"`: 0,
		`| level="error" and user="a"`: 0, `| json | level="error"`: 0, `| decolorize |= "a"`: 0, `| line_format "x" |= "a"`: 0, `| service="api"`: 0, `| source="a" | instance!="b"`: 0,
		`| drop level | level="error"`: 0, `| label_format level="x" | level="error"`: 0,
	} {
		if got := w.view(storage.Access{}).Applied(parse(t, `{service_name="api"} `+text)); got != want {
			t.Errorf("%s: %d stages, want %d", text, got, want)
		}
	}
}
