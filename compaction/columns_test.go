package compaction_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"logstow/columns"
	"logstow/compaction"
	"logstow/internal/test/testrand"
	"logstow/segment"
)

// An output has the columns of the options, in all of its blocks, whatever its inputs have.
func TestColumnsOfOutputs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*compaction.Options)
		want   []string
	}{
		"by default": {func(*compaction.Options) {}, []string{"time", "source", "level", "status"}},
		"named":      {func(o *compaction.Options) { o.Columns = &columns.Options{Named: []string{"took"}} }, []string{"time", "source", "level", "status", "took"}},
		"off":        {func(o *compaction.Options) { o.Columns = nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, rnd := openStore(t), testrand.New(t)
			f := newFleet(t, s, rnd, "web")
			f.levels = 2
			f.message = func(string) string {
				return fmt.Sprintf(`{"id":"%032x%016x","status":%d,"took":%d}`, rnd.Uint64(), rnd.Uint64(), 200+rnd.IntN(3), rnd.IntN(1000))
			}
			for i := range 10 {
				f.store(f.segment(fmt.Sprintf("pod-%d", i), hour(), time.Hour, 500))
			}
			o := options(t)
			c.change(&o)
			report := run(t, s, o)
			if report.Outputs != 1 || report.Inputs != 10 {
				t.Fatalf("%d inputs into %d outputs", report.Inputs, report.Outputs)
			}
			var got []string
			for page, err := range s.Compacted().List(t.Context(), "") {
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range page {
					read := func(ctx context.Context, off, n int64) ([]byte, error) {
						return s.Compacted().Read(ctx, b.Ref(), off, n)
					}
					footer, err := segment.Verify(t.Context(), read, b.Size)
					if err != nil {
						t.Fatal(err)
					}
					list, err := segment.ReadColumns(t.Context(), read, footer)
					if err != nil || list == nil {
						continue
					}
					for _, column := range list.Columns {
						got = append(got, column.Name.String())
						if slices.ContainsFunc(column.Pages, func(p segment.ColumnPage) bool { return p.Length == 0 }) {
							t.Errorf("column %s has no page of some block", column.Name)
						}
					}
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("columns %v, want %v", got, c.want)
			}
		})
	}
}
