package price_test

import (
	"math"
	"testing"

	"logstow/internal/price"
)

func TestCost(t *testing.T) {
	t.Parallel()
	table, err := price.Parse([]byte(`{"list_per_10k": 1, "read_per_gb": 0.5}`))
	if err != nil {
		t.Fatal(err)
	}
	want := price.Default()
	if want.List, want.Gigabyte = 1, 0.5; table != want {
		t.Errorf("%+v, want %+v", table, want)
	}
	if marked, err := price.Parse([]byte("\ufeff" + `{"list_per_10k": 1, "read_per_gb": 0.5}`)); err != nil || marked != want {
		t.Errorf("with a byte order mark: %+v, %v", marked, err)
	}
	use := price.Usage{List: 10_000, Table: 1, Bytes: 1e9}.Plus(price.Usage{Bytes: 1e9, Read: 20_000, Table: 9_999, Create: 10_000})
	if got, want := table.Cost(use), 1+2*0.0044+0.00036+1+0.055; math.Abs(got-want) > 1e-12 {
		t.Errorf("%v, want %v", got, want)
	}
	if price.Default().Cost(price.Usage{Bytes: 1e12}) != 0 {
		t.Error("bytes cost something inside a region")
	}
	for _, c := range []struct {
		use  price.Usage
		want float64
	}{
		{price.Usage{Cool: price.TierUsage{Read: 10_000, Bytes: 2e9}}, 0.01 + 2*0.01 + 2*0.5},
		{price.Usage{Cold: price.TierUsage{Read: 10_000, Bytes: 2e9}}, 0.10 + 2*0.03 + 2*0.5},
		{price.Usage{Cool: price.TierUsage{Move: 10_000}, Cold: price.TierUsage{Move: 20_000}}, 0.10 + 2*0.18},
	} {
		twice := c.use.Plus(c.use)
		if got := table.Cost(c.use); math.Abs(got-c.want) > 1e-12 || math.Abs(table.Cost(twice)-2*c.want) > 1e-12 {
			t.Errorf("%+v costs %v, want %v", c.use, got, c.want)
		}
	}
}

func TestParseMistakes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "[]", `{"list": 1}`, `{"read_per_gb": -1}`, `{} {}`, `{"read_per_gb": "1"}`, `{"read_per_gb": 1e999}`,
		`{"cool": {"read_per_gb": -1}}`, `{"cold": {"keep": 1}}`, `{"cool": 1}`,
	} {
		if table, err := price.Parse([]byte(text)); err == nil || table != (price.Table{}) {
			t.Errorf("%q: %+v, %v", text, table, err)
		}
	}
}
