package podmeta

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"logstow/record"
)

// Records of unknown pods wait once for each pod, and not at all when there are too many of them to note that.
func TestManyUnknownPods(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, err := New(Options{Server: "https://x", Labels: []string{"app"}})
		if err != nil {
			t.Fatal(err)
		}
		w.finishList(nil)
		p := w.Processor(nil)
		for i := range MaxPods {
			p.Process("s", &record.Record{Source: fmt.Sprintf("n/gone-%d/c", i)})
		}
		began := time.Now()
		for range 100 {
			p.Process("s", &record.Record{Source: "n/one-more/c"})
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("100 records of one more pod take %v", took)
		}
	})
}
