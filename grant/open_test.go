package grant_test

import (
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/grant"
	"logstow/internal/hint"
	"logstow/store"
	"logstow/store/azure"
	"logstow/tableindex"
)

// TestRead runs queries with a grant: all of them answered from the service, by
// listing and by the index, and nothing else to be had.
func TestRead(t *testing.T) {
	t.Parallel()
	s := owner(t)
	now := time.Now()
	put(t, s, "api", "", now, "today")
	put(t, s, "api", "audit", now.Add(-24*time.Hour), "yesterday")
	path := written(t, makeGrant(t, s, grant.Read, "api"))
	reader := open(t, path)
	if got, want := reader.String(), "grant://"+path; got != want {
		t.Errorf("String() = %s, want %s", got, want)
	}
	from, to := now.Add(-30*time.Hour), now.Add(time.Hour)
	for _, plan := range []string{"list", "index"} {
		for _, services := range [][]string{nil, {"api"}, {"a*"}} {
			messages, problems := ask(t, reader, plan, from, to, services...)
			if diff := cmp.Diff([]string{"today", "yesterday"}, messages); diff != "" || problems != nil {
				t.Errorf("plan %s, services %v (-want +got):\n%s\nproblems: %v", plan, services, diff, problems)
			}
		}
	}
	if expiry, ok := reader.Expires(); !ok || time.Until(expiry) > 2*time.Hour || time.Until(expiry) < time.Hour {
		t.Errorf("Expires() = %s, %v", expiry, ok)
	}
	// Another service is reported as outside, not as empty.
	messages, problems := ask(t, reader, "list", from, to, "billing")
	if messages != nil || len(problems) == 0 || !errors.Is(errors.Join(problems...), store.ErrAccessDenied) || !strings.Contains(problems[0].Error(), "is for api/ only") {
		t.Errorf("billing: found %v, problems %v, want ErrAccessDenied", messages, problems)
	}
}

// TestReadCompacted reads outputs of compaction with a grant, which are limited as other blobs are.
func TestReadCompacted(t *testing.T) {
	t.Parallel()
	s := owner(t)
	put(t, s, "api", "", time.Now(), "hello")
	g := makeGrant(t, s, grant.Read, "api")
	reader := open(t, written(t, g))
	if err := drain(reader.Compacted().List(t.Context(), "api/")); !errors.Is(err, store.ErrNoContainer) {
		t.Errorf("nothing compacted yet: %v", err)
	}
	name := putOutput(t, s, "api")
	for page, err := range reader.Compacted().List(t.Context(), "api/") {
		if err != nil || len(page) != 1 || page[0].Name != name {
			t.Fatalf("listed %+v, %v", page, err)
		}
		if got, err := reader.Compacted().Read(t.Context(), page[0].Ref(), 0, int64(len(name))); err != nil || string(got) != name {
			t.Errorf("read %q, %v", got, err)
		}
	}
	putOutput(t, s, "billing")
	for what, err := range map[string]error{
		"list of another service": drain(reader.Compacted().List(t.Context(), "billing/")),
		"delete":                  reader.Compacted().Delete(t.Context(), store.AnyVersion(name)),
	} {
		if !errors.Is(err, store.ErrAccessDenied) {
			t.Errorf("%s: got %v, want ErrAccessDenied", what, err)
		}
		checkClean(t, err, g)
	}
}

