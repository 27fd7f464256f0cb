package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"logstow/agent"
	"logstow/config"
	"logstow/relay"
	"logstow/store"
)

// A token that does not allow a service is found before anything is shipped.
func TestCheckRelay(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if service := r.URL.Query().Get(relay.ServiceParameter); service == "api" || r.URL.Query().Get(relay.ClassParameter) == "audit" {
			http.Error(w, "the token does not allow it", http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, `{"id":"0d709907e6f04900dd26ed90f56f4048","version":1,"instance":"relay-0"}`)
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	of := func(service, class string, stores ...string) config.Input {
		return config.Input{Common: config.Common{Service: service, Class: class}, Stores: stores}
	}
	spec := "relay://" + server.Listener.Addr().String()
	for _, c := range []struct {
		inputs []config.Input
		want   error
	}{
		{[]config.Input{of("web", "")}, nil},
		{[]config.Input{of("web", ""), of("api", "")}, store.ErrAccessDenied},
		{[]config.Input{of("web", "audit")}, store.ErrAccessDenied},
		{[]config.Input{of("api", "", "other")}, nil},
	} {
		st, err := relay.Open(relay.Options{Name: spec})
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err = checkRelay(t.Context(), &out, spec, st, agent.Settings{Inputs: c.inputs, Stores: agent.Stores{All: []string{spec}}})
		if !errors.Is(err, c.want) || err == nil && !strings.Contains(out.String(), "instance relay-0") {
			t.Errorf("%+v: %v, %q", c.inputs, err, out.String())
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
}
