package azure_test

import (
	"crypto/md5" //nolint:gosec // Azure's checksum of a response
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"logstow/internal/hint"
	"logstow/store"
	"logstow/store/azure"
)

// A response that is shorter than requested, or differs from its checksum, is read again before it counts as an error.
func TestChangedResponses(t *testing.T) {
	t.Parallel()
	const body = "0123456789"
	md5Of := func(s string) string {
		sum := md5.Sum([]byte(s)) //nolint:gosec // Azure's checksum of a response
		return base64.StdEncoding.EncodeToString(sum[:])
	}
	crcOf := func(s string) string {
		sum := crc64.Checksum([]byte(s), crc64.MakeTable(0x9A6C9329AC4BC9B5))
		return base64.StdEncoding.EncodeToString(binary.LittleEndian.AppendUint64(nil, sum))
	}
	full := http.Header{"Content-Range": {"bytes 0-9/20"}}
	for _, tt := range []struct {
		name     string
		status   int
		header   http.Header
		body     string
		requests int64 // if every response is like this
		class    error
	}{
		{"whole", http.StatusPartialContent, full, body, 1, nil},
		{"right checksums", http.StatusPartialContent, http.Header{"Content-Range": full["Content-Range"], "Content-Md5": {md5Of(body)}, "X-Ms-Content-Crc64": {crcOf(body)}}, body, 1, nil},
		{"shorter than requested", http.StatusPartialContent, http.Header{"Content-Range": {"bytes 0-4/20"}}, body[:5], 2, store.ErrUnavailable},
		{"shorter than its range", http.StatusPartialContent, full, body[:5], 2, store.ErrUnavailable},
		{"another range", http.StatusPartialContent, http.Header{"Content-Range": {"bytes 5-14/20"}}, body, 2, store.ErrUnavailable},
		{"the range is ignored", http.StatusOK, http.Header{}, body + body, 2, store.ErrUnavailable},
		{"the blob ends", http.StatusPartialContent, http.Header{"Content-Range": {"bytes 0-4/5"}}, body[:5], 1, store.ErrRange},
		{"MD5", http.StatusPartialContent, http.Header{"Content-Range": full["Content-Range"], "Content-Md5": {md5Of("x")}}, body, 2, store.ErrUnavailable},
		{"CRC", http.StatusPartialContent, http.Header{"Content-Range": full["Content-Range"], "X-Ms-Content-Crc64": {crcOf("x")}}, body, 2, store.ErrUnavailable},
	} {
		for _, always := range []bool{true, false} {
			var requests atomic.Int64
			s := openStore(t, azure.Options{
				Container: "logs", Credential: fromConnection(t, "AccountName=acct;AccountKey="+testKey),
				Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					status, header, text := tt.status, tt.header, tt.body
					if requests.Add(1) > 1 && !always {
						status, header, text = http.StatusPartialContent, full, body
					}
					header = header.Clone()
					header.Set("Content-Length", strconv.Itoa(len(text)))
					return &http.Response{StatusCode: status, Header: header, Request: r, Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text))}, nil
				}),
			})
			got, err := s.Blobs().Read(t.Context(), store.BlobRef{Name: "a"}, 0, int64(len(body)))
			class := tt.class
			if !always && tt.requests == 2 {
				class = nil
			}
			if !errors.Is(err, class) || class == nil && string(got) != body || requests.Load() != tt.requests {
				t.Errorf("%s, always %v: got %q, %v after %d requests, want %v after %d", tt.name, always, got, err, requests.Load(), class, tt.requests)
			}
		}
	}
}

// The version of the services in requests is that of the environment, and a cloud that rejects it gives a hint.
func TestAPIVersion(t *testing.T) {
	t.Parallel()
	for _, connection := range []string{"AccountKey=" + testKey, "SharedAccessSignature=" + testSAS} {
		for _, operation := range operations() {
			synctest.Test(t, func(t *testing.T) {
				cred, err := azure.FromEnv(func(name string) string {
					return map[string]string{"AZURE_STORAGE_CONNECTION_STRING": "AccountName=acct;" + connection, azure.APIVersionEnv: "2020-10-02"}[name]
				})
				if err != nil {
					t.Fatal(err)
				}
				s := openStore(t, azure.Options{Container: "logs", Credential: cred, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					var versions []string
					for name, values := range r.Header {
						if strings.EqualFold(name, "x-ms-version") {
							versions = append(versions, values...)
						}
					}
					if len(versions) != 1 || versions[0] != "2020-10-02" {
						t.Errorf("%s: versions %q", operation, versions)
					}
					const text = `<?xml version="1.0"?><Error><Code>InvalidHeaderValue</Code><Message>The value for one of the HTTP headers is not in the correct format.</Message></Error>`
					return &http.Response{
						StatusCode: http.StatusBadRequest, Status: "Bad Request", Header: http.Header{"Content-Type": {"application/xml"}, "X-Ms-Error-Code": {"InvalidHeaderValue"}},
						Request: r, Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)),
					}, nil
				})})
				if err := do(t.Context(), s, operation); !strings.Contains(hint.Text(err), "set AZURE_STORAGE_API_VERSION to one that it supports") {
					t.Errorf("%s: %v", operation, err)
				}
			})
		}
	}
	for _, wrong := range []string{"2021", "latest", "2017-11-09", "2021-13-01"} {
		_, err := azure.FromEnv(func(name string) string {
			return map[string]string{"AZURE_STORAGE_ACCOUNT": "acct", azure.APIVersionEnv: wrong}[name]
		})
		if err == nil || !strings.Contains(err.Error(), azure.APIVersionEnv) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
