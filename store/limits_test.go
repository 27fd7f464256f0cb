package store_test

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/hint"
	"logstow/store"
)

// FuzzCheckName: a name that is allowed is a clean path below where it is joined.
func FuzzCheckName(f *testing.F) {
	for _, seed := range []string{"", "a", "a/b", "/a", "a//b", "..", "a/..", "a.", "ünï/x", "a\x00", "\xff", `a\b`, strings.Repeat("x/", 600)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if store.CheckName(name) != nil {
			return
		}
		if len(name) == 0 || len(name) > store.MaxName || path.Clean("/top/"+name) != "/top/"+name || strings.ContainsAny(name, "\x00\n\\") {
			t.Errorf("%q is allowed", name)
		}
	})
}

func TestCheckMetadataSize(t *testing.T) {
	t.Parallel()
	fits := map[string]string{"K": strings.Repeat("v", store.MaxMetadata-1)}
	if err := store.CheckMetadata(fits); err != nil {
		t.Error(err)
	}
	fits["L"] = "x"
	if err := store.CheckMetadata(fits); err == nil {
		t.Error("more than fits is allowed")
	}
}

// TestEntitySize compares with sizes worked out by Azure's rule.
func TestEntitySize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		entity store.Entity
		want   int
	}{
		{store.Entity{}, 4},
		{store.Entity{Key: store.Key{Partition: "ab", Row: "c"}}, 4 + 6},
		{store.Entity{Properties: map[string]any{"Name": "text"}}, 4 + 8 + 8 + 4 + 8},
		{store.Entity{Properties: map[string]any{"N": "😀"}}, 4 + 8 + 2 + 4 + 4},
		{store.Entity{Properties: map[string]any{"N": int64(1)}}, 4 + 8 + 2 + 8},
		{store.Entity{Properties: map[string]any{"N": make([]byte, 100)}}, 4 + 8 + 2 + 4 + 100},
	} {
		if got := c.entity.Size(); got != c.want {
			t.Errorf("%v has %d bytes, want %d", c.entity, got, c.want)
		}
	}
}

func TestError(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	for _, c := range []struct {
		err  *store.Error
		want string
	}{
		{&store.Error{Op: "read", Object: "a/b", Class: store.ErrNotFound}, "cannot read a/b: not found"},
		{
			&store.Error{
				Op: "create", Object: "a/b", Class: store.ErrAccessDenied, Code: "AuthorizationFailure", Status: 403,
				RequestID: "r1", Hint: "ask", Err: cause, RetryAfter: time.Second,
			},
			"cannot create a/b: access denied (403 AuthorizationFailure, request r1): cause",
		},
	} {
		if diff := cmp.Diff(c.want, c.err.Error()); diff != "" {
			t.Error(diff)
		}
		wrapped := fmt.Errorf("ship: %w", c.err)
		if got := hint.Of(wrapped); got != c.err.Hint {
			t.Errorf("hint %q, want %q", got, c.err.Hint)
		}
		if !errors.Is(wrapped, c.err.Class) || c.err.Err != nil && !errors.Is(wrapped, cause) {
			t.Errorf("%v hides its class or cause", wrapped)
		}
	}
}

func TestRetryable(t *testing.T) {
	t.Parallel()
	for class, want := range map[error]bool{
		store.ErrThrottled: true, store.ErrUnavailable: true, store.ErrTableBusy: true,
		store.ErrNotFound: false, store.ErrNoContainer: false, store.ErrNoTable: false, store.ErrExists: false,
		store.ErrRange: false, store.ErrAccessDenied: false, store.ErrInvalid: false, store.ErrHeld: false,
	} {
		if got := store.Retryable(&store.Error{Class: class}); got != want {
			t.Errorf("%v: %t, want %t", class, got, want)
		}
	}
}
