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
	use := price.Usage{List: 10_000, Table: 1, Bytes: 1e9}.Plus(price.Usage{Bytes: 1e9, Read: 20_000, Table: 9_999, Create: 10_000})
	if got, want := table.Cost(use), 1+2*0.0044+0.00036+1+0.055; math.Abs(got-want) > 1e-12 {
		t.Errorf("%v, want %v", got, want)
	}
	if price.Default().Cost(price.Usage{Bytes: 1e12}) != 0 {
		t.Error("bytes cost something inside a region")
	}
}

func TestParseMistakes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "[]", `{"list": 1}`, `{"read_per_gb": -1}`, `{} {}`, `{"read_per_gb": "1"}`, `{"read_per_gb": 1e999}`} {
		if table, err := price.Parse([]byte(text)); err == nil || table != (price.Table{}) {
			t.Errorf("%q: %+v, %v", text, table, err)
		}
	}
}
