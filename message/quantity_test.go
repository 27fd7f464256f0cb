package message_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/testrand"
	"logstow/message"
)

// A number with a unit is exactly what math/big makes of it.
func TestQuantity(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0s": "0", "1s": "1000000000", "100ms": "100000000", "1.5s": "1500000000", "250us": "250000", "250µs": "250000", "250μs": "250000",
		"7ns": "7", "0.25ns": "0.25", "1h30m": "5400000000000", "1h2m3.5s": "3723500000000", "-20ms": "-20000000", "100 ms": "100000000",
		"3d": "259200000000000", "1w": "604800000000000", "0.123456789012s": "123456789.012", "1m0.0000000001s": "60000000000.1", "-0s": "0",
		"0B": "0", "512B": "512", "1kB": "1000", "1KB": "1000", "1.5KiB": "1536", "2MiB": "2097152", "2 MB": "2000000", "1GB": "1000000000",
		"1GiB": "1073741824", "1TB": "1000000000000", "1TiB": "1099511627776", "0.1KiB": "102.4", "15000000TiB": "16492674416640000000",
		"213503d": "18446659200000000000", "007s": "7000000000",
	} {
		n, d, ok := message.ParseQuantity([]byte(text))
		if wanted := dimensionOf(text); !ok || string(n.Append(nil)) != want || d != wanted {
			t.Errorf("%s: %s, %v, %v; want %s, %v", text, n.Append(nil), d, ok, want, wanted)
		}
	}
	for _, text := range []string{
		"", "-", "5", "1.5", "s", "ms", ".5s", "5.s", "1e3ms", "1_000ms", "+5s", "--5s", "5S", "5M", "5K", "5mib", "5kib", "5MBit", "1s ", " 1s", "1  s",
		"1h30", "1h-30m", "1KiB1B", "1KiB1s", "1s1B", "5x", "16777216TiB", "213504d", "213503d1d", "1234567890123456789ns", "0.1234567890123456789s",
		"\u00b2s", "1\u00a0s", "5s\x00",
	} {
		if n, d, ok := message.ParseQuantity([]byte(text)); ok {
			t.Errorf("%q: %s, %v; want none", text, n.Append(nil), d)
		}
	}
}

func dimensionOf(text string) message.Dimension {
	if strings.HasSuffix(text, "B") {
		return message.Size
	}
	return message.Duration
}

// Quantities are of strings and bare values, not of numbers, and of one dimension.
func TestQuantityOfValues(t *testing.T) {
	t.Parallel()
	for _, kind := range []message.Kind{message.Missing, message.Null, message.Bool, message.Number, message.Composite} {
		if _, ok := (message.Value{Kind: kind, Text: []byte("5s")}).Quantity(message.Duration); ok {
			t.Errorf("kind %d has a duration", kind)
		}
	}
	for _, kind := range []message.Kind{message.String, message.Bare} {
		v := message.Value{Kind: kind, Text: []byte("5s")}
		if _, ok := v.Quantity(message.Duration); !ok {
			t.Errorf("kind %d has no duration", kind)
		}
		if _, ok := v.Quantity(message.Size); ok {
			t.Errorf("a duration of kind %d is a size", kind)
		}
	}
}

// Durations as Go writes them are those durations; sums of random parts are exact.
func TestRandomQuantities(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	for range 20_000 {
		d := time.Duration(rnd.Uint64() >> rnd.IntN(64))
		n, _, ok := message.ParseQuantity([]byte(d.String()))
		if i, isInt := n.Int64(); !ok || !isInt || i != int64(d) {
			t.Fatalf("%v: %s, %v; want %d", d, n.Append(nil), ok, d)
		}
		whole, fraction := fmt.Sprint(rnd.IntN(100)), fmt.Sprint(rnd.IntN(100))
		total := new(big.Rat)
		text := ""
		for _, unit := range []struct {
			name string
			size int64
		}{{"w", 604800e9}, {"d", 86400e9}, {"h", 3600e9}, {"m", 60e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}} {
			if rnd.IntN(3) > 0 && text != "" {
				continue
			}
			part, _ := new(big.Rat).SetString(whole + "." + fraction)
			total.Add(total, part.Mul(part, new(big.Rat).SetInt64(unit.size)))
			text += whole + "." + fraction + unit.name
		}
		n, _, ok = message.ParseQuantity([]byte(text))
		if got, isNumber := new(big.Rat).SetString(string(n.Append(nil))); !ok || !isNumber || got.Cmp(total) != 0 {
			t.Fatalf("%s: %s, %v; want %s", text, n.Append(nil), ok, total.FloatString(9))
		}
	}
}
