package descriptors_test

import (
	"testing"

	"logstow/internal/descriptors"
)

// The users of a share get equal parts of what is left, at most what they want, and a minimum.
func TestShares(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit, want        int
		connections, files []int
	}{
		{256, 512, []int{42, 43, 43}, []int{21, 21, 22}},
		{1024, 512, []int{170, 171, 171}, []int{85, 85, 86}},
		{1 << 20, 512, []int{512, 512, 512}, []int{341, 341, 342}},
		{1 << 20, 20, []int{20, 20, 20}, []int{20, 20, 20}},
		{32, 512, []int{8, 8, 8}, []int{8, 8, 8}},
	} {
		connections, files := descriptors.Divide(test.limit)
		for others := 2; others >= 0; others-- {
			if got := connections.Take(test.want, others); got != test.connections[2-others] {
				t.Errorf("limit %d: %d connections with %d others, want %d", test.limit, got, others, test.connections[2-others])
			}
			if got := files.Take(test.want, others); got != test.files[2-others] {
				t.Errorf("limit %d: %d files with %d others, want %d", test.limit, got, others, test.files[2-others])
			}
		}
	}
	connections, _ := descriptors.Divide(256)
	if n := connections.Take(200, 0); n != 128 || connections.Take(3, 0) != 3 {
		t.Errorf("took %d", n)
	}
	connections.Give(100)
	if n := connections.Take(200, 0); n != 97 {
		t.Errorf("took %d of what was given back", n)
	}
	if descriptors.Limit() < 64 {
		t.Errorf("limit %d", descriptors.Limit())
	}
}
