package memo_test

import (
	"strconv"
	"testing"

	"logstow/internal/memo"
)

// A value is made once, until one more than Max are remembered. A known text allocates nothing.
func TestMap(t *testing.T) {
	m, made := memo.Map[string, int]{Max: 3}, 0
	get := func(key int) int {
		return memo.Text(&m, []byte(strconv.Itoa(key)), func(text string) int {
			made++
			n, _ := strconv.Atoi(text)
			return n
		})
	}
	for _, key := range []int{1, 2, 1, 3, 2, 1} {
		if got := get(key); got != key {
			t.Errorf("%d is %d", key, got)
		}
	}
	if made != 3 {
		t.Errorf("%d values made of 3", made)
	}
	get(4)
	if m.Get("4", func() int { return 0 }) != 4 || m.Get("1", func() int { return 5 }) != 5 {
		t.Error("with one more than Max, not all others are forgotten")
	}
	var texts memo.Map[string, string]
	key := []byte("text")
	memo.Text(&texts, key, memo.Same)
	if n := testing.AllocsPerRun(10, func() { memo.Text(&texts, key, memo.Same) }); n > 0 {
		t.Errorf("a known text allocates %v times", n)
	}
}
