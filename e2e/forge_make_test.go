package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/segment"
)

// name returns a name of the service's day: the start of the bucket, and a number.
func (f *forgery) name(bucket string, number int) string {
	return fmt.Sprintf("%s/%s/%s/%06d.log", f.service, f.day.Format("2006/01/02"), bucket, number)
}

// twin creates a blob with the metadata and content of an honest segment, after changing them.
func (f *forgery) twin(of int, name string, change func(m *blobnaming.Metadata, body []byte) []byte) {
	f.t.Helper()
	m, err := blobnaming.ParseMetadata(f.honest[of].Metadata)
	if err != nil {
		f.t.Fatal(err)
	}
	body := change(&m, slices.Clone(f.honest[of].body))
	f.put(name, body, m.Encode())
}

// put creates a blob with the hostile shipper's credential.
func (f *forgery) put(name string, body []byte, metadata map[string]string, headers ...string) {
	f.t.Helper()
	if status := f.request(http.MethodPut, f.owner.Container(), name, f.create, body, metadata, headers...); status != http.StatusCreated {
		f.t.Fatalf("create %s: status %d", name, status)
	}
}

// request sends a request to a container, with a query that has a signature.
func (f *forgeries) request(method, container, name, query string, body []byte, metadata map[string]string, headers ...string) (status int) {
	f.t.Helper()
	_, endpoint, _ := f.owner.Address()
	path := (&url.URL{Path: "/" + container + "/" + name}).EscapedPath()
	req, err := http.NewRequestWithContext(f.t.Context(), method, endpoint+path+"?"+query, bytes.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header["x-ms-version"] = []string{"2021-12-02"}
	if method == http.MethodPut && !strings.Contains(query, "comp=") {
		req.Header["x-ms-blob-type"] = []string{"BlockBlob"}
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header[headers[i]] = []string{headers[i+1]}
	}
	for key, value := range metadata {
		req.Header["x-ms-meta-"+key] = []string{value}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Error(err)
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// write makes a valid segment of forged records in a bucket.
func (f *forgery) write(bucket time.Time, width time.Duration, n int, change func(*segment.Options)) ([]byte, blobnaming.Metadata) {
	f.t.Helper()
	var b bytes.Buffer
	opts := segment.Options{Service: f.service, Instance: "evil", Salt: [16]byte{1}, BucketStart: bucket.Unix(), BucketWidth: int64(width / time.Second)}
	if change != nil {
		change(&opts)
	}
	w := segment.NewWriter(&b, opts)
	for i := range n {
		at := bucket.Add(width/time.Duration(n)*time.Duration(i) + time.Millisecond).UnixNano()
		if err := w.Append(record.Record{Time: at, Level: record.Info, Source: "evil", Message: fmt.Appendf(nil, "forged %s %d", searched, i)}); err != nil {
			f.t.Fatal(err)
		}
	}
	m, err := w.Close(1)
	if err != nil {
		f.t.Fatal(err)
	}
	return b.Bytes(), m
}
