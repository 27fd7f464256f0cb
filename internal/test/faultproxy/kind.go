package faultproxy

import (
	"net/http"
	"strings"
)

// Kind is a kind of request.
type Kind uint8

// The kinds of requests.
const (
	Other         Kind = iota
	CreateBlob         // PUT of a blob
	ReadBlob           // GET of a blob or a range of it
	ListBlobs          // a page of names
	DeleteBlobs        // DELETE of a blob, or a batch of them
	WriteEntities      // an entity group transaction, or a single entity written
	ReadEntities       // a page of entities or of tables
	CreatePlace        // create of a container or table
)

// String implements fmt.Stringer.
func (k Kind) String() string {
	names := [...]string{"other", "create blob", "read blob", "list blobs", "delete blobs", "write rows", "read rows", "make place"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// kindOf is the kind of a request to the blob or the table service. The path is
// /ACCOUNT/CONTAINER[/BLOB] or /ACCOUNT/TABLE...
func kindOf(r *http.Request, tables bool) Kind {
	if tables {
		return tableKind(r)
	}
	query := r.URL.Query()
	parts := strings.SplitN(strings.Trim(r.URL.Path, "/"), "/", 3)
	switch {
	case query.Get("comp") == "list":
		return ListBlobs
	case query.Get("comp") == "batch", r.Method == http.MethodDelete:
		return DeleteBlobs
	case r.Method == http.MethodPut && query.Get("restype") == "container":
		return CreatePlace
	case r.Method == http.MethodPut && len(parts) == 3:
		return CreateBlob
	case (r.Method == http.MethodGet || r.Method == http.MethodHead) && len(parts) == 3:
		return ReadBlob
	}
	return Other
}

func tableKind(r *http.Request) Kind {
	switch {
	case r.Method == http.MethodGet:
		return ReadEntities
	case strings.HasSuffix(r.URL.Path, "/Tables"):
		return CreatePlace
	case r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/Tables("):
		return Other
	}
	return WriteEntities
}
