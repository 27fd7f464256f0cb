package azure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"logstow/store"
)

// Pages as Azure and Azurite write them, and some that neither does.
var pagesSeen = []string{
	`<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="https://acct.blob.core.windows.net/" ContainerName="logs"><Prefix>a/</Prefix><MaxResults>5000</MaxResults><Blobs>` +
		`<Blob><Name>api/2014/07/31/1800/000001.log</Name><Properties><Creation-Time>Thu, 31 Jul 2014 18:00:00 GMT</Creation-Time><Last-Modified>Thu, 31 Jul 2014 18:00:00 GMT</Last-Modified><Etag>0x8D1234567890ABC</Etag><Content-Length>8388608</Content-Length><Content-Type>text/plain; charset=utf-8</Content-Type><Content-MD5 /><AccessTier>Cool</AccessTier><AccessTierInferred>true</AccessTierInferred><LeaseStatus>unlocked</LeaseStatus></Properties><Metadata><StartTime>2014-07-31T18:00:00.000000000Z</StartTime><Note>a &lt;b&gt; &amp; "c" &apos;d&quot;</Note><Empty /></Metadata><OrMetadata /></Blob>` +
		`<Blob><Name>api/é</Name><Properties><Creation-Time>Thu, 31 Jul 2014 18:00:00 GMT</Creation-Time><Etag>0x1</Etag><Content-Length>0</Content-Length></Properties></Blob>` +
		`</Blobs><NextMarker>2!72!MDAw&amp;</NextMarker></EnumerationResults>`,
	"\xef\xbb\xbf" + `<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="https://acct.blob.core.windows.net/" ContainerName="logs"><Blobs /><NextMarker /></EnumerationResults>`,
	`<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<EnumerationResults ServiceEndpoint="http://127.0.0.1:10000/devstoreaccount1" ContainerName="t">
  <Prefix/>
  <Blobs>
    <Blob>
      <Name>x</Name>
      <Properties>
        <Creation-Time>Sat, 21 Nov 2026 12:00:00 GMT</Creation-Time>
        <Etag>"0x1"</Etag>
        <Content-Length>3</Content-Length>
      </Properties>
      <Metadata>
        <Key> spaced  </Key>
      </Metadata>
    </Blob>
  </Blobs>
  <NextMarker></NextMarker>
</EnumerationResults>
`,
	// A hierarchical namespace lists directories.
	`<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="https://acct.blob.core.windows.net/" ContainerName="logs"><Blobs>` +
		`<Blob><Name>api</Name><Properties><Creation-Time>Thu, 31 Jul 2014 18:00:00 GMT</Creation-Time><Etag>0x1</Etag><ResourceType>directory</ResourceType><Content-Length>0</Content-Length></Properties></Blob>` +
		`<Blob><Name>api/2026</Name><Properties><Etag>0x2</Etag><Content-Length>0</Content-Length></Properties><Metadata><hdi_isfolder>true</hdi_isfolder></Metadata></Blob>` +
		`<Blob><Name>api/2026/x</Name><Properties><Etag>0x3</Etag><ResourceType>file</ResourceType><Content-Length>1</Content-Length></Properties><Metadata><hdi_isfolder>false</hdi_isfolder></Metadata></Blob>` +
		`</Blobs><NextMarker /></EnumerationResults>`,
}