// putOutput stores a blob with the name of an output of compaction, and returns its name.
func putOutput(t *testing.T, s *azure.Store, service string) string {
	t.Helper()
	name := service + "/2026/11/21/-/000001.log"
	if _, err := s.Compacted().Create(t.Context(), name, []byte(name), store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return name
}

// bare is a store with one signature of a grant, without what the grant's own store refuses.
func bare(t *testing.T, g *grant.Grant, container string, sas azure.Secret) *azure.Store {
	t.Helper()
	return openAzure(t, azure.Options{Container: container, Credential: azure.Credential{
		Account: g.Account, BlobEndpoint: g.BlobEndpoint, TableEndpoint: g.TableEndpoint, SAS: sas,
	}})
}

// TestStorageRefuses uses the signatures by themselves for what they are not for.
// Azurite does not look at the partitions of a table's signature: see package azurite.
func TestStorageRefuses(t *testing.T) {
	t.Parallel()
	s, other := owner(t), owner(t)
	now := time.Now()
	entity := put(t, s, "api", "", now, "hello")
	put(t, other, "api", "", now, "not mine")
	putOutput(t, s, "api")
	table, key := entity.Table(s.Container()), entity.Key()
	create := func(s store.Store, name string) error {
		_, err := s.Blobs().Create(t.Context(), name, []byte("x"), store.CreateOptions{})
		return err
	}
	read := func(s store.Store) error {
		_, err := s.Blobs().Read(t.Context(), store.BlobRef{Name: entity.Name.String()}, 0, 1)
		return err
	}
	list := func(s store.Store) error { return drain(s.Blobs().List(t.Context(), "api/")) }
	query := func(s store.Store, table string) error {
		return drain(s.Tables().Query(t.Context(), table, store.Query{Partition: key.Partition}))
	}
	for _, kind := range []grant.Kind{grant.Read, grant.Create} {
		g := makeGrant(t, s, kind, "api")
		blobs, entities := bare(t, g, s.Container(), g.Blobs), bare(t, g, s.Container(), g.Tables[table])
		elsewhere := bare(t, g, other.Container(), g.Blobs)
		foreign := tableindex.TableName(other.Container(), "", now)
		allowed := map[string]error{"read": read(blobs), "list": list(blobs), "query": query(entities, table)}
		refused := map[string]error{
			"create": create(blobs, "api/2026/01/01/0000/000009.log"), "insert or replace": putEntity(t, g, table, table, key),
		}
		if kind == grant.Create {
			allowed, refused = refused, allowed
		}
		outputs := func(sas azure.Secret) store.Blobs { return bare(t, g, s.Container(), sas).Compacted() }
		createOutput := func(sas azure.Secret) error {
			_, err := outputs(sas).Create(t.Context(), "api/2026/01/01/-/000009.log", nil, store.CreateOptions{})
			return err
		}
		refused["list outputs with the blobs' signature"] = drain(outputs(g.Blobs).List(t.Context(), "api/"))
		refused["create an output with the blobs' signature"] = createOutput(g.Blobs)
		if kind == grant.Read {
			allowed["list outputs"] = drain(outputs(g.Compacted).List(t.Context(), "api/"))
			refused["list blobs with the outputs' signature"] = list(bare(t, g, s.Container(), g.Compacted))
			refused["create an output"] = createOutput(g.Compacted)
		}
		refused["overwrite"] = create(blobs, entity.Name.String())
		refused["delete"] = blobs.Blobs().Delete(t.Context(), store.AnyVersion(entity.Name.String()))
		refused["read elsewhere"], refused["list elsewhere"] = read(elsewhere), list(elsewhere)
		refused["create elsewhere"] = create(elsewhere, "api/2026/01/01/0000/000009.log")
		refused["query with the blobs' signature"] = query(blobs, table)
		refused["query another table"] = query(entities, foreign)
		refused["write to another table"] = putEntity(t, g, table, foreign, key)
		refused["remove"] = entities.Tables().Remove(t.Context(), table, []store.Key{key})
		refused["drop"] = entities.Tables().DropTable(t.Context(), table)
		refused["create a table"] = entities.Tables().CreateTable(t.Context(), "t"+strings.ReplaceAll(s.Container(), "-", ""))
		for what, err := range allowed {
			if err != nil {
				t.Errorf("%s: %s: %v", kind, what, err)
			}
		}
		for what, err := range refused {
			if !errors.Is(err, store.ErrAccessDenied) {
				t.Errorf("%s: %s: got %v, want ErrAccessDenied", kind, what, err)
			}
			checkClean(t, err, g)
		}
	}
}

// putEntity inserts or replaces an entity without properties with the signature of a
// table of the grant: not as a transaction, because Azurite takes none with such a
// signature, see package azurite.
func putEntity(t *testing.T, g *grant.Grant, signed, table string, key store.Key) error {
	t.Helper()
	address := fmt.Sprintf("%s/%s(PartitionKey='%s',RowKey='%s')?%s", g.TableEndpoint, table, url.PathEscape(key.Partition), url.PathEscape(key.Row), g.Tables[signed].Reveal())
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, address, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json", "x-ms-version": "2019-02-02", "DataServiceVersion": "3.0"} {
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal("no answer") // the error holds the signature
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusNoContent:
		return nil
	case http.StatusForbidden:
		return store.ErrAccessDenied
	default:
		return fmt.Errorf("answered %s", resp.Status)
	}
}

