package e2e

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/internal/test/effort"
	"logstow/record"
	"logstow/store"
	"logstow/tableindex"
)

// indexAttacks write entities into the raw index tables of their service, which a shipper may do.
func indexAttacks() []forgingAttack {
	return []forgingAttack{
		{name: "untouched", forge: func(*forgery) {}},
		{name: "levels", forge: func(f *forgery) {
			f.entities(func(e *tableindex.Entity) { e.Meta.Levels = record.Counts{record.Debug: e.Meta.Records} })
		}, verify: "wrong-entity"},
		{name: "counts", forge: func(f *forgery) {
			f.entities(func(e *tableindex.Entity) {
				e.Meta.Records, e.Meta.Levels, e.Meta.RawBytes = 1, record.Counts{record.Info: 1}, record.MinText
			})
		}, verify: "wrong-entity"},
		{name: "start", forge: func(f *forgery) { f.entities(func(e *tableindex.Entity) { e.Meta.Start = e.Meta.End }) }, verify: "wrong-entity"},
		{name: "batch", forge: func(f *forgery) { f.entities(func(e *tableindex.Entity) { e.Meta.Batch[0]++ }) }, verify: "wrong-entity"},
		{name: "etag", forge: func(f *forgery) { f.entities(func(e *tableindex.Entity) { e.ETag = "0x0" }) }, verify: "wrong-entity"},
		{name: "second", forge: func(f *forgery) { f.entities(func(e *tableindex.Entity) { e.Meta.End -= 1e9 }) }, verify: "stray-entity"},
		{name: "gone", forge: func(f *forgery) { f.entities(func(e *tableindex.Entity) { e.Name.Number = 77 }) }, verify: "stray-entity"},
		{name: "twin", forge: func(f *forgery) {
			f.entities(func(e *tableindex.Entity) {
				e.Name.Number, e.Meta.Levels = 77, record.Counts{record.Debug: e.Meta.Records}
			})
		}, verify: "stray-entity"},
		{name: "output", forge: func(f *forgery) {
			f.properties("1030_000001", "LogVersion", blobnaming.VersionOutput, "Origins", int64(1))
		}, verify: "wrong-entity"},
		{name: "output-name", forge: func(f *forgery) {
			f.properties("-_000001", "LogVersion", blobnaming.VersionOutput, "Origins", int64(1), "Blob", f.chain("-", 1), "Instance", "-")
		}, verify: "stray-entity"},
		{name: "garbage", forge: func(f *forgery) {
			f.properties("x", "Batch", "x", "Blob", "../x")
			f.properties("", "V", int64(9))
		}, verify: "stray-entity"},
		{name: "other-service", forge: func(f *forgery) { f.properties("1030_000777", "Blob", "untouched"+f.honest[0].Name[len(f.service):]) }, verify: "stray-entity"},
	}
}

// entities writes entities of the honest segments, after changing them.
func (f *forgery) entities(change func(*tableindex.Entity)) {
	f.t.Helper()
	var all []tableindex.Entity
	for _, s := range f.honest {
		e := catalog.RawEntry(&s.Blob)
		entity := tableindex.Entity{Name: e.Name, Meta: e.Meta, ETag: e.ETag, Size: e.Size}
		change(&entity)
		all = append(all, entity)
	}
	if err := tableindex.Put(f.t.Context(), f.owner.Tables(), f.owner.Container(), all); err != nil {
		f.t.Fatal(err)
	}
}

// properties writes the entity of the first honest segment under another row key, with other properties.
func (f *forgery) properties(row string, pairs ...any) {
	f.t.Helper()
	e := catalog.RawEntry(&f.honest[0].Blob)
	entity := tableindex.Entity{Name: e.Name, Meta: e.Meta, ETag: e.ETag, Size: e.Size}
	key := entity.Key()
	properties := map[string]any{"Type": "segment", "V": int64(1), "Blob": e.Name.String(), "ETag": e.ETag, "Size": e.Size}
	for name, value := range e.Meta.Encode() {
		properties[name] = value
	}
	for _, name := range []string{"Records", "RawBytes", "Seq", "Footer"} {
		var n int64
		if _, err := fmt.Sscan(fmt.Sprint(properties[name]), &n); err != nil {
			f.t.Fatal(err)
		}
		properties[name] = n
	}
	for i := 0; i < len(pairs); i += 2 {
		properties[pairs[i].(string)] = pairs[i+1]
	}
	key.Row = key.Row[:len("0000000000000000000_")] + row
	table := entity.Table(f.owner.Container())
	if err := f.owner.Tables().Upsert(f.t.Context(), table, []store.Entity{{Key: key, Properties: maps.Clone(properties)}}); err != nil {
		f.t.Fatal(err)
	}
}

// TestForgeIndex writes wrong entities. Queries that list, compaction and retention do not read the index; --plan index trusts the
// shippers of a service, and of no other. verify reports what is wrong, and reindex repairs it.
func TestForgeIndex(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "stores forged entities at two stages, and compacts them")
	for _, stage := range []string{stagePlain, stageMerged} {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			f := newForgeries(t, stage, indexAttacks())
			f.forge()
			f.check("forged")
			got := f.query("--plan", "index")
			f.compare("another service by the index", got["untouched"], f.want["untouched"])
			if level := f.query("--plan", "index", "-l", "error+"); stage == stagePlain && (len(level["levels"]) > 0 || len(level["start"]) > 0) {
				t.Errorf("the forged entities have no effect: %d and %d records", len(level["levels"]), len(level["start"]))
			}
			differences, _ := f.differencesOf("forged")
			for _, a := range f.attacks {
				if differences[a.name] != a.verify {
					t.Errorf("verify of %s: %q, want %q", a.name, differences[a.name], a.verify)
				}
			}
			f.reindex()
			f.check("reindexed", "--plan", "index")
			f.forge()
			f.compact()
			f.compact()
			f.check("compacted")
			f.checkStored("compacted", true)
			f.reindex()
			f.check("compacted and reindexed", "--plan", "index")
		})
	}
}

// reindex repairs the index. Only entities of a later version remain.
func (f *forgeries) reindex() {
	f.t.Helper()
	if r := f.command(f.t, nil, "shipper", "reindex"); r.status != 3 || !strings.Contains(r.errs, "1 difference remaining") {
		f.t.Errorf("reindex: status %d, standard error:\n%s", r.status, r.errs)
	}
}
