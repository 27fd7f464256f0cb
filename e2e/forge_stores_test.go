package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/internal/test/effort"
	"logstow/internal/test/storetest"
	"logstow/record"
	"logstow/store"
	"logstow/store/local"
)

// storeAttacks create twins of segments of another store.
func storeAttacks() []forgingAttack {
	return []forgingAttack{
		{name: "garbage", forge: func(f *forgery) {
			for i, s := range f.honest {
				f.twin(i, s.Name, func(_ *blobnaming.Metadata, body []byte) []byte { clear(body); return body })
			}
		}},
		{name: "blocks", forge: func(f *forgery) {
			for i, s := range f.honest {
				f.twin(i, s.Name, func(_ *blobnaming.Metadata, body []byte) []byte { body[20] ^= 1; return body })
			}
		}},
		{name: "fewer-errors", claims: true, forge: func(f *forgery) { // within the levels of the output
			for i, s := range f.honest {
				f.twin(i, s.Name, func(m *blobnaming.Metadata, body []byte) []byte {
					m.Levels = record.Counts{record.Info: m.Records}
					return body
				})
			}
		}},
		{name: "levels", claims: true, forge: func(f *forgery) {
			for i, s := range f.honest {
				f.twin(i, s.Name, func(m *blobnaming.Metadata, body []byte) []byte {
					m.Levels = record.Counts{record.Fatal: m.Records}
					return body
				})
			}
		}},
		{name: "instance", forge: func(f *forgery) {
			for i, s := range f.honest {
				f.twin(i, s.Name, func(m *blobnaming.Metadata, body []byte) []byte { m.Instance, m.Seq = "evil", 0; return body })
			}
		}},
		{name: "class", claims: true, forge: func(f *forgery) {
			for i, s := range f.honest {
				f.twin(i, s.Name, func(m *blobnaming.Metadata, body []byte) []byte { m.Class = "audit"; return body })
			}
		}},
		{name: "same", forge: func(f *forgery) {
			for i, s := range f.honest {
				f.twin(i, s.Name, func(_ *blobnaming.Metadata, body []byte) []byte { return body })
			}
		}},
	}
}

// TestForgeStores attacks from a store of its own: logq reads both stores as one, and the hostile shipper may write to the first only.
func TestForgeStores(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "attacks two stores, and compacts them")
	for _, stage := range stages() {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			f := newForgeries(t, stage, storeAttacks())
			honest := f.store
			f.store += "x"
			f.owner = ownerOf(t, f.target)
			if err := f.owner.CreateContainer(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.create = f.sign("c")
			f.forge()
			f.extra = []string{"--store", f.store, "--store", honest}
			f.check("forged")
			f.compact()
			f.check("compacted")
		})
	}
}

// TestForgeReject rejects outputs whose inputs are gone, and of which the hostile shipper has stored copies: they count only if they are
// what they claim to be.
func TestForgeReject(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "compacts five services three times")
	copies := func(change func(m *blobnaming.Metadata, body []byte) []byte) func(*forgery) {
		return func(f *forgery) {
			for i := range f.honest {
				f.twin(i, f.name([]string{"1030", "1030", "1100", "1100"}[i], 77+i), change)
			}
		}
	}
	f := newForgeries(t, stageRemoved, []forgingAttack{
		{name: "garbage", forge: copies(func(_ *blobnaming.Metadata, body []byte) []byte { clear(body); return body })},
		{name: "blocks", forge: copies(func(_ *blobnaming.Metadata, body []byte) []byte { body[20] ^= 1; return body })},
		{name: "levels", claims: true, forge: copies(func(m *blobnaming.Metadata, body []byte) []byte {
			m.Levels = record.Counts{record.Fatal: m.Records}
			return body
		})},
		{name: "none", forge: func(*forgery) {}},
		{name: "same", forge: copies(func(_ *blobnaming.Metadata, body []byte) []byte { return body })},
	})
	f.forge()
	for _, a := range f.attacks {
		name := (&forgery{forgeries: f, service: a.name}).chain("-", 1)
		r := f.command(t, nil, "shipper", "compact", "--reject", name)
		if a.name == "same" && r.status != 0 || a.name != "same" && (r.status != 3 || !strings.Contains(r.errs, "inputs of the output are gone or damaged")) {
			t.Errorf("%s: status %d, standard error:\n%s", a.name, r.status, r.errs)
		}
	}
	f.check("rejected")
	f.compact()
	f.compact()
	f.check("compacted")
}

// TestForgeRetain baits retention with blobs of expired days and of classes with a short retention.
func TestForgeRetain(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "compacts and deletes days twice")
	old := time.Now().UTC().AddDate(0, 0, -60).Format("2006/01/02")
	for _, stage := range stages() {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			f := newForgeries(t, stage, []forgingAttack{
				{name: "old-day", claims: true, forge: func(f *forgery) {
					for i := range f.honest {
						f.twin(i, fmt.Sprintf("%s/%s/1030/%06d.log", f.service, old, 1+i), func(_ *blobnaming.Metadata, body []byte) []byte { return body })
						f.twin(i, fmt.Sprintf("%s/%s/-/%06d.log", f.service, old, 1+i), func(_ *blobnaming.Metadata, body []byte) []byte { return body })
					}
					f.put(f.service+"/"+old+"/-/000001.rejected", nil, nil)
				}},
				{name: "class", claims: true, forge: func(f *forgery) {
					for i := range f.honest {
						f.twin(i, f.name("1000", 1+i), func(m *blobnaming.Metadata, body []byte) []byte { m.Class = "short"; return body })
					}
				}},
				{name: "marker", forge: func(f *forgery) {
					f.put(f.chain("short", 1), nil, nil)
					f.put(f.service+"/"+f.day.Format("2006/01/02")+"/short/000001.rejected", nil, nil)
				}},
			})
			f.forge()
			for range 2 {
				f.must(t, "shipper", "retain", "--keep", "30d", "--class", "short=1d")
				f.check("retained")
				f.check("retained", "--plan", "index")
				f.checkStored("retained", false)
			}
			for _, b := range f.list(f.owner.Blobs()) {
				if strings.Contains(b.Name, old) {
					t.Errorf("%s is kept", b.Name)
				}
			}
		})
	}
}

// TestForgeDirectory creates names in a directory store that would be in its compacted container.
func TestForgeDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s := target{store: dir, dir: dir}
	s.ship(t, "api", time.Now().UTC().AddDate(0, 0, -2).Format(time.RFC3339)+" INFO honest\n")
	raw, err := local.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Close(t, raw)
	for _, name := range []string{"_compacted/api/2026/01/01/-/000001.log", "api/../_compacted/api/2026/01/01/-/000001.log", "_compacted/x", ".logstow/store.db"} {
		if _, err := raw.Blobs().Create(t.Context(), name, []byte("x"), store.CreateOptions{}); err == nil {
			t.Errorf("%s was created", name)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "_compacted"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "_compacted"), 0o777); err != nil {
		t.Fatal(err)
	}
	if r := s.command(t, nil, "shipper", "compact", "--after", "0s"); r.status != 3 || !strings.Contains(r.errs, "_compacted") {
		t.Errorf("with a writable _compacted: status %d, standard error:\n%s", r.status, r.errs)
	}
}
