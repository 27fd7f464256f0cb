package retention_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/internal/test/azurite"
	"logstow/internal/test/catalogtest"
	"logstow/internal/test/effort"
	"logstow/internal/test/storetest"
	"logstow/record"
	"logstow/retention"
	"logstow/store"
	"logstow/store/azure"
	"logstow/tableindex"
)

func TestMain(m *testing.M) { os.Exit(azurite.Main(m)) }

// began is when the tests began.
//
//nolint:gochecknoglobals // the same in all tests, also when a day ends during one
var began = time.Now().UTC()

// firstDay is the day on which the tests began.
func firstDay() time.Time { return began.Truncate(day) }

// clock is the time, which stops at the end of the first day.
func clock() time.Time {
	now, last := time.Now(), firstDay().Add(day-1)
	if now.After(last) {
		return last
	}
	return now
}

// retain is [retention.Run] on the first day: of two clocks the earlier one decides.
func retain(ctx context.Context, s store.Store, p retention.Policy, o retention.Options) (retention.Report, error) {
	if o.Now == nil {
		o.Now = clock
	}
	return retention.Run(ctx, s, p, o)
}

// backends runs a test on both stores at [effort.Full], below on one of them.
func backends(t *testing.T, f func(t *testing.T, s store.Store)) {
	t.Helper()
	open := map[string]func(testing.TB) store.Store{
		"local":   storetest.OpenLocal,
		"azurite": openAzure,
	}
	kinds := effort.Some(t, "local", "azurite")
	if effort.Of() < effort.Test {
		kinds = []string{"local"}
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f(t, open[kind](t))
		})
	}
}

func openAzure(t testing.TB) store.Store {
	t.Helper()
	a := azurite.Start(t)
	return openAs(t, a.ConnectionString(), azure.Options{Container: a.Container()})
}

// openAs opens a store on Azurite with a connection string.
func openAs(t testing.TB, connection string, o azure.Options) store.Store {
	t.Helper()
	cred, err := azure.FromEnv(func(name string) string {
		if name == "AZURE_STORAGE_CONNECTION_STRING" {
			return connection
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Credential = cred
	s, err := azure.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Close(t, s)
	return s
}

// put stores a segment whose metadata has one record, with its entity, and
// returns its name. Retention opens no blob: its bytes do not matter.
func put(t testing.TB, s store.Store, service, class string, bucket time.Time, number uint64) string {
	t.Helper()
	entity := newEntity(service, class, bucket, number)
	if err := putEntities(t.Context(), s, []tableindex.Entity{entity}); err != nil {
		t.Fatal(err)
	}
	return entity.Name.String()
}

func newEntity(service, class string, bucket time.Time, number uint64) tableindex.Entity {
	return tableindex.Entity{
		Name: blobnaming.Name{Service: service, Bucket: bucket, Number: number},
		Meta: blobnaming.Metadata{
			Start: bucket.UnixNano(), End: bucket.UnixNano() + int64(number), Records: 1, RawBytes: 40, Footer: 1,
			Levels: record.Counts{record.Info: 1}, Instance: fmt.Sprintf("pod-%d", number%2), Class: class,
		},
	}
}

// putEntities stores blobs and then their entities.
func putEntities(ctx context.Context, s store.Store, entities []tableindex.Entity) (err error) {
	for i := range entities {
		r := &entities[i]
		name := r.Name.String()
		r.Size = int64(len(name))
		if r.ETag, err = catalogtest.Container(s, name).Create(ctx, name, []byte(name), store.CreateOptions{Metadata: r.Meta.Encode()}); err != nil {
			return err
		}
	}
	return tableindex.Put(ctx, s.Tables(), s.Container(), entities)
}

// state is all that a store holds: blobs, and each table with its entities.
func state(t testing.TB, s store.Store) []string {
	t.Helper()
	var all []string
	for _, b := range catalogtest.List(t, s) {
		all = append(all, b.Name)
	}
	tables, err := tableindex.Tables(t.Context(), s.Tables(), s.Container())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		label := "table " + table.Class + table.Day.Format(time.DateOnly)
		all = append(all, label)
		for entities, err := range tableindex.Entities(t.Context(), s.Tables(), s.Container(), table.Name, "") {
			if err != nil {
				t.Fatal(err)
			}
			for _, entity := range entities {
				all = append(all, label+" "+entity.Name.String())
			}
		}
	}
	slices.Sort(all)
	return all
}

// holding is a store in which a policy holds blobs.
type holding struct {
	store.Store
	held map[string]bool
}

func (h holding) Blobs() store.Blobs     { return heldBlobs{h.Store.Blobs(), h.held} }
func (h holding) Compacted() store.Blobs { return heldBlobs{h.Store.Compacted(), h.held} }

type heldBlobs struct {
	store.Blobs
	held map[string]bool
}

func (b heldBlobs) Delete(ctx context.Context, versions []store.BlobRef) error {
	free := slices.DeleteFunc(slices.Clone(versions), func(v store.BlobRef) bool { return b.held[v.Name] })
	err := b.Blobs.Delete(ctx, free)
	if len(free) < len(versions) {
		err = errors.Join(err, &store.Error{Op: "delete", Object: "blob", Class: store.ErrHeld, Code: "BlobImmutableDueToLegalHold"})
	}
	return err
}
