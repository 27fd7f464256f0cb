package grant_test

import (
	"context"
	"errors"
	"iter"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/grant"
	"logstow/query"
	"logstow/store"
)

// documented is the condition of Microsoft's example "Read or list blobs in named containers
// with a path", less the container's name, which is the scope's.
// https://learn.microsoft.com/azure/storage/blobs/storage-auth-abac-examples
const documented = `
(
 (
  !(ActionMatches{'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read'} AND NOT SubOperationMatches{'Blob.List'})
 )
 OR
 (
  @Resource[Microsoft.Storage/storageAccounts/blobServices/containers/blobs:path] StringStartsWith 'api/'
 )
)
AND
(
 (
  !(ActionMatches{'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read'} AND SubOperationMatches{'Blob.List'})
 )
 OR
 (
  @Request[Microsoft.Storage/storageAccounts/blobServices/containers/blobs:prefix] StringStartsWith 'api/'
 )
)`

func TestCommand(t *testing.T) {
	t.Parallel()
	e := &grant.TooWideError{Service: "api", Account: "acct", Container: "logs", Other: "billing"}
	first, second, _ := strings.Cut(e.Command(), "\n")
	if diff := cmp.Diff(strings.Replace(first, `/containers/logs"`, `/containers/logs-compacted"`, 1), second); diff != "" {
		t.Errorf("the second command (-want +got):\n%s", diff)
	}
	command, condition, found := strings.Cut(first, ` --condition "`)
	condition, ended := strings.CutSuffix(condition, `"`)
	// Quotes of the shell: nothing in between may end them or be expanded.
	if !found || !ended || strings.ContainsAny(condition, "\"$`\\") || strings.Contains(second, "\n") {
		t.Fatalf("command %s", e.Command())
	}
	const want = `az role assignment create --role "Storage Blob Data Reader" --assignee "OBJECT-ID-OF-READER" ` +
		`--scope "$(az storage account show --name acct --query id --output tsv)/blobServices/default/containers/logs" --condition-version 2.0`
	if diff := cmp.Diff(want, command); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
	// Only brackets around a single term and white space may differ.
	plain := func(s string) string {
		s = regexp.MustCompile(`\s+`).ReplaceAllString(s, " ")
		s = regexp.MustCompile(`\s*([()])\s*`).ReplaceAllString(s, "$1")
		return regexp.MustCompile(`\((!\([^()]*\))\)`).ReplaceAllString(s, "$1")
	}
	if diff := cmp.Diff(plain(documented), plain(condition)); diff != "" {
		t.Errorf("condition (-want +got):\n%s", diff)
	}
	if !strings.Contains(e.Error(), "\n"+e.Command()+"\n") {
		t.Errorf("the commands have no lines of their own:\n%v", e)
	}
}

// conditioned is what a role with that condition leaves of a container.
type conditioned struct {
	store.Blobs
	starts string
}

func (c conditioned) check(what, name string) error {
	if strings.HasPrefix(name, c.starts) {
		return nil
	}
	return &store.Error{Op: what, Object: name, Class: store.ErrAccessDenied}
}

func (c conditioned) Read(ctx context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	if err := c.check("read", ref.Name); err != nil {
		return nil, err
	}
	return c.Blobs.Read(ctx, ref, off, n)
}

func (c conditioned) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	if err := c.check("list", prefix); err != nil {
		return func(yield func([]store.Blob, error) bool) { yield(nil, err) }
	}
	return c.Blobs.List(ctx, prefix)
}

func (c conditioned) ListPrefixes(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	if err := c.check("list", prefix); err != nil {
		return func(yield func([]string, error) bool) { yield(nil, err) }
	}
	return c.Blobs.ListPrefixes(ctx, prefix)
}

// TestConditionSuffices: a query of one service never requests more than the
// condition gives, however long its range, and whether there is an answer or not.
func TestConditionSuffices(t *testing.T) {
	t.Parallel()
	s := owner(t)
	now := time.Now()
	put(t, s, "api", "", now.Add(-48*time.Hour), "mine")
	put(t, s, "api-v2", "", now, "not mine")
	reading := query.ReadOnly(s)
	reading.Blobs, reading.Compacted = conditioned{s.Blobs(), "api/"}, conditioned{s.Compacted(), "api/"}
	for _, back := range []time.Duration{time.Minute, 72 * time.Hour, 100 * 365 * 24 * time.Hour} {
		for service, want := range map[string]bool{"api": true, "api-v2": false} {
			q, err := query.New([]query.Store{reading}, query.Selection{Services: []string{service}, From: now.Add(-back), To: now.Add(time.Hour)}, query.Options{})
			if err != nil {
				t.Fatal(err)
			}
			p, err := q.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := q.Run(t.Context(), p, func(query.Match) error { return nil }); err != nil {
				t.Fatal(err)
			}
			_, _, _, err = q.Newest(t.Context())
			report := q.Report()
			if allowed := err == nil && len(report.Problems) == 0; allowed != want {
				t.Errorf("%s of the last %s: newest %v, problems %v", service, back, err, report.Problems)
			}
		}
	}
}

// TestMissingContainer: a shipper gets one, because it cannot make it; to read there is nothing.
func TestMissingContainer(t *testing.T) {
	t.Parallel()
	s := owner(t)
	if g, err := grant.Make(t.Context(), s, request(grant.Read, "api")); g != nil || !errors.Is(err, store.ErrNoContainer) {
		t.Errorf("to read: got %v, %v, want ErrNoContainer", g, err)
	}
	shipper := open(t, written(t, makeGrant(t, s, grant.Create, "api")))
	putBlob(t, shipper, "api", "", time.Now(), "the first")
	if messages, problems := ask(t, s, "list", time.Now().Add(-time.Hour), time.Now().Add(time.Hour)); len(messages) != 1 || problems != nil {
		t.Errorf("shipped: %v, problems %v", messages, problems)
	}
	makeGrant(t, s, grant.Create, "api") // again
}
