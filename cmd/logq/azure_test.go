package main

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"      //nolint:depguard // store/azure does not write to $logs
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob" //nolint:depguard // as above

	"logstow/internal/test/azurite"
)

// The logs of Azure Storage Analytics are queried as any other store.
func TestAnalyticsContainer(t *testing.T) {
	t.Parallel()
	a := azurite.Start(t)
	getenv := func(name string) string {
		if name == "AZURE_STORAGE_CONNECTION_STRING" {
			return a.ConnectionString()
		}
		return ""
	}
	// Only Azure writes there: our own store does not.
	client, err := azblob.NewClientFromConnectionString(a.ConnectionString(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateContainer(t.Context(), "$logs", nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../query/foreign/testdata/analytics.log")
	if err != nil {
		t.Fatal(err)
	}
	meta := map[string]*string{
		"LogType": to.Ptr("read,write"), "StartTime": to.Ptr("2014-07-31T18:09:12Z"), "EndTime": to.Ptr("2014-07-31T18:09:13Z"), "LogVersion": to.Ptr("1.0"),
	}
	if _, err := client.UploadBuffer(t.Context(), "$logs", "blob/2014/07/31/1800/000000.log", text, &azblob.UploadBufferOptions{Metadata: meta}); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	env := environment{getenv: getenv, stdout: &out, stderr: &errs, now: time.Now, tempDir: t.TempDir()}
	args := []string{"logq", "query", "--store", "azblob://$logs", "-s", "blob", "--no-cache", "--from", "2014-07-31T18:00Z", "--to", "2014-07-31T19:00Z", "-l", "error", "--fields", "operation-type"}
	if status := run(t.Context(), args, env); status != 0 || out.String() != "PutBlob\n" || errs.Len() > 0 {
		t.Errorf("status %d: %q, %s", status, out.String(), errs.String())
	}
}

// A store that refuses is named, and does not hide the others.
func TestRefusedStore(t *testing.T) {
	t.Parallel()
	a := azurite.Start(t)
	wrong := regexp.MustCompile(`AccountKey=[^;]*`).ReplaceAllString(a.ConnectionString(), "AccountKey="+base64.StdEncoding.EncodeToString(make([]byte, 64)))
	getenv := func(name string) string {
		if name == "AZURE_STORAGE_CONNECTION_STRING" {
			return wrong
		}
		return ""
	}
	dir := t.TempDir()
	hour := filepath.Join(dir, "svc/2014/07/31/1800")
	if err := os.MkdirAll(hour, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(hour, "000001.log"), []byte("2014-07-31T18:00:01Z hello\n"), 0o600); err != nil { //nolint:forbidigo // a test's own file
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
		out    string
	}{
		{[]string{"query", "--store", "azblob://logs", "--from", "2014-07-31", "-o", "raw"}, 4, ""},
		{[]string{"query", "--store", "azblob://logs", "--store", dir, "--from", "2014-07-31", "-o", "raw"}, 3, "2014-07-31T18:00:01Z hello\n"},
		{[]string{"query", "--store", "azblob://logs", "--store", dir, "--from", "2014-08-31", "-o", "raw"}, 3, ""},
		{[]string{"stats", "--store", "azblob://logs", "--store", dir, "--from", "2014-07-31", "-o", "csv"}, 3, "level,count\n,1\n"},
		{[]string{"services", "--store", "azblob://logs", "--store", dir}, 3, "svc\n"},
		{[]string{"services", "--store", "azblob://logs"}, 4, ""},
	} {
		var out, errs bytes.Buffer
		env := environment{getenv: getenv, stdout: &out, stderr: &errs, now: time.Now, tempDir: t.TempDir()}
		status := run(t.Context(), append([]string{"logq"}, c.args...), env)
		if status != c.status || out.String() != c.out || !strings.Contains(errs.String(), "azblob://logs") {
			t.Errorf("%q: status %d, %q, %s", c.args, status, out.String(), errs.String())
		}
	}
}