// drain is the error of a sequence.
func drain[T any](pages iter.Seq2[T, error]) error {
	for _, err := range pages {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkClean fails for an error with a signature in it.
func checkClean(t *testing.T, err error, g *grant.Grant) {
	t.Helper()
	if err == nil {
		return
	}
	text := fmt.Sprintf("%v %+v %#v %s", err, err, err, hint.Text(err))
	if strings.Contains(text, "sig=") || strings.Contains(text, g.Blobs.Reveal()) || g.Compacted.Set() && strings.Contains(text, g.Compacted.Reveal()) {
		t.Errorf("a signature in %s", text)
	}
}

// TestCreate ships with a grant: segments and entities of the days that it names; an
// entity of another day is invalid, so that a shipper goes on without it.
func TestCreate(t *testing.T) {
	t.Parallel()
	s := owner(t)
	put(t, s, "billing", "", time.Now(), "of another service")
	g := makeGrant(t, s, grant.Create, "api")
	path := written(t, g)
	shipper := open(t, path)
	now := time.Now()
	entity := putBlob(t, shipper, "api", "audit", now.Add(-24*time.Hour), "shipped")
	if messages, problems := ask(t, s, "list", now.Add(-48*time.Hour), now.Add(time.Hour), "api"); len(messages) != 1 || problems != nil {
		t.Errorf("shipped: %v, problems %v", messages, problems)
	}
	if err := putEntity(t, g, entity.Table(s.Container()), entity.Table(s.Container()), entity.Key()); err != nil {
		t.Errorf("entity: %v", err)
	}
	old := entity
	old.Name.Bucket = old.Name.Bucket.AddDate(0, 0, -30)
	old.Meta.Start -= int64(30 * 24 * time.Hour)
	old.Meta.End -= int64(30 * 24 * time.Hour)
	if err := tableindex.Put(t.Context(), shipper.Tables(), shipper.Container(), []tableindex.Entity{old}); !errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrAccessDenied) {
		t.Errorf("an entity of another day: got %v, want ErrInvalid", err)
	}
	for what, err := range map[string]error{
		"read": func() error {
			_, err := shipper.Blobs().Read(t.Context(), store.BlobRef{Name: entity.Name.String()}, 0, 1)
			return err
		}(),
		"list":         drain(shipper.Blobs().List(t.Context(), "api/")),
		"list outputs": drain(shipper.Compacted().List(t.Context(), "api/")),
		"create an output": func() error {
			_, err := shipper.Compacted().Create(t.Context(), "api/2026/11/21/-/000001.log", nil, store.CreateOptions{})
			return err
		}(),
		"list all":                  drain(shipper.Blobs().List(t.Context(), "")),
		"delete":                    shipper.Blobs().Delete(t.Context(), store.AnyVersion(entity.Name.String())),
		"delete of another service": shipper.Blobs().Delete(t.Context(), []store.BlobRef{{Name: "billing/2026/01/01/0000/000001.log"}}),
		"of another service": func() error {
			_, err := shipper.Blobs().Create(t.Context(), "billing/x", nil, store.CreateOptions{})
			return err
		}(),
		"query":                     drain(shipper.Tables().Query(t.Context(), entity.Table(s.Container()), store.Query{Partition: entity.Key().Partition})),
		"entity of another service": shipper.Tables().Upsert(t.Context(), entity.Table(s.Container()), []store.Entity{{Key: store.Key{Partition: "billing|00", Row: entity.Key().Row}}}),
		"drop":                      shipper.Tables().DropTable(t.Context(), entity.Table(s.Container())),
		"query without table":       drain(shipper.Tables().Query(t.Context(), "segments0", store.Query{Partition: entity.Key().Partition})),
	} {
		if !errors.Is(err, store.ErrAccessDenied) || strings.Contains(what, "another service") != strings.Contains(fmt.Sprint(err), "is for api/ only") {
			t.Errorf("%s: got %v, want ErrAccessDenied", what, err)
		}
		checkClean(t, err, g)
	}
}

// TestRenewed replaces an ended grant under an open store.
func TestRenewed(t *testing.T) {
	t.Parallel()
	s := owner(t)
	put(t, s, "api", "", time.Now(), "hello")
	good := makeGrant(t, s, grant.Read, "api")
	ended := *good
	ended.Expires = time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	var err error
	if ended.Blobs, err = s.SignBlobs(t.Context(), s.Container(), "", "rl", ended.Expires); err != nil {
		t.Fatal(err)
	}
	path := written(t, &ended)
	reader := open(t, path)
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	_, problems := ask(t, reader, "list", from, to, "api")
	err = errors.Join(problems...)
	if !errors.Is(err, store.ErrAccessDenied) || !strings.Contains(hint.Text(err), "expired at "+ended.Expires.Format(time.RFC3339)) || !strings.Contains(hint.Text(err), "the grant in "+path) {
		t.Errorf("with an ended grant: %v", err)
	}
	checkClean(t, err, &ended)
	write(t, path, good)
	if messages, problems := ask(t, reader, "list", from, to, "api"); len(messages) != 1 || problems != nil {
		t.Errorf("with a new grant: %v, problems %v", messages, problems)
	}
}

// TestRenewedUnseen: a grant that ends soon is read again whether its file looks changed
// or not: some file systems report the same time and size of what was replaced.
func TestRenewedUnseen(t *testing.T) {
	t.Parallel()
	s := owner(t)
	put(t, s, "api", "", time.Now(), "hello")
	made := makeGrant(t, s, grant.Read, "api")
	path := written(t, made)
	synctest.Test(t, func(t *testing.T) {
		overwrite := func(expires time.Time) {
			made.Expires = expires
			text, err := made.Encode()
			if err == nil {
				err = os.WriteFile(path, text, 0o600)
			}
			if err = errors.Join(err, os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0))); err != nil {
				t.Fatal(err)
			}
		}
		soon, later := time.Now().Add(time.Minute), time.Now().Add(time.Hour)
		overwrite(soon)
		reader, err := grant.Open(t.Context(), path, grant.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		overwrite(later)
		time.Sleep(10 * time.Second)
		if g, err := reader.Grant(); err != nil || !g.Expires.Equal(later) {
			t.Errorf("%v, ends %v, want the new one", err, g.Expires)
		}
	})
}

