package azure_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"logstow/store"
	"logstow/store/azure"
)

// The operations that a test of answers can be about.
const (
	create      = "create"
	read        = "read"
	list        = "list"
	deletion    = "delete"
	createTable = "create table"
	dropTable   = "drop table"
	query       = "query"
	upsert      = "upsert"
	remove      = "remove"
	tables      = "tables"
)

// do carries out an operation and returns its error.
func do(ctx context.Context, s *azure.Store, operation string) error {
	name := tableName(s.Container())
	switch operation {
	case create:
		_, err := s.Blobs().Create(ctx, "a/b.log", []byte("x"), store.CreateOptions{})
		return err
	case read:
		_, err := s.Blobs().Read(ctx, store.BlobRef{Name: "a/b.log"}, 0, 1)
		return err
	case list:
		return last(s.Blobs().List(ctx, "a/"))
	case deletion:
		return s.Blobs().Delete(ctx, store.AnyVersion("a/b.log"))
	case createTable:
		return s.Tables().CreateTable(ctx, name)
	case dropTable:
		return s.Tables().DropTable(ctx, name)
	case query:
		return last(s.Tables().Query(ctx, name, store.Query{Partition: "p"}))
	case upsert:
		return s.Tables().Upsert(ctx, name, []store.Entity{{Key: store.Key{Partition: "p", Row: "r"}}})
	case remove:
		return s.Tables().Remove(ctx, name, []store.Key{{Partition: "p", Row: "r"}})
	case tables:
		return last(s.Tables().Tables(ctx, "s"))
	default:
		return errors.New("no operation " + operation)
	}
}

// last is the error that ends a listing.
func last[T any](pages func(func(T, error) bool)) error {
	var last error
	pages(func(_ T, err error) bool {
		last = err
		return true
	})
	return last
}

// answering opens a store that is always given the same answer, and counts the requests.
func answering(t *testing.T, status int, code string, header http.Header) (*azure.Store, *int) {
	t.Helper()
	requests := 0
	cred := fromConnection(t, "AccountName=acct;SharedAccessSignature="+testSAS)
	s, err := azure.Open(t.Context(), azure.Options{
		Container: "logs", Credential: cred,
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			requests++
			h := http.Header{"X-Ms-Request-Id": {"request-1"}}
			for k, v := range header {
				h[k] = v
			}
			if code != "" {
				h["X-Ms-Error-Code"] = []string{code}
			}
			body := fmt.Sprintf("<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>Said of %s.\nRequestId:1</Message></Error>", code, r.URL.RawQuery)
			return &http.Response{
				StatusCode: status, Status: http.StatusText(status), Header: h, Request: r,
				Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
			}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, &requests
}

func TestClasses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		operation string
		status    int
		code      string
		want      error // nil: no error
	}{
		{create, 409, "BlobAlreadyExists", store.ErrExists},
		{create, 412, "ConditionNotMet", store.ErrExists},
		{create, 412, "", store.ErrExists},
		{create, 412, "LeaseIdMissing", store.ErrExists},
		{create, 403, "UnauthorizedBlobOverwrite", store.ErrExists},
		{create, 409, "BlobImmutableDueToPolicy", store.ErrExists},
		{create, 409, "BlobImmutableDueToLegalHold", store.ErrExists},
		{create, 403, "AuthenticationFailed", store.ErrAccessDenied},
		{create, 403, "AuthorizationFailure", store.ErrAccessDenied},
		{create, 403, "AuthorizationPermissionMismatch", store.ErrAccessDenied},
		{create, 403, "KeyBasedAuthenticationNotPermitted", store.ErrAccessDenied},
		{create, 403, "AccountIsDisabled", store.ErrAccessDenied},
		{create, 409, "PublicAccessNotPermitted", store.ErrAccessDenied},
		{create, 400, "InvalidAuthenticationInfo", store.ErrAccessDenied},
		{create, 401, "NoAuthenticationInformation", store.ErrAccessDenied},
		{create, 403, "", store.ErrAccessDenied},
		{create, 409, "ContainerBeingDeleted", store.ErrUnavailable},
		{create, 409, "InvalidBlobType", store.ErrInvalid},
		{create, 400, "InvalidMetadata", store.ErrInvalid},
		{create, 400, "Crc64Mismatch", store.ErrUnavailable},
		{create, 400, "Md5Mismatch", store.ErrUnavailable},
		{create, 413, "RequestBodyTooLarge", store.ErrInvalid},
		{create, 411, "MissingContentLengthHeader", store.ErrInvalid},
		{create, 429, "", store.ErrThrottled},
		{create, 503, "ServerBusy", store.ErrThrottled},
		{create, 503, "", store.ErrThrottled},
		{create, 500, "OperationTimedOut", store.ErrUnavailable},
		{create, 500, "InternalError", store.ErrUnavailable},
		{create, 502, "", store.ErrUnavailable},
		{create, 408, "", store.ErrUnavailable},
		{create, 302, "", store.ErrUnavailable}, // a captive portal, not storage
		{create, 501, "", store.ErrInvalid},
		{create, 400, "", store.ErrUnavailable}, // a proxy, not storage
		{create, 407, "", store.ErrUnavailable},
		{create, 405, "", store.ErrUnavailable},
		{create, 413, "", store.ErrInvalid}, // a proxy's too, but about this body
		{upsert, 400, "", store.ErrUnavailable},
		{read, 404, "BlobNotFound", store.ErrNotFound},
		{read, 404, "ContainerNotFound", store.ErrNoContainer},
		{read, 404, "ResourceNotFound", store.ErrNotFound},
		{read, 404, "", store.ErrNotFound},
		{read, 416, "InvalidRange", store.ErrRange},
		{read, 416, "", store.ErrRange},
		{read, 409, "BlobArchived", store.ErrInvalid},
		{list, 404, "ContainerNotFound", store.ErrNoContainer},
		{list, 404, "ResourceNotFound", store.ErrNoContainer},
		{list, 403, "AuthorizationResourceTypeMismatch", store.ErrAccessDenied},
		{deletion, 404, "ContainerNotFound", store.ErrNoContainer},
		{deletion, 403, "AuthorizationPermissionMismatch", store.ErrAccessDenied},
		{deletion, 503, "ServerBusy", store.ErrThrottled},
		{deletion, 409, "BlobImmutableDueToPolicy", store.ErrHeld},
		{deletion, 409, "BlobImmutableDueToLegalHold", store.ErrHeld},
		{deletion, 412, "LeaseIdMissing", store.ErrHeld},
		{deletion, 409, "SnapshotsPresent", store.ErrHeld},
		{createTable, 409, "TableAlreadyExists", nil},
		{createTable, 409, "TableBeingDeleted", store.ErrTableBusy},
		{createTable, 403, "AuthorizationPermissionMismatch", store.ErrAccessDenied},
		{dropTable, 404, "ResourceNotFound", nil},
		{dropTable, 404, "TableNotFound", nil},
		{dropTable, 409, "TableBeingDeleted", nil},
		{dropTable, 403, "AuthorizationFailure", store.ErrAccessDenied},
		{query, 404, "TableNotFound", store.ErrNoTable},
		{query, 404, "", store.ErrNoTable},
		{query, 400, "InvalidInput", store.ErrInvalid},
		{upsert, 404, "TableNotFound", store.ErrNoTable},
		{upsert, 404, "ResourceNotFound", store.ErrNoTable},
		{upsert, 409, "TableBeingDeleted", store.ErrTableBusy},
		{upsert, 413, "RequestBodyTooLarge", store.ErrInvalid},
		{upsert, 400, "EntityTooLarge", store.ErrInvalid},
		{upsert, 503, "ServerBusy", store.ErrThrottled},
		{remove, 404, "TableNotFound", store.ErrNoTable},
		{tables, 403, "AuthorizationServiceMismatch", store.ErrAccessDenied},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %d %s", tt.operation, tt.status, tt.code), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // retries wait no real time
				s, _ := answering(t, tt.status, tt.code, nil)
				err := do(t.Context(), s, tt.operation)
				if !errors.Is(err, tt.want) {
					t.Fatalf("got %v, want class %v", err, tt.want)
				}
				if tt.want == nil {
					return
				}
				var e *store.Error
				if !errors.As(err, &e) || !errors.Is(e.Class, tt.want) || e.Status != tt.status || e.Code != tt.code || e.RequestID != "request-1" {
					t.Errorf("got %#v", e)
				}
				checkClean(t, err)
			})
		})
	}
}

