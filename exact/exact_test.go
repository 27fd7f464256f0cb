package exact_test

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"logstow/exact"
	"logstow/internal/test/testrand"
)

// randomNumber is a number as programs and adversaries log it.
func randomNumber(r *rand.Rand) string {
	digits := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = '0' + byte(r.IntN(10))
		}
		return string(b)
	}
	sign := ""
	if r.IntN(3) == 0 {
		sign = "-"
	}
	switch r.IntN(10) {
	case 0:
		return sign + "0"
	case 1:
		return sign + digits(1+r.IntN(30))
	case 2:
		return sign + digits(1+r.IntN(4)) + "." + digits(1+r.IntN(4))
	case 3:
		return sign + strconv.FormatFloat(r.ExpFloat64(), 'g', -1, 64)
	case 4:
		return sign + digits(1+r.IntN(3)) + "." + digits(1+r.IntN(30)) + "e" + strconv.Itoa(r.IntN(500)-250)
	case 5:
		return sign + digits(1) + "e" + strconv.Itoa(r.IntN(40)-20)
	case 6:
		return []string{"9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551616", "1000000000000000000", "0.1", "5", "-5", "2", "-2", "1.0", "10", "0.001", "1e299", "999999999999999999"}[r.IntN(15)]
	default:
		return sign + strconv.Itoa(r.IntN(2000))
	}
}

func rat(text string) *big.Rat {
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return x
}

func parse(t *testing.T, text string) exact.Number {
	t.Helper()
	n, ok := exact.Parse([]byte(text))
	if !ok {
		t.Fatalf("%s is no number", text)
	}
	return n
}

func TestNumber(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	for range 20_000 {
		a, b := randomNumber(r), randomNumber(r)
		x, y := parse(t, a), parse(t, b)
		if got, want := x.Compare(y), rat(a).Cmp(rat(b)); got != want {
			t.Fatalf("%s compared with %s: %d, want %d", a, b, got, want)
		}
		text := string(x.Append(nil))
		if rat(text).Cmp(rat(a)) != 0 {
			t.Fatalf("%s is written %s", a, text)
		}
		if again := parse(t, text); fmt.Sprint(again) != fmt.Sprint(x) {
			t.Fatalf("%s has two forms: %v, %v", a, x, again)
		}
		if want, _ := rat(a).Float64(); x.Float() != want {
			t.Fatalf("%s as a float: %v, want %v", a, x.Float(), want)
		}
		if x.Sign() != rat(a).Sign() {
			t.Fatalf("%s: sign %d", a, x.Sign())
		}
		i, ok := x.Int64()
		if fits := rat(a).IsInt() && rat(a).Num().IsInt64(); ok != fits || ok && i != rat(a).Num().Int64() {
			t.Fatalf("%s in 64 bits: %d, %v", a, i, ok)
		}
		decoded, rest, err := exact.Decode(append(x.Encode(nil), "rest"...))
		if err != nil || string(rest) != "rest" || fmt.Sprint(decoded) != fmt.Sprint(x) {
			t.Fatalf("%s decoded: %v, %q, %v", a, decoded, rest, err)
		}
	}
}

