package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logstow/internal/test/effort"
)

// Labels of pods are attributes of their records; without an API server the records are shipped
// all the same.
func TestPodMetadata(t *testing.T) {
	effort.Need(t, effort.Test, "waits for programs")
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "true" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, `{"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"web-1","namespace":"shop","labels":{"app":"cart"}}}]}`)
	}))
	t.Cleanup(api.Close)
	for server, want := range map[string]string{api.URL: "\tshop/web-1/nginx/stdout\t{\"resource\":{\"k8s.pod.label.app\":\"cart\"}}\thello\n", "http://" + closedAddress: "\tshop/web-1/nginx/stdout\t-\thello\n"} {
		dir := t.TempDir()
		logs := filepath.Join(dir, "pods", "shop_web-1_7c1e", "nginx")
		if err := os.MkdirAll(logs, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			filepath.Join(logs, "0.log"): "2026-11-20T15:04:05.1Z stdout F hello\n",
			filepath.Join(dir, "shipper.yaml"): fmt.Sprintf(`
store: s
instance: i
buffer: {dir: b}
inputs:
  - files: pods/**/*.log
    service: "{namespace}.{container}"
    pod-metadata: {labels: app, server: %q}
`, server),
		} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		startIn(t, dir, "run", "--config", "shipper.yaml", "--once").wait(t, 0)
		text, err := storeText(filepath.Join(dir, "s"))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %q, %v, want %q", server, text, err, want)
		}
	}
}
