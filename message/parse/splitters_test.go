package parse_test

import (
	"testing"

	"logstow/message/parse"
)

// A parser has the same splitter as long as few others are used, and all have the names.
func TestSplitters(t *testing.T) {
	t.Parallel()
	var s parse.Splitters
	auto := parse.Auto()
	first := s.Of(auto, "a", "b")
	if s.Of(auto, "a", "b") != first {
		t.Error("another splitter for the same parser")
	}
	for range 1000 {
		pattern, err := parse.Compile("pattern <a> <b>")
		if err != nil {
			t.Fatal(err)
		}
		one := s.Of(pattern, "a", "b")
		if one.Split(nil, []byte("1 2")); string(one.Value(1).Text) != "2" {
			t.Fatalf("got %q", one.Value(1).Text)
		}
	}
	again := s.Of(auto, "a", "b")
	if again == first {
		t.Error("kept after 1000 others")
	}
	if again.Split(nil, []byte("b=3")); string(again.Value(1).Text) != "3" {
		t.Errorf("got %q", again.Value(1).Text)
	}
}