func TestNumberText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0", "-0": "0", "007": "7", "1.50": "1.5", "1e3": "1000", "2.5e-3": "0.0025", "0.000001": "0.000001", "0.00000012": "1.2e-7",
		"-9223372036854775808": "-9223372036854775808", "-12.5": "-12.5", "1e-300": "1e-300", "123456789012345678901234567890": "123456789012345678901234567890", "5e20": "500000000000000000000", "0e999999": "0",
	} {
		if got := string(parse(t, text).Append(nil)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{
		"", "-", ".5", "5.", "1e", "1e+", "+1", "--1", "abc", "1 ", "1.5s", "0x1", "1_000", "1.2.3", "NaN", "Inf", "1e1000000000", "1e-1000000000",
		"1e99999999999999999999", "1e-99999999999999999999",
	} {
		if n, ok := exact.Parse([]byte(text)); ok {
			t.Errorf("%q: %v", text, n)
		}
	}
}

// Numbers beyond the limits of computations are compared, converted and written without the memory that their digits would need.
func TestRange(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0e999999999", "1e299", "-1e299", "1e-300", "0." + strings.Repeat("0", 200) + strings.Repeat("1", 200)} {
		if !parse(t, text).InRange() {
			t.Errorf("%s is out of range", text)
		}
	}
	for text, want := range map[string]string{
		"1e300": "1e300", "-1e300": "-1e300", "9e-301": "9e-301", "1" + strings.Repeat("0", 300): "1e300", "1.0" + strings.Repeat("0", 399) + "1": "",
		"1e999999999": "1e999999999", "-12.50E+999999998": "-1.25e999999999", "1e-999999999": "1e-999999999", "123456789012345678901e999999999": "1.23456789012345678901e1000000019",
	} {
		n := parse(t, text)
		if n.InRange() {
			t.Errorf("%s is in range", text)
		}
		if got := string(n.Append(nil)); want != "" && got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if x := parse(t, "1e999999999").Float(); !math.IsInf(x, 1) {
		t.Error(x)
	}
	if x := parse(t, "-1e-999999999").Float(); x != 0 {
		t.Error(x)
	}
}

func TestIntegers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0 integer", "-0": "0 integer", "9223372036854775807": "9223372036854775807 integer", "-9223372036854775808": "-9223372036854775808 integer",
		"9223372036854775808": "large integer", "18446744073709551616": "large integer", "-9223372036854775809": "large integer",
		"1.0": "1 integer", "20e-1": "2 integer", "1.5": "large", "1e999": "large integer", "0.0": "0 integer", "1.0000000000000000000001": "large",
		"922337203685477580.7e1": "9223372036854775807 integer", "100e17": "large integer",
	} {
		n := parse(t, text)
		got := "large"
		if i, ok := n.Int64(); ok {
			got = fmt.Sprint(i)
		}
		if n.IsInteger() {
			got += " integer"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Scaled numbers are those of math/big without their fraction.
func TestScaled(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	for range 20_000 {
		text, places := randomNumber(r), r.IntN(40)-20
		x := new(big.Rat).Mul(rat(text), rat(fmt.Sprint("1e", places)))
		want := new(big.Int).Quo(x.Num(), x.Denom())
		got, ok := parse(t, text).Scaled(places)
		if fits := want.IsInt64(); ok != fits || ok && got != want.Int64() {
			t.Fatalf("%s with %d places: %d, %v; want %s", text, places, got, ok, want)
		}
	}
	if n, ok := parse(t, "1e999999999").Scaled(9); ok {
		t.Error(n)
	}
	if n, ok := parse(t, "123456789012345678901e-999999999").Scaled(9); !ok || n != 0 {
		t.Error(n, ok)
	}
}

// Integers of 64 bits with a scale are what their text is.
func TestFromUint64(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	for range 20_000 {
		magnitude, places, negative := r.Uint64()>>r.IntN(64), r.IntN(40), r.IntN(2) == 0
		text := fmt.Sprintf("%de-%d", magnitude, places)
		if negative {
			text = "-" + text
		}
		if n := exact.FromUint64(negative, magnitude, places); fmt.Sprint(n) != fmt.Sprint(parse(t, text)) {
			t.Fatalf("%s: %v", text, n)
		}
	}
}

// Numbers of up to 19 digits that fit 64 bits, with or without an exponent, and other texts are parsed and compared without allocations.
func TestParseAllocations(t *testing.T) {
	texts := [][]byte{[]byte("0"), []byte("-123456789012345678"), []byte("12.5"), []byte("1.5e-7"), []byte("2E+300"), []byte("-1234567890123456789"), []byte("0.12345678901234567"), []byte("word")}
	numbers := make([]exact.Number, len(texts))
	if n := testing.AllocsPerRun(100, func() {
		for i, text := range texts {
			numbers[i], _ = exact.Parse(text)
			numbers[i].Compare(numbers[0])
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// reference are the sums of rational numbers.
type reference struct {
	sum, squares *big.Rat
	n            int64
}

func (f *reference) deviation() float64 {
	n := new(big.Rat).SetInt64(f.n)
	mean := new(big.Rat).Quo(f.sum, n)
	variance := new(big.Rat).Quo(f.squares, n)
	variance.Sub(variance, mean.Mul(mean, mean))
	x := new(big.Float).SetPrec(3000).SetRat(variance)
	d, _ := x.Sqrt(x).Float64()
	return d
}

// TestSum compares sums, means and deviations with those of math/big, for all ways to split them.
func TestSum(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	for range 1500 {
		f := reference{sum: new(big.Rat), squares: new(big.Rat)}
		parts := make([][2]exact.Sum, 1+r.IntN(4))
		kind := r.IntN(3)
		for range 1 + r.IntN(50) {
			text := randomNumber(r)
			switch kind {
			case 0:
				text = strconv.FormatInt(r.Int64()-1<<62, 10)
			case 1:
				text = fmt.Sprintf("%d.%02d", r.IntN(100), r.IntN(100))
			}
			x := rat(text)
			f.n++
			f.sum.Add(f.sum, x)
			f.squares.Add(f.squares, new(big.Rat).Mul(x, x))
			part := &parts[r.IntN(len(parts))]
			part[0].Add(parse(t, text))
			part[1].AddSquare(parse(t, text))
		}
		var sum, squares exact.Sum
		for i := range parts {
			for j, into := range []*exact.Sum{&sum, &squares} {
				decoded, rest, err := exact.DecodeSum(append(parts[i][j].Encode(nil), 7))
				if err != nil || len(rest) != 1 {
					t.Fatal(err, rest)
				}
				if decoded.Wide() && r.IntN(2) == 0 || !parts[i][j].Wide() {
					into.Merge(&parts[i][j])
				} else {
					into.Merge(&decoded)
				}
			}
		}
		if !sum.Wide() {
			w := sum.Words()
			sum = exact.FromWords(w[0], w[1], w[2])
		}
		integer, ok := sum.Integer()
		if ok != f.sum.IsInt() || ok && integer.Cmp(f.sum.Num()) != 0 {
			t.Fatalf("sum %v, %v; want %s", integer, ok, f.sum)
		}
		if x, ok := sum.Int64(); ok != (f.sum.IsInt() && f.sum.Num().IsInt64()) || ok && x != f.sum.Num().Int64() {
			t.Fatalf("sum %d, %v; want %s", x, ok, f.sum)
		}
		if want, _ := f.sum.Float64(); sum.Float() != want {
			t.Fatalf("sum %v, want %v", sum.Float(), want)
		}
		if want, _ := new(big.Rat).Quo(f.sum, new(big.Rat).SetInt64(f.n)).Float64(); sum.Mean(uint64(f.n)) != want {
			t.Fatalf("mean %v, want %v", sum.Mean(uint64(f.n)), want)
		}
		if got, want := exact.Deviation(&sum, &squares, uint64(f.n)), f.deviation(); got != want {
			t.Fatalf("deviation %v, want %v", got, want)
		}
	}
}

func TestBucket(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0", "1": "1", "1.99": "1", "2": "2", "4.999": "2", "5": "5", "9.9": "5", "10": "10", "37": "20", "0.003": "0.002", "-1": "-1", "-1.5": "-2", "-2": "-2",
		"-2.01": "-5", "-5": "-5", "-5.1": "-10", "-99": "-100", "-0.07": "-0.1", "9e20": "500000000000000000000", "123456789012345678901234567890": "1" + strings.Repeat("0", 29),
	} {
		if got, ok := parse(t, text).Bucket(); !ok || string(got.Append(nil)) != want {
			t.Errorf("%s: %s, %v; want %s", text, got.Append(nil), ok, want)
		}
	}
	if n, ok := parse(t, "-9.5e299").Bucket(); ok {
		t.Error(n)
	}
	r := testrand.New(t)
	for range 20_000 {
		a, w := randomNumber(r), strings.TrimPrefix(randomNumber(r), "-")
		x := rat(a)
		if bucket, ok := parse(t, a).Bucket(); ok && bucket.Compare(parse(t, a)) > 0 {
			t.Fatalf("%s in bucket %s", a, bucket.Append(nil))
		}
		width := rat(w)
		if width.Sign() == 0 {
			continue
		}
		q := new(big.Rat).Quo(x, width)
		floor := new(big.Int).Div(q.Num(), q.Denom()) // Euclidean, which is the floor here
		want := new(big.Rat).Mul(new(big.Rat).SetInt(floor), width)
		got, ok := parse(t, a).Floor(parse(t, w))
		if _, fits := exact.Parse([]byte(want.FloatString(400))); ok != fits && want.Sign() != 0 {
			t.Fatalf("%s of width %s: %v, want %s", a, w, ok, want.FloatString(20))
		}
		if ok && rat(string(got.Append(nil))).Cmp(want) != 0 {
			t.Fatalf("%s of width %s: %s, want %s", a, w, got.Append(nil), want.FloatString(20))
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range []string{"0", "-15", "1.5", "123456789012345678901234567890", "1e-250"} {
		n, _ := exact.Parse([]byte(text))
		f.Add(n.Encode(nil))
		var s exact.Sum
		s.AddSquare(n)
		f.Add(s.Encode(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if n, _, err := exact.Decode(data); err == nil {
			again, rest, err := exact.Decode(n.Encode(nil))
			if err != nil || len(rest) != 0 || again.Compare(n) != 0 {
				t.Fatalf("%v, %v, %v", n, again, err)
			}
			n.Bucket()
			n.Float()
		}
		if s, _, err := exact.DecodeSum(data); err == nil {
			again, rest, err := exact.DecodeSum(s.Encode(nil))
			if err != nil || len(rest) != 0 || !bytes.Equal(again.Encode(nil), s.Encode(nil)) {
				t.Fatal(s, again, err)
			}
			s.Merge(&again)
			s.Mean(3)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	texts := [][]byte{[]byte("123"), []byte("12.345"), []byte("0.12345678901234567"), []byte("17")}
	for i := range b.N {
		exact.Parse(texts[i%len(texts)])
	}
}

func BenchmarkSum(b *testing.B) {
	n, _ := exact.Parse([]byte("12.345"))
	var s exact.Sum
	for range b.N {
		s.Add(n)
	}
}

// TestAllocations checks that usual numbers take the short ways, which allocate nothing.
func TestAllocations(t *testing.T) {
	texts := [][]byte{[]byte("123"), []byte("-12.345"), []byte("0.5"), []byte("0"), []byte("-9000000000000")}
	widths := []exact.Number{parse(t, "5"), parse(t, "0.25")}
	var sum, squares exact.Sum
	var encoded []byte
	if n := testing.AllocsPerRun(100, func() {
		for _, text := range texts {
			n, ok := exact.Parse(text)
			if !ok {
				t.Fatal(text)
			}
			sum.Add(n)
			squares.AddSquare(n)
			for _, w := range widths {
				n.Floor(w)
			}
			n.Bucket()
			n.Compare(widths[1])
			encoded = n.Append(n.Encode(encoded[:0]))
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
