package azure_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"logstow/store"
	"logstow/store/azure"
)

// page is a full page of a listing as storage sends it.
func page(blobs int) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="https://acct.blob.core.windows.net/" ContainerName="logs"><Prefix>a/</Prefix><MaxResults>5000</MaxResults><Blobs>`)
	for i := range blobs {
		fmt.Fprintf(&b, `<Blob><Name>queue/2014/07/31/1800/%06d.log</Name><Properties><Creation-Time>Thu, 31 Jul 2014 18:00:00 GMT</Creation-Time><Last-Modified>Thu, 31 Jul 2014 18:00:00 GMT</Last-Modified><Etag>0x8D1234567890ABC</Etag><Content-Length>8388608</Content-Length><Content-Type>text/plain; charset=utf-8</Content-Type><Content-Encoding>zstd</Content-Encoding><BlobType>BlockBlob</BlobType><LeaseStatus>unlocked</LeaseStatus></Properties><Metadata><StartTime>2014-07-31T18:00:00.000000000Z</StartTime><EndTime>2014-07-31T18:59:59.000000000Z</EndTime><LogVersion>logstow/1</LogVersion><Records>100000</Records><RawBytes>100000000</RawBytes><Levels>info=99000 error=1000</Levels><Batch>0123456789abcdef0123456789abcdef</Batch><Instance>pod-1</Instance><Seq>1406829600000000000</Seq><Footer>8380000</Footer></Metadata></Blob>`, i+1)
	}
	b.WriteString(`</Blobs><NextMarker/></EnumerationResults>`)
	return b.String()
}

// BenchmarkList reads a page of 5,000 blobs: the cost of planning a query.
func BenchmarkList(b *testing.B) {
	const blobs = 5000
	body := page(blobs)
	cred := fromConnection(b, "AccountName=acct;AccountKey="+testKey)
	s := openStore(b, azure.Options{Container: "logs", Credential: cred, Transport: roundTrip(
		func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(body))}, nil
		},
	)})
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for page, err := range s.Blobs().List(b.Context(), "a/") {
			if err != nil {
				b.Fatal(err)
			}
			n += len(page)
		}
		if n != blobs {
			b.Fatalf("%d blobs", n)
		}
	}
}

// BenchmarkCreate uploads 8 MiB to a network that takes no time: what signing,
// summing and copying cost.
func BenchmarkCreate(b *testing.B) {
	body := make([]byte, 8<<20)
	cred := fromConnection(b, "AccountName=acct;AccountKey="+testKey)
	s := openStore(b, azure.Options{Container: "logs", Credential: cred, Transport: roundTrip(
		func(r *http.Request) (*http.Response, error) {
			_, err := io.Copy(io.Discard, r.Body)
			return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{"Etag": {`"0x1"`}}, Request: r, Body: http.NoBody}, err
		},
	)})
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Blobs().Create(b.Context(), "a/b.log", body, store.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
