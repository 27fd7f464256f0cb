package exact_test

import (
	"bytes"
	"fmt"
	"testing"

	"logstow/exact"
	"logstow/internal/test/testrand"
)

// Keys compare as the numbers do, and none begins with another.
func TestSortKey(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	texts := []string{
		"0", "-0", "0.000", "0e5", "1", "1.0", "10", "1e1", "1e-1", "0.1", "-1", "-10", "-1.5", "-1.49", "18446744073709551615", "18446744073709551616",
		"-9223372036854775808", "1e999999999", "1e-999999999", "-1e999999999", "-1e-999999999", "0007", "7", "100000000000000000000000000000000000000001",
		"100000000000000000000000000000000000000002", "9", "99", "9.9", "10.000000000000000000000000000000000000000000000000000000000000000000000000001",
	}
	for range 300 {
		text := fmt.Sprint(rnd.IntN(1000))
		if rnd.IntN(2) == 0 {
			text += "." + fmt.Sprint(rnd.IntN(1000))
		}
		if rnd.IntN(3) == 0 {
			text += fmt.Sprintf("%c%d", "eE"[rnd.IntN(2)], rnd.IntN(7)-3)
		}
		if rnd.IntN(3) == 0 {
			text = "-" + text
		}
		texts = append(texts, text)
	}
	for _, a := range texts {
		x, ok := exact.Parse([]byte(a))
		if !ok {
			t.Fatal(a)
		}
		for _, b := range texts {
			y, _ := exact.Parse([]byte(b))
			k, l := x.AppendSortKey([]byte("start"))[5:], y.AppendSortKey(nil)
			if got, want := bytes.Compare(k, l), x.Compare(y); got != want || got != 0 && bytes.HasPrefix(k, l) {
				t.Fatalf("%s and %s: %x and %x compare as %d, want %d", a, b, k, l, got, want)
			}
		}
	}
}
