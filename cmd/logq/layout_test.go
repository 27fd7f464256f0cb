package main

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The server answers over a layout, except live tails: blobs are read once.
func TestServeLayout(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "insights-logs-shop")
	name := filepath.Join(dir, filepath.FromSlash("resourceId=/A/B/y=2026/m=11/d=27/h=15/m=00/PT1H.json"))
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(`{"time":"2026-11-27T15:01:00Z","level":"Error"}`+"\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	address, _, stop := startServeOver(t, dir, "--layout", "azure")
	defer stop()
	for path, want := range map[string]string{
		"query_range": `"service_name":"shop"`, "labels": `"level"`, "label/service_name/values": `["shop"]`, "tail": "no live tails with --layout",
	} {
		params := url.Values{"query": {`{service="shop"}`}, "start": {"2026-11-27T15:00:00Z"}, "end": {"2026-11-27T16:00:00Z"}}
		resp, err := http.Get("http://" + address + "/loki/api/v1/" + path + "?" + params.Encode()) //nolint:noctx // as a client
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !strings.Contains(string(body), want) || (resp.StatusCode == http.StatusOK) == (path == "tail") {
			t.Errorf("%s: %s %s, %v, want %s", path, resp.Status, body, err, want)
		}
	}
}
