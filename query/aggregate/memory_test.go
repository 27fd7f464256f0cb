//go:build !race

// The race detector has memory of its own for every word of the process, so a peak under it is no
// measure of the program.

package aggregate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"logstow/internal/test/effort"
	"logstow/message"
)

// groupsVariable makes the test process the child of TestLongMemory.
const groupsVariable = "LOGSTOW_TEST_GROUPS"

func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv(groupsVariable)); err == nil {
		if err := manyGroups(n); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// manyGroups aggregates n groups of three records each, with two workers and the default memory, checks
// every row, and prints the process's peak memory.
func manyGroups(n int) error {
	const each, workers = 3, 2
	by, err := ParseBy([]string{"user"})
	if err != nil {
		return err
	}
	compute, err := ParseCompute([]string{"count, sum(took), p50(took), distinct(took)"})
	if err != nil {
		return err
	}
	sort, err := ParseSort([]string{"sum(took) desc"}, by, compute)
	if err != nil {
		return err
	}
	a, err := begin(Spec{By: by, Compute: compute, Sort: sort, Pivot: -1}, Options{Workers: workers})
	if err != nil {
		return err
	}
	defer a.Close()
	var group sync.WaitGroup
	errs := make([]error, workers)
	for worker := range workers {
		w := a.Worker()
		group.Go(func() {
			rec := Record{Values: make([]message.Value, 2)}
			var key, number []byte
			for i := worker; i < each*n && errs[worker] == nil; i += workers {
				of := int(uint64(i) * 2654435761 % uint64(n))
				key = strconv.AppendInt(append(key[:0], "user-"...), int64(of), 10)
				number = strconv.AppendInt(number[:0], int64(of+i/n), 10)
				rec.Values[0] = message.Value{Kind: message.String, Text: key}
				rec.Values[1] = message.Value{Kind: message.Number, Text: number}
				errs[worker] = w.Add(&rec)
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	result, err := a.Finish(context.Background())
	if err != nil {
		return err
	}
	rows := 0
	for row, err := range result.Rows() {
		if err != nil {
			return err
		}
		of := n - 1 - rows
		want := fmt.Sprintf("user-%d 3 %d %d 3", of, 3*of+3, of+1)
		got := string(row.Keys[0].Text)
		for _, v := range row.Values {
			got += " " + string(v.Append(nil))
		}
		if got != want {
			return fmt.Errorf("row %d is %s, want %s", rows, got, want)
		}
		rows++
	}
	if rows != n {
		return fmt.Errorf("%d rows, want %d", rows, n)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Println("peak", strings.Fields(peak)[0], "spilled", result.spilled)
	return nil
}

// TestLongMemory aggregates 500,000 groups, in the long form 5 million, in a process that may take 256
// MiB: the peak that the system saw, not what the program counts.
func TestLongMemory(t *testing.T) {
	effort.Need(t, effort.Full, "aggregates 500,000 groups")
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	n := effort.Cases{Full: 500_000, Long: 5_000_000}.N()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), groupsVariable+"="+strconv.Itoa(n), "TMPDIR="+t.TempDir(), "GOGC=100")
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var kib int64
	var spilled bool
	if _, err := fmt.Fscanf(bytes.NewReader(out), "peak %d spilled %t", &kib, &spilled); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%d groups: %d MiB, spilled %v", n, kib>>10, spilled)
	if kib<<10 > DefaultMemory {
		t.Errorf("%d groups took %d MiB", n, kib>>10)
	}
	if !spilled {
		t.Error("nothing was spilled")
	}
}

// Groups beyond what can have an address are spilled, however much memory is allowed.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	a, err := begin(spec(t, "k", "count"), Options{Memory: 1 << 50})
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(1<<(32-offsetBits)-1) * maxSlabSize // the offset of the last slab
	if w := a.Worker(); uint64(w.limit) > last {
		t.Errorf("a limit of %d bytes", w.limit)
	}
}