// TestTries counts requests: a create is never repeated, the rest at most twice.
func TestTries(t *testing.T) {
	t.Parallel()
	for operation, want := range map[string]int{create: 1, read: 3, list: 3, query: 3, upsert: 3} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, requests := answering(t, 503, "ServerBusy", nil)
				start := time.Now()
				err := do(t.Context(), s, operation)
				if !errors.Is(err, store.ErrThrottled) || *requests != want {
					t.Errorf("%d requests, error %v, want %d and ErrThrottled", *requests, err, want)
				}
				if took := time.Since(start); took > 10*time.Second {
					t.Errorf("took %s", took)
				}
			})
		})
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"17": 17 * time.Second, "": 0, "soon": 0, "-1": 0,
		"Sat, 01 Jan 2000 00:01:00 GMT": time.Minute, // the clock of synctest starts at midnight
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, _ := answering(t, 429, "", http.Header{"Retry-After": {value}})
				err := do(t.Context(), s, create)
				var e *store.Error
				if !errors.As(err, &e) || e.RetryAfter != want {
					t.Errorf("got %v from %v, want %s", e.RetryAfter, err, want)
				}
			})
		})
	}
}

func TestHints(t *testing.T) {
	t.Parallel()
	tests := []struct {
		operation string
		status    int
		code      string
		date      string // of the answer
		says      string
	}{
		{create, 403, "AuthorizationPermissionMismatch", "", "permission c"},
		{list, 403, "AuthorizationPermissionMismatch", "", "permission l"},
		{query, 403, "AuthorizationPermissionMismatch", "", "permission r"},
		{upsert, 403, "AuthorizationPermissionMismatch", "", "permission a"},
		{list, 403, "AuthorizationFailure", "", "network rules"},
		{list, 403, "AuthorizationServiceMismatch", "", "ss=bt"},
		{list, 403, "AuthorizationSourceIPMismatch", "", "excludes this address"},
		{list, 403, "KeyBasedAuthenticationNotPermitted", "", "managed identity"},
		{list, 404, "ContainerNotFound", "", "create the container logs"},
		{read, 403, "AuthenticationFailed", "", "SAS is complete"},
		{read, 403, "AuthenticationFailed", "Sat, 01 Jan 2000 01:00:00 GMT", "clock is off by -1h0m0s"},
		{read, 409, "BlobArchived", "", "archive tier"},
	}
	for _, tt := range tests {
		t.Run(tt.operation+" "+tt.code, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, _ := answering(t, tt.status, tt.code, http.Header{"Date": {tt.date}})
				err := do(t.Context(), s, tt.operation)
				var e *store.Error
				if !errors.As(err, &e) || !strings.Contains(e.Hint, tt.says) {
					t.Errorf("got %v, want a hint with %q", err, tt.says)
				}
			})
		})
	}
}