var pagesRefused = []string{
	``, `x`, `<a/>`, `<EnumerationResults>`, `<EnumerationResults></EnumerationResult>`, `<EnumerationResults/>x`, `<EnumerationResults/><a/>`,
	`<EnumerationResults><Blobs><Blob></Blob></Blobs></EnumerationResults>`,
	`<EnumerationResults><Blobs><Blob><Name Encoded="true">a%20b</Name></Blob></Blobs></EnumerationResults>`,
	`<EnumerationResults><Blobs><Blob><Name>a&#10;b</Name></Blob></Blobs></EnumerationResults>`,
	`<EnumerationResults><Blobs><Blob><Name>a<!-- c -->b</Name></Blob></Blobs></EnumerationResults>`,
	`<EnumerationResults><Blobs><Blob><Name><![CDATA[a]]></Name></Blob></Blobs></EnumerationResults>`,
	`<EnumerationResults><Blobs><Blob><Name>a]]>b</Name></Blob></Blobs></EnumerationResults>`,
	"<EnumerationResults><Blobs><Blob><Name>a\x01</Name></Blob></Blobs></EnumerationResults>",
	"<EnumerationResults><Blobs><Blob><Name>a\r\n</Name></Blob></Blobs></EnumerationResults>",
	"<EnumerationResults><Blobs><Blob><Name>a\xff</Name></Blob></Blobs></EnumerationResults>",
	`<EnumerationResults><Blobs><Blob><Name>a</Name><Properties><Content-Length>-1</Content-Length></Properties></Blob></Blobs></EnumerationResults>`,
	`<EnumerationResults><Blobs><Blob><Name>a</Name><Properties><Creation-Time>today</Creation-Time></Properties></Blob></Blobs></EnumerationResults>`,
	`<EnumerationResults><Blobs><Blob><Name>a</Name></Blob><BlobPrefix><Name>a</Name></BlobPrefix></Blobs></EnumerationResults>`,
	`<?xml version="0utf-8"?><EnumerationResults></EnumerationResults>`,
	"<EnumerationResults>" + strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100) + "</EnumerationResults>",
	`<?xml version="1.0" encoding="utf-16"?><EnumerationResults/>`,
}

func TestEnumeration(t *testing.T) {
	t.Parallel()
	for _, page := range pagesSeen {
		if _, _, ok := decodeEnumeration([]byte(page)); !ok {
			t.Errorf("refused: %s", page)
		}
		compareDecoders(t, []byte(page))
		// Cut anywhere it is no page.
		for n := range len(strings.TrimSpace(page)) {
			if _, _, ok := decodeEnumeration([]byte(page[:n])); ok {
				t.Errorf("taken though cut: %s", page[:n])
			}
		}
	}
	items, next, _ := decodeEnumeration([]byte(pagesSeen[0]))
	want := []store.Blob{
		{
			Name: "api/2014/07/31/1800/000001.log", Size: 8388608, ETag: "0x8D1234567890ABC", Tier: store.Cool, TierInferred: true,
			Created:  time.Date(2014, 7, 31, 18, 0, 0, 0, time.UTC),
			Modified: time.Date(2014, 7, 31, 18, 0, 0, 0, time.UTC),
			Metadata: map[string]string{"starttime": "2014-07-31T18:00:00.000000000Z", "note": `a <b> & "c" 'd"`, "empty": ""},
		},
		{Name: "api/é", ETag: "0x1", Created: time.Date(2014, 7, 31, 18, 0, 0, 0, time.UTC), Metadata: map[string]string{}},
	}
	if diff := cmp.Diff(want, items.blobs); diff != "" || next != "2!72!MDAw&" {
		t.Errorf("next %q\n%s", next, diff)
	}
	items, _, _ = decodeEnumeration([]byte(pagesSeen[3]))
	if diff := cmp.Diff([]string{"api", "api/2026"}, items.directories); diff != "" || len(items.blobs) != 1 {
		t.Errorf("%d blobs\n%s", len(items.blobs), diff)
	}
	for _, page := range pagesRefused {
		if _, _, ok := decodeEnumeration([]byte(page)); ok {
			t.Errorf("taken: %s", page)
		}
	}
}

// FuzzEnumeration: what is taken is what the SDK makes of it.
func FuzzEnumeration(f *testing.F) {
	for _, page := range append(pagesSeen, pagesRefused...) {
		f.Add([]byte(page))
	}
	f.Fuzz(compareDecoders)
}

func compareDecoders(t *testing.T, page []byte) {
	t.Helper()
	got, next, ok := decodeEnumeration(page)
	if !ok {
		return
	}
	plain := bytes.TrimPrefix(page, []byte("\xef\xbb\xbf"))
	tokens := xml.NewDecoder(bytes.NewReader(plain))
	for {
		if _, err := tokens.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("taken, though %v: %s", err, page)
		}
	}
	var reference container.ListBlobsFlatSegmentResponse
	if err := xml.Unmarshal(plain, &reference); err != nil {
		return // of an element that we do not look at
	}
	want := listedPage(container.ListBlobsFlatResponse{ListBlobsFlatSegmentResponse: reference})
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(enumerated{}), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s\n%s", diff, page)
	}
	if value(reference.NextMarker) != next {
		t.Fatalf("next %q, want %q", next, value(reference.NextMarker))
	}
}
