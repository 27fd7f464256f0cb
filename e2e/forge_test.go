package e2e

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/internal/test/effort"
	"logstow/store"
)

// TestForge runs the attacks of a hostile shipper at each stage of compaction, each on a service of its own. Every honest record is
// printed once afterwards, also after compaction, and no honest segment is deleted that is in no output. Below make full a
// quarter of the attacks take place, at one stage.
func TestForge(t *testing.T) {
	t.Parallel()
	sample := effort.NewSample(t, 4)
	attacks := slices.DeleteFunc(slices.Concat(twinAttacks(), nameAttacks()), func(forgingAttack) bool { return !sample.Has() })
	for _, stage := range effort.Some(t, stages()...) {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			f := newForgeries(t, stage, attacks)
			if stage == stagePlain {
				f.check("shipped")
			}
			f.forge()
			var wait sync.WaitGroup
			wait.Go(func() { f.command(t, nil, "shipper", "reindex") })
			f.checkServices("forged")
			f.check("forged")
			f.checkStored("forged", false)
			wait.Wait()
			f.check("reindexed", "--plan", "index")
			f.compact()
			f.compact()
			if stage == stagePlain {
				wait.Go(func() { f.differences("compacted") })
			}
			wait.Go(func() {
				got := f.differences("compacted", "--full")
				for _, a := range f.attacks {
					if got[a.name] != a.verify {
						t.Errorf("verify --full of %s: %q, want %q", a.name, got[a.name], a.verify)
					}
				}
			})
			f.check("compacted")
			if stage == stageRemoved {
				f.check("compacted", "--plan", "index")
			}
			f.checkStored("compacted", true)
			wait.Wait()
		})
	}
}

// TestForgeControl does with the account's key what the attacks cannot: there the same blobs hide and replace records.
func TestForgeControl(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "shows that TestForge can fail")
	f := newForgeries(t, stageRemoved, []forgingAttack{{name: "rejected"}, {name: "replaced"}, {name: "untouched"}})
	marker := &forgery{forgeries: f, service: "rejected"}
	name := strings.TrimSuffix(marker.chain("-", 1), ".log") + ".rejected"
	if _, err := f.owner.Compacted().Create(t.Context(), name, nil, store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	output := &forgery{forgeries: f, service: "replaced", honest: f.honest["replaced"]}
	body, m := output.output(output.honest)
	if err := f.owner.Compacted().Delete(t.Context(), store.AnyVersion(output.chain("-", 1))); err != nil {
		t.Fatal(err)
	}
	if _, err := f.owner.Compacted().Create(t.Context(), output.chain("-", 1), body, store.CreateOptions{Metadata: m.Encode()}); err != nil {
		t.Fatal(err)
	}
	for i := range output.honest { // the honest segments are hidden by the forged output, and would be removed
		output.twin(i, output.honest[i].Name, func(_ *blobnaming.Metadata, body []byte) []byte { return body })
	}
	got := f.query()
	if len(got["rejected"]) > 0 || len(got["replaced"]) > 0 || !slices.Equal(got["untouched"], f.want["untouched"]) {
		t.Errorf("%d, %d and %d records", len(got["rejected"]), len(got["replaced"]), len(got["untouched"]))
	}
	if r := f.command(t, nil, "logq", "query", "-s", "replaced", "--from", f.day.Format(time.DateOnly), "--count", "forged"); string(r.out) != "240\n" {
		t.Errorf("%s forged records, status %d, standard error:\n%s", r.out, r.status, r.errs)
	}
}
