package message_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"logstow/message"
)

func FuzzAppendString(f *testing.F) {
	f.Add("a\"b\\c\n\r\t\x00\x1f\x7fé\u2028\xff\xc3")
	f.Fuzz(func(t *testing.T, text string) {
		quoted := message.AppendString([]byte("x"), text)
		var got string
		if err := json.Unmarshal(quoted[1:], &got); err != nil {
			t.Fatalf("%q is %s: %v", text, quoted, err)
		}
		if want := strings.ToValidUTF8(strings.Map(func(r rune) rune { return r }, text), "\ufffd"); got != want {
			t.Fatalf("%q is %q, want %q", text, got, want)
		}
		if other := message.AppendString([]byte("x"), []byte(text)); string(other) != string(quoted) {
			t.Fatalf("%q is %s as bytes, %s as a string", text, other, quoted)
		}
	})
}

func FuzzAppendFloat(f *testing.F) {
	for _, v := range []float64{
		0, math.Copysign(0, -1), 1, 0.1, -1.5e-7, 1e-6, math.Nextafter(1e-6, 0), float64(float32(1e-6)), 1e20, 1e21, float64(float32(1e21)),
		math.Nextafter(1e21, 0), 1e300, 1e-300, 1e-10, math.MaxFloat64, math.SmallestNonzeroFloat64, math.NaN(), math.Inf(1), math.Inf(-1),
	} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		for bits, v := range map[int]any{32: float32(v), 64: v} {
			got := message.AppendFloat([]byte("x"), reflect.ValueOf(v).Float(), bits)
			want, err := json.Marshal(v)
			if err != nil {
				want, _ = json.Marshal(map[string]string{"NaN": "NaN", "+Inf": "Infinity", "-Inf": "-Infinity"}[fmt.Sprint(v)])
			}
			if string(got) != "x"+string(want) {
				t.Errorf("%v of %d bits is %s, want %s", v, bits, got[1:], want)
			}
		}
	})
}
