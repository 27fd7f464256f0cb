package labels_test

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"logstow/internal/test/testrand"
	"logstow/logql/labels"
)

func l(pairs ...string) (ls labels.Labels) {
	for pair := range slices.Chunk(pairs, 2) {
		ls = append(ls, labels.Label{Name: pair[0], Value: pair[1]})
	}
	return ls
}

func TestNew(t *testing.T) {
	t.Parallel()
	given := l("b", "1", "a", "2", "b", "3", "c", "", "a", "")
	before := slices.Clone(given)
	if diff := gocmp.Diff(l("a", "2", "b", "1"), labels.New(given...)); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff(before, given); diff != "" {
		t.Error("New changed its arguments:", diff)
	}
	// The first of a name counts, but not one without a value.
	if diff := gocmp.Diff(l("a", "2"), labels.New(l("a", "", "a", "2")...)); diff != "" {
		t.Error(diff)
	}
}

func TestDerived(t *testing.T) {
	t.Parallel()
	ls := labels.New(l("a", "1", "b", "2", "c", "3")...)
	before := slices.Clone(ls)
	for what, c := range map[string]struct{ got, want labels.Labels }{
		"Keep":            {ls.Keep("c", "a", "x"), l("a", "1", "c", "3")},
		"Without":         {ls.Without("b", "x"), l("a", "1", "c", "3")},
		"With a new one":  {ls.With(l("aa", "x")...), l("a", "1", "aa", "x", "b", "2", "c", "3")},
		"With another":    {ls.With(l("b", "x")...), l("a", "1", "b", "x", "c", "3")},
		"With none":       {ls.With(l("b", "")...), l("a", "1", "c", "3")},
		"With one, twice": {ls.With(l("b", "x", "b", "y")...), l("a", "1", "b", "x", "c", "3")},
	} {
		if diff := gocmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", what, diff)
		}
	}
	if diff := gocmp.Diff(before, ls); diff != "" {
		t.Error("labels changed:", diff)
	}
	if ls.Get("b") != "2" || ls.Get("x") != "" || labels.Labels(nil).Get("x") != "" {
		t.Error("Get:", ls.Get("b"), ls.Get("x"))
	}
	if diff := gocmp.Diff(`{"a":"1","b":"2","c":"3"}`, string(ls.AppendJSON(nil))); diff != "" {
		t.Error(diff)
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	for want, ls := range map[string]labels.Labels{
		`{}`: nil, `{a="1"}`: l("a", "1"), `{a="1", b="q\"\\\n\xff"}`: l("a", "1", "b", "q\"\\\n\xff"),
	} {
		if got := ls.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Keys of different labels differ, and their order is total.
func TestKeyAndCompare(t *testing.T) {
	t.Parallel()
	long := string(make([]byte, 300))
	all := []labels.Labels{
		nil, l("a", "1"), l("a", "1", "b", "2"), l("a", "1b", "2", "x"), l("a", "12"), l("a1", ""), l("ab", "1"), l("b", "1"), l("a", long), l("a", long+"x"),
		l("a", "\x01b\x012"), l("a", long[:127]), l("a", long[:128]), l("a", "b=c"), l("a=b", "c"),
	}
	for i, a := range all {
		for k, b := range all {
			ab, ba, same := labels.Compare(a, b), labels.Compare(b, a), string(a.AppendKey(nil)) == string(b.AppendKey(nil))
			if same != (i == k) || (ab == 0) != (i == k) || ab != -ba {
				t.Errorf("%v and %v: %d, %d; keys equal: %v", a, b, ab, ba, same)
			}
		}
	}
	if string(l("a", "1").AppendKey([]byte("x"))) != "x"+string(l("a", "1").AppendKey(nil)) {
		t.Error("AppendKey does not append")
	}
	if labels.Compare(l("a", "1"), l("a", "1", "b", "2")) >= 0 || labels.Compare(l("a", "2"), l("b", "1")) >= 0 || labels.Compare(l("a", "2"), l("a", "10")) <= 0 {
		t.Error("order")
	}
}

// Keys identify labels, and have their order.
func TestKeys(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	random := func() labels.Labels {
		var all []labels.Label
		for _, name := range []string{"a", "ab", "b"} {
			if rnd.IntN(2) == 0 {
				all = append(all, labels.Label{Name: name, Value: []string{"x", "x\x00", "\x00\x00", "\x00\xff", "xy", "\x01", "\xff"}[rnd.IntN(7)]})
			}
		}
		return labels.New(all...)
	}
	for range 20_000 {
		a, b := random(), random()
		keyA, keyB := string(a.AppendKey(nil)), string(b.AppendKey(nil))
		if strings.Compare(keyA, keyB) != labels.Compare(a, b) {
			t.Fatalf("%q is not compared with %q as their keys are", a, b)
		}
		if got := labels.FromKey(keyA); labels.Compare(got, a) != 0 {
			t.Fatalf("%q has the key of %q", got, a)
		}
	}
}
