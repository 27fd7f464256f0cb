package testrand_test

import (
	"fmt"
	"strings"
	"testing"

	"logstow/internal/test/testrand"
)

// test is a test of a name that keeps what it logs.
type test struct {
	testing.TB
	name   string
	log    []string
	failed string
}

func (*test) Helper()                     {}
func (t *test) Name() string              { return t.name }
func (t *test) Logf(f string, a ...any)   { t.log = append(t.log, fmt.Sprintf(f, a...)) }
func (t *test) Fatalf(f string, a ...any) { t.failed = fmt.Sprintf(f, a...) }

func TestSeed(t *testing.T) {
	one, other := &test{name: "TestOne"}, &test{name: "TestOther"}
	t.Setenv(testrand.Env, "")
	first := testrand.Seed(one)
	if again := testrand.Seed(one); again != first {
		t.Errorf("%d, then %d", first, again)
	}
	if different := testrand.Seed(other); different == first {
		t.Errorf("two tests have the seed %d", first)
	}
	t.Setenv(testrand.Env, "random")
	drawn := testrand.Seed(one)
	if again := testrand.Seed(one); again == drawn {
		t.Errorf("drew %d twice", drawn)
	}
	t.Setenv(testrand.Env, fmt.Sprint(drawn))
	if seed := testrand.Seed(other); seed != drawn {
		t.Errorf("%d, want %d", seed, drawn)
	}
	if want := fmt.Sprintf("LOGSTOW_SEED=%d", drawn); other.log[1] != want || one.log[2] != want {
		t.Errorf("logged %q and %q, want %q", other.log, one.log, want)
	}
	if a, b := testrand.New(one).Uint64(), testrand.New(one).Uint64(); a != b {
		t.Errorf("by one seed %d and %d", a, b)
	}
	t.Setenv(testrand.Env, "x1")
	if testrand.Seed(one); !strings.Contains(one.failed, "LOGSTOW_SEED=x1") {
		t.Errorf("failed with %q", one.failed)
	}
}
