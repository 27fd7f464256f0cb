package azurite_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"logstow/internal/test/azurite"
	"logstow/internal/test/effort"
)

// get requests url and returns which server responded.
func get(t *testing.T, url string) (server string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.Header.Get("Server"), err
}

func TestStartAnswers(t *testing.T) {
	t.Parallel()
	a := azurite.Start(t)
	for _, endpoint := range []string{a.BlobEndpoint, a.TableEndpoint} {
		got, err := get(t, endpoint+"?comp=list")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(got, "Azurite-") {
			t.Errorf("%s: Server header %q, want Azurite's", endpoint, got)
		}
		if !strings.Contains(a.ConnectionString(), "Endpoint="+endpoint+";") {
			t.Errorf("connection string %q lacks %s", a.ConnectionString(), endpoint)
		}
	}
	if first, second := a.Container(), a.Container(); first == second {
		t.Errorf("container name %q given twice", first)
	}
}

func TestCloseEnds(t *testing.T) {
	effort.Need(t, effort.Full, "an Azurite of its own")
	t.Parallel()
	azurite.Start(t) // skips where Azurite cannot run
	a, err := azurite.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, a.BlobEndpoint); err == nil {
		t.Error("Azurite answers after Close")
	}
}

func TestRunReportsWhyItFailed(t *testing.T) {
	effort.Need(t, effort.Full, "an Azurite of its own")
	t.Parallel()
	azurite.Start(t)
	_, err := azurite.Run(t.Context(), "--cert", "/no-such-file.pem", "--key", "/no-such-file.key")
	if err == nil || !strings.Contains(err.Error(), "no-such-file.pem") {
		t.Errorf("error %v, want one naming the file", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := azurite.Run(ctx); err == nil {
		t.Error("started with an ended context")
	}
}
