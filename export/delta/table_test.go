package delta_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"logstow/export/delta"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
)

// sameState compares states, but for where they were loaded from.
func sameState(t *testing.T, what string, want, got *delta.Snapshot) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(delta.Snapshot{}, "Checkpoint"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// One of two writers commits a version; the other one reads what is new and commits the next.
func TestConflict(t *testing.T) {
	t.Parallel()
	table := tableOf(newMemory())
	load := must[*delta.Snapshot](t)
	first := load(table.Load(t.Context()))
	if first.Version != -1 {
		t.Fatalf("version %d of no table", first.Version)
	}
	second := load(table.Load(t.Context()))
	mustDo(t, table.Commit(t.Context(), first, delta.CommitInfo{}, created(t, nil)))
	err := table.Commit(t.Context(), second, delta.CommitInfo{}, created(t, nil))
	if !isConflict(err) || second.Version != -1 {
		t.Fatalf("version %d, error %v", second.Version, err)
	}
	second = load(table.Refresh(t.Context(), second))
	a := fileOf("2026-01-01", "a.parquet")
	mustDo(t, table.Commit(t.Context(), second, delta.CommitInfo{}, []delta.Action{{Add: &a}, {Txn: &delta.Txn{AppID: "x", Version: 7}}}))
	sameState(t, "after both", second, load(table.Load(t.Context())))
	sameState(t, "refreshed", second, load(table.Refresh(t.Context(), first)))
	if second.Version != 1 || second.Txn("x") != 7 || len(second.Files) != 1 {
		t.Errorf("%+v", second)
	}
}

// A commit whose response is lost is found, not repeated and not reported as a conflict.
func TestLostResponse(t *testing.T) {
	t.Parallel()
	m := newMemory()
	table := tableOf(m)
	s := must[*delta.Snapshot](t)(table.Load(t.Context()))
	m.lost = 1
	mustDo(t, table.Commit(t.Context(), s, delta.CommitInfo{}, created(t, nil)))
	if n, _ := m.count(".json"); n != 1 || s.Version != 0 {
		t.Errorf("%d entries, version %d", n, s.Version)
	}
}

// A log with a gap, without a protocol, or with text that is no action is reported.
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(m *memory){
		"a missing entry":  func(m *memory) { delete(m.blobs, "_delta_log/00000000000000000001.json") },
		"no first entry":   func(m *memory) { delete(m.blobs, "_delta_log/00000000000000000000.json") },
		"an entry of text": func(m *memory) { m.blobs["_delta_log/00000000000000000002.json"] = stored{body: []byte("text")} },
		"a bad checkpoint": func(m *memory) {
			m.blobs["_delta_log/00000000000000000001.checkpoint.parquet"] = stored{body: []byte("PAR1 no PAR1")}
		},
		"an empty protocol": func(m *memory) { m.blobs["_delta_log/00000000000000000000.json"] = stored{body: []byte("{}")} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory()
			table := tableOf(m)
			s := must[*delta.Snapshot](t)(table.Load(t.Context()))
			mustDo(t, table.Commit(t.Context(), s, delta.CommitInfo{}, created(t, nil)))
			for range 2 {
				mustDo(t, table.Commit(t.Context(), s, delta.CommitInfo{}, nil))
			}
			change(m)
			if _, err := table.Load(t.Context()); !errors.Is(err, delta.ErrDamaged) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A table that other programs upgraded is not written to.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(actions []delta.Action){
		"reader version 3": func(a []delta.Action) { a[0].Protocol = &delta.Protocol{Reader: 3, Writer: 7} },
		"appendOnly":       func(a []delta.Action) { a[1].Metadata.Configuration = map[string]string{"delta.appendOnly": "true"} },
		"":                 func([]delta.Action) {},
	} {
		table := tableOf(newMemory())
		s := must[*delta.Snapshot](t)(table.Load(t.Context()))
		actions := created(t, nil)
		change(actions)
		mustDo(t, table.Commit(t.Context(), s, delta.CommitInfo{}, actions))
		err := must[*delta.Snapshot](t)(table.Load(t.Context())).Check()
		if (err != nil) != (want != "") || err != nil && (!errors.Is(err, delta.ErrUnsupported) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: error %v", want, err)
		}
	}
}

// randomActions are some actions of every kind.
func randomActions(t *testing.T, rnd *rand.Rand, s *delta.Snapshot) (actions []delta.Action) {
	for range rnd.IntN(4) {
		a := fileOf(fmt.Sprintf("2026-01-%02d", 1+rnd.IntN(9)), fmt.Sprintf("%d.parquet", rnd.IntN(40)))
		a.Size = rnd.Int64N(1e9)
		if rnd.IntN(3) == 0 {
			a.Stats, a.Tags = nil, map[string]string{"k": "ü"}
		}
		actions = append(actions, delta.Action{Add: &a})
	}
	for _, a := range s.Files {
		if rnd.IntN(6) == 0 {
			actions = append(actions, delta.Action{Remove: delta.RemoveOf(a, start().UnixMilli())})
		}
	}
	for range rnd.IntN(3) {
		actions = append(actions, delta.Action{Txn: &delta.Txn{AppID: fmt.Sprint(rnd.IntN(9)), Version: rnd.Int64N(100), LastUpdated: ptr(start().UnixMilli())}})
	}
	if rnd.IntN(8) == 0 {
		actions = append(actions, created(t, map[string]string{"k": fmt.Sprint(rnd.IntN(9))})[1])
	}
	return actions
}

// A table of 2,000 commits is what its entries say, and opens through its last checkpoint.
func TestManyCommits(t *testing.T) {
	t.Parallel()
	rnd, m := testrand.New(t), newMemory()
	table := tableOf(m)
	load := must[*delta.Snapshot](t)
	s := load(table.Load(t.Context()))
	mustDo(t, table.Commit(t.Context(), s, delta.CommitInfo{}, created(t, nil)))
	const commits = 2000
	every := int64(100 / effort.Cases{Test: 1, Full: 10}.N())
	for s.Version < commits-1 {
		mustDo(t, table.Commit(t.Context(), s, delta.CommitInfo{}, randomActions(t, rnd, s)))
		if s.Version-s.Checkpoint >= every {
			mustDo(t, table.WriteCheckpoint(t.Context(), s, start()))
		}
	}
	clear(m.reads)
	sameState(t, "through the checkpoint", s, load(table.Load(t.Context())))
	if len(m.reads) > int(every)+1 {
		t.Errorf("%d blobs read", len(m.reads))
	}
	for name := range m.blobs {
		if strings.HasSuffix(name, ".checkpoint.parquet") {
			delete(m.blobs, name)
		}
	}
	clear(m.reads)
	sameState(t, "by all entries", s, load(table.Load(t.Context())))
	if len(m.reads) != commits {
		t.Errorf("%d blobs read", len(m.reads))
	}
}

// In a year of many services, with an output of each on every day, entries, checkpoints, transactions and files stay bounded.
func TestYear(t *testing.T) {
	t.Parallel()
	services := effort.Cases{Test: 50, Full: 1000}.N()
	const days, keep, age = 365, 30 * 24 * time.Hour, 7 * 24 * time.Hour
	const retention = age + 30*24*time.Hour
	m := newMemory()
	table := tableOf(m)
	s := must[*delta.Snapshot](t)(table.Load(t.Context()))
	mustDo(t, table.Commit(t.Context(), s, delta.CommitInfo{}, created(t, map[string]string{delta.TxnRetention: delta.Interval(retention)})))
	largest := make(map[int]int) // checkpoint by day
	for day := range days {
		m.now = start().AddDate(0, 0, day)
		date := m.now.Format(time.DateOnly)
		a := fileOf(date, "logs-"+date+".parquet")
		m.blobs[a.Path] = stored{[]byte("rows"), m.now}
		m.blobs["date="+date+"/logs-orphan.parquet"] = stored{[]byte("rows"), m.now}
		actions := []delta.Action{{Add: &a}}
		for path, f := range s.Files {
			if at, _ := time.Parse(time.DateOnly, f.PartitionValues["date"]); m.now.Sub(at) > keep {
				actions = append(actions, delta.Action{Remove: delta.RemoveOf(s.Files[path], m.now.UnixMilli())})
			}
		}
		for i := range services {
			actions = append(actions, delta.Action{Txn: &delta.Txn{AppID: fmt.Sprintf("logstow/service-%d/%s/-", i, date), Version: 1, LastUpdated: ptr(m.now.UnixMilli())}})
		}
		mustDo(t, table.Commit(t.Context(), s, delta.CommitInfo{}, actions))
		if s.Version-s.Checkpoint >= 10 {
			mustDo(t, table.WriteCheckpoint(t.Context(), s, m.now))
			if most := services * int(retention/(24*time.Hour)+1); len(s.Txns) > most {
				t.Fatalf("day %d: %d transactions, more than %d", day, len(s.Txns), most)
			}
		}
		g, err := table.FindGarbage(t.Context(), s, "date=", func(string) bool { return true }, m.now)
		mustDo(t, err)
		mustDo(t, table.Delete(t.Context(), g))
		_, largest[day] = m.count(".checkpoint.parquet")
	}
	sameState(t, "at the end", s, must[*delta.Snapshot](t)(table.Load(t.Context())))
	entries, _ := m.count(".json")
	checkpoints, size := m.count(".checkpoint.parquet")
	files, _ := m.count("-01.parquet")
	all, _ := m.count(".parquet")
	t.Logf("%d services: %d entries, %d checkpoints, the last of %d bytes, %d transactions, %d files", services, entries, checkpoints, size, len(s.Txns), all-checkpoints)
	if entries > 30+10+1 || checkpoints > 6 || all-checkpoints > 31+8+8 || files > 3 {
		t.Error("the table grows")
	}
	if float64(size) > 1.1*float64(largest[100]) {
		t.Errorf("the largest checkpoint had %d bytes on day 100 and has %d at the end", largest[100], size)
	}
}

// What may be deleted, and when.
func TestGarbage(t *testing.T) {
	t.Parallel()
	const date = "2026-01-01"
	m := newMemory()
	table := tableOf(m)
	s := must[*delta.Snapshot](t)(table.Load(t.Context()))
	mustDo(t, table.Commit(t.Context(), s, delta.CommitInfo{}, created(t, nil)))
	keep, gone, foreign := fileOf(date, "keep.parquet"), fileOf(date, "gone%20x.parquet"), fileOf(date, "part-0.parquet")
	for _, name := range []string{"keep.parquet", "gone x.parquet", "part-0.parquet", "part-1.parquet", "orphan.parquet"} {
		m.blobs["date="+date+"/"+name] = stored{[]byte("rows"), m.now}
	}
	mustDo(t, table.Commit(t.Context(), s, delta.CommitInfo{}, []delta.Action{{Add: &keep}, {Add: &gone}, {Add: &foreign}}))
	mustDo(t, table.Commit(t.Context(), s, delta.CommitInfo{}, []delta.Action{
		{Remove: delta.RemoveOf(gone, m.now.UnixMilli())}, {Remove: delta.RemoveOf(foreign, m.now.UnixMilli())},
	}))
	own := func(name string) bool { return !strings.Contains(name, "part-") }
	found := func(after time.Duration) (names []string) {
		g, err := table.FindGarbage(t.Context(), s, "date=", own, start().Add(after))
		mustDo(t, err)
		for _, ref := range g.Refs() {
			names = append(names, ref.Name)
		}
		return names
	}
	week := 7 * 24 * time.Hour
	if got := found(week); got != nil {
		t.Errorf("after exactly a week: %q", got)
	}
	want := []string{"date=" + date + "/gone x.parquet", "date=" + date + "/orphan.parquet", "date=" + date + "/part-0.parquet"}
	if diff := cmp.Diff(want, found(week+time.Second)); diff != "" {
		t.Errorf("after a week: %s", diff)
	}
	s.Metadata.Configuration = map[string]string{delta.FileRetention: "interval 2 weeks"}
	if got := found(week + time.Second); got != nil {
		t.Errorf("after a week of two: %q", got)
	}
	s.Metadata.Configuration = map[string]string{delta.FileRetention: "for a while"}
	if got := found(100 * week); got != nil {
		t.Errorf("with a property that is not known: %q", got)
	}
}

// Entries are deleted only if they are old and a checkpoint that is not newer than an old entry covers them.
func TestOldEntries(t *testing.T) {
	t.Parallel()
	m := newMemory()
	table := tableOf(m)
	s := must[*delta.Snapshot](t)(table.Load(t.Context()))
	mustDo(t, table.Commit(t.Context(), s, delta.CommitInfo{}, created(t, nil)))
	const day = 24 * time.Hour
	for s.Version < 25 { // one a day
		m.now = m.now.Add(day)
		mustDo(t, table.Commit(t.Context(), s, delta.CommitInfo{}, nil))
		if s.Version == 12 || s.Version == 20 {
			mustDo(t, table.WriteCheckpoint(t.Context(), s, m.now))
		}
	}
	for _, c := range []struct {
		age  time.Duration
		want int
	}{{11 * day, 0}, {13 * day, 12}, {20 * day, 12}, {21 * day, 21}, {1000 * day, 21}} {
		g, err := table.FindGarbage(t.Context(), s, "date=", func(string) bool { return true }, start().Add(30*day+c.age))
		mustDo(t, err)
		if len(g.Entries) != c.want {
			t.Errorf("entries older than %v days: %d blobs, want %d", c.age/day, len(g.Entries), c.want)
		}
		for _, b := range g.Entries {
			if strings.Contains(b.Name, "20.checkpoint") {
				t.Errorf("%s is needed", b.Name)
			}
		}
	}
}