// TestReplaced: a grant for elsewhere under an open store is not used, and is reported.
func TestReplaced(t *testing.T) {
	t.Parallel()
	s, other := owner(t), owner(t)
	put(t, s, "api", "", time.Now(), "hello")
	put(t, other, "api", "", time.Now(), "elsewhere")
	good := makeGrant(t, s, grant.Read, "api")
	path := written(t, good)
	reader := open(t, path)
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	service, endpoint := *good, *good
	service.Service, service.Directory = "billing", "billing"
	endpoint.BlobEndpoint = "http://127.0.0.1:9/a"
	for name, g := range map[string]*grant.Grant{
		"container": makeGrant(t, other, grant.Read, "api"), "kind": makeGrant(t, s, grant.Create, "api"), "service": &service, "endpoint": &endpoint,
	} {
		write(t, path, g)
		_, problems := ask(t, reader, "list", from, to, "api")
		if err := errors.Join(problems...); !errors.Is(err, store.ErrAccessDenied) || !strings.Contains(hint.Text(err), "restart to use it") {
			t.Errorf("another %s: %v, want ErrAccessDenied", name, err)
		}
	}
	write(t, path, good)
	if messages, problems := ask(t, reader, "list", from, to, "api"); len(messages) != 1 || problems != nil {
		t.Errorf("the same again: %v, problems %v", messages, problems)
	}
}

// TestNarrowDirectory: what is above a grant's directory holds it alone, what is
// beside it is refused, without a request.
func TestNarrowDirectory(t *testing.T) {
	t.Parallel()
	s := owner(t)
	r := request(grant.Read, "api")
	r.From, r.To = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	g, err := grant.Make(t.Context(), hierarchical{s}, r)
	if err != nil {
		t.Fatal(err)
	}
	reader := open(t, written(t, g))
	for prefix, want := range map[string]string{"": "api/", "a": "api/", "api/": "api/2026/", "api/2026/11/": "api/2026/11/21/"} {
		for names, err := range reader.Blobs().ListPrefixes(t.Context(), prefix) {
			if diff := cmp.Diff([]string{want}, names); diff != "" || err != nil {
				t.Errorf("under %q: (-want +got):\n%s\nerror: %v", prefix, diff, err)
			}
		}
	}
	for _, prefix := range []string{"", "api/", "api/2026/11/", "api/2026/11/20/", "api/2026/11/211", "billing/"} {
		err := drain(reader.Blobs().List(t.Context(), prefix))
		if !errors.Is(err, store.ErrAccessDenied) || !strings.Contains(hint.Text(err), "is for api/2026/11/21/ only") {
			t.Errorf("list %q: got %v, want ErrAccessDenied", prefix, err)
		}
	}
	if err := drain(reader.Blobs().ListPrefixes(t.Context(), "billing/")); !errors.Is(err, store.ErrAccessDenied) {
		t.Errorf("names under billing/: got %v, want ErrAccessDenied", err)
	}
}

