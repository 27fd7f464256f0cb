package azure_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/store"
	"logstow/store/azure"
)

// namespace answers as an account with a hierarchical namespace does, which Azurite
// cannot be: directories are listed as blobs, cannot be listed with their snapshots,
// and are not deleted while they hold something.
type namespace struct {
	mu       sync.Mutex
	names    []string // in order; directories end in "/"
	requests []string
}

func (n *namespace) answer(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: http.NoBody}
	switch q := r.URL.Query(); q.Get("comp") {
	case "list":
		n.requests = append(n.requests, "list "+q.Get("prefix"))
		resp.Body = io.NopCloser(strings.NewReader(n.page(q.Get("prefix"))))
	case "batch":
		body, kind, err := n.batch(r)
		if err != nil {
			return nil, err
		}
		resp.StatusCode = http.StatusAccepted
		resp.Header.Set("Content-Type", kind)
		resp.Body = io.NopCloser(body)
	default:
		return nil, fmt.Errorf("unexpected request %s %s", r.Method, r.URL)
	}
	return resp, nil
}

func (n *namespace) page(prefix string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="logs"><Blobs>`)
	for _, name := range n.names {
		plain, directory := strings.CutSuffix(name, "/")
		if !strings.HasPrefix(plain, prefix) {
			continue
		}
		kind := "file"
		if directory {
			kind = "directory"
		}
		fmt.Fprintf(&b, `<Blob><Name>%s</Name><Properties><Etag>0x1</Etag><ResourceType>%s</ResourceType><Content-Length>0</Content-Length></Properties></Blob>`, plain, kind)
	}
	b.WriteString(`</Blobs><NextMarker /></EnumerationResults>`)
	return b.String()
}

// batch executes a batch of deletions.
func (n *namespace) batch(r *http.Request) (io.Reader, string, error) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return nil, "", err
	}
	var out bytes.Buffer
	answers := multipart.NewWriter(&out)
	var names []string
	for parts := multipart.NewReader(r.Body, params["boundary"]); ; {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, "", err
		}
		sub, err := http.ReadRequest(bufio.NewReader(part))
		if err != nil {
			return nil, "", err
		}
		name, err := url.PathUnescape(strings.TrimPrefix(sub.URL.Path, "/logs/"))
		if err != nil {
			return nil, "", err
		}
		names = append(names, name)
		status, code := n.delete(name, sub.Header)
		w, err := answers.CreatePart(map[string][]string{"Content-Type": {"application/http"}, "Content-ID": {part.Header.Get("Content-ID")}})
		if err != nil {
			return nil, "", err
		}
		fmt.Fprintf(w, "HTTP/1.1 %d %s\r\nx-ms-error-code: %s\r\nContent-Length: 0\r\n\r\n", status, http.StatusText(status), code)
	}
	n.requests = append(n.requests, "delete "+strings.Join(names, " "))
	return &out, "multipart/mixed; boundary=" + answers.Boundary(), answers.Close()
}

func (n *namespace) delete(name string, header http.Header) (status int, code string) {
	i := slices.Index(n.names, name+"/")
	switch {
	case i >= 0 && header.Get("x-ms-delete-snapshots") != "":
		return http.StatusBadRequest, "OperationNotSupportedOnDirectory"
	case i >= 0 && slices.ContainsFunc(n.names, func(other string) bool { return strings.HasPrefix(other, name+"/") && other != name+"/" }):
		return http.StatusConflict, "DirectoryIsNotEmpty"
	case i < 0:
		i = slices.Index(n.names, name)
	}
	if i < 0 {
		return http.StatusNotFound, "BlobNotFound"
	}
	n.names = slices.Delete(n.names, i, i+1)
	return http.StatusAccepted, ""
}

// TestHierarchicalNamespace: directories are no blobs, and those that are empty can be removed.
func TestHierarchicalNamespace(t *testing.T) {
	t.Parallel()
	n := &namespace{names: []string{
		"api/", "api/2026/", "api/2026/10/", "api/2026/10/01/", "api/2026/10/01/1500/", "api/2026/10/02/", "api/2026/10/02/1500/",
		"api/2026/10/02/1500/000001.log", "api/2026/11/", "api/2026/11/01/", "api/2026/11/01/0000/", "api/2026/11/01/0000/000001.log",
		"api/2026/11/02/", "api/2026/11/02/0000/", "web/", "web/2026/", "web/2026/10/", "web/2026/10/01/", "web/2026/10/01/0000/",
	}}
	cred := fromConnection(t, "AccountName=acct;AccountKey="+testKey)
	s := openStore(t, azure.Options{Container: "logs", Credential: cred, Transport: roundTrip(n.answer)})
	remove := func(prefix, before string) {
		t.Helper()
		if err := s.Blobs().RemoveDirectories(t.Context(), prefix, before); err != nil {
			t.Fatal(err)
		}
	}
	if remove("api/", "api/2026/11/01"); len(n.requests) > 0 {
		t.Errorf("%q before any listing showed a directory", n.requests)
	}
	var blobs []store.BlobRef
	for page, err := range s.Blobs().List(t.Context(), "api/") {
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page {
			blobs = append(blobs, b.Ref())
		}
	}
	want := []store.BlobRef{{Name: "api/2026/10/02/1500/000001.log", ETag: "0x1"}, {Name: "api/2026/11/01/0000/000001.log", ETag: "0x1"}}
	if diff := cmp.Diff(want, blobs); diff != "" {
		t.Error(diff)
	}
	n.requests = nil
	remove("api/", "api/2026/11/01")
	remove("web/", "web/2026/11/01")
	left := []string{
		"api/", "api/2026/", "api/2026/10/", "api/2026/10/02/", "api/2026/10/02/1500/", "api/2026/10/02/1500/000001.log",
		"api/2026/11/", "api/2026/11/01/", "api/2026/11/01/0000/", "api/2026/11/01/0000/000001.log", "api/2026/11/02/", "api/2026/11/02/0000/",
	}
	if diff := cmp.Diff(left, n.names); diff != "" {
		t.Error(diff)
	}
	if len(n.requests) != 2*6 || n.requests[1] != "delete api/2026/10/01/1500 api/2026/10/02/1500" {
		t.Errorf("%q", n.requests)
	}
	// Blobs are deleted with their snapshots, and then their directories go too.
	if err := s.Blobs().Delete(t.Context(), blobs[:1]); err != nil {
		t.Fatal(err)
	}
	remove("api/", "api/2026/11/01")
	if diff := cmp.Diff(left[6:], n.names[2:]); diff != "" {
		t.Error(diff)
	}
}
