package main

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"      //nolint:depguard // store/azure does not write to $logs
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob" //nolint:depguard // as above

	"logstow/internal/azurite"
)

// The logs of Azure Storage Analytics are asked as any other store.
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
	if _, err := client.UploadBuffer(t.Context(), "$logs", "blob/2014/07/31/1800/000001.log", text, &azblob.UploadBufferOptions{Metadata: meta}); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	env := environment{getenv: getenv, stdout: &out, stderr: &errs, now: time.Now, tempDir: t.TempDir()}
	args := []string{"logq", "query", "--store", "azblob://$logs", "-s", "blob", "--no-cache", "--from", "2014-07-31T18:00Z", "--to", "2014-07-31T19:00Z", "-l", "error", "--fields", "operation-type"}
	if status := run(t.Context(), args, env); status != 0 || out.String() != "PutBlob\n" || errs.Len() > 0 {
		t.Errorf("status %d: %q, %s", status, out.String(), errs.String())
	}
}