func TestOpenRejects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const compacted = `"compacted_sas":"sig=CANARY",`
	for name, content := range map[string]string{
		"of an earlier version": `{"logstow_grant":1,"kind":"read","service":"api","directory":"api","account":"a","blob_endpoint":"https://h","table_endpoint":"https://h","container":"logs","blobs_sas":"sig=CANARY"}`,
		"not compacted":         `{"logstow_grant":2,"kind":"read","service":"api","directory":"api","account":"a","blob_endpoint":"https://h","table_endpoint":"https://h","container":"logs","blobs_sas":"sig=CANARY"}`,
		"shipper of outputs":    `{"logstow_grant":2,` + compacted + `"kind":"create","service":"api","directory":"api","account":"a","blob_endpoint":"https://h","table_endpoint":"https://h","container":"logs","blobs_sas":"sig=CANARY"}`,
		"missing":               "", "text": "CANARY", "empty": "{}", "version": `{"logstow_grant":9,"blobs_sas":"sig=CANARY"}`,
		"unsigned":     `{"logstow_grant":2,` + compacted + `"kind":"read","service":"api","directory":"api","container":"logs","blobs_sas":"CANARY"}`,
		"neighbour":    `{"logstow_grant":2,` + compacted + `"kind":"read","service":"api","directory":"api-v2","account":"a","blob_endpoint":"https://h","table_endpoint":"https://h","container":"logs","blobs_sas":"sig=CANARY"}`,
		"no signature": `{"logstow_grant":2,` + compacted + `"kind":"read","service":"api","directory":"api","account":"a","blob_endpoint":"https://h","table_endpoint":"https://h","container":"logs","blobs_sas":"sp=rl&CANARY"}`,
		"table":        `{"logstow_grant":2,` + compacted + `"kind":"read","service":"api","directory":"api","account":"a","blob_endpoint":"https://h","table_endpoint":"https://h","container":"logs","blobs_sas":"sig=x","tables_sas":{"segments0":"CANARY"}}`,
		"not a table":  `{"logstow_grant":2,` + compacted + `"kind":"read","service":"api","directory":"api","account":"a","blob_endpoint":"https://h","table_endpoint":"https://h","container":"logs","blobs_sas":"sig=x","tables_sas":{"x/../y":"sig=CANARY"}}`,
		"escape":       `{"logstow_grant":2,` + compacted + `"kind":"read","service":"api","directory":"billing","container":"logs","blobs_sas":"sig=CANARY"}`,
		"nowhere":      `{"logstow_grant":2,` + compacted + `"kind":"read","service":"api","directory":"api","container":"logs","blobs_sas":"sig=CANARY"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(dir, name)
			if name != "missing" {
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, err := grant.Open(t.Context(), path, grant.Options{})
			if s != nil || !errors.Is(err, store.ErrAccessDenied) || !strings.Contains(hint.Text(err), path) || strings.Contains(hint.Text(err), "CANARY") {
				t.Errorf("got %v, %v, want ErrAccessDenied", s, err)
			}
			if name == "of an earlier version" && !strings.Contains(hint.Text(err), "unsupported grant version 1: this program supports 2; make a new grant with shipper grant") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"logstow_grant":2,"kind":"read","service":"api","directory":"api","container":"logs","blobs_sas":"sig=x","compacted_sas":"sig=z","tables_sas":{"segments0":"sig=y"}}`))
	f.Add([]byte(`{"logstow_grant":3}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		g, err := grant.Parse(text)
		if err != nil {
			return
		}
		again, err := g.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if g2, err := grant.Parse(again); err != nil || g2.Directory != g.Directory || g2.Blobs.Reveal() != g.Blobs.Reveal() || g2.Compacted.Reveal() != g.Compacted.Reveal() || len(g2.Tables) != len(g.Tables) {
			t.Errorf("written and read again: %v, %v", g2, err)
		}
	})
}
