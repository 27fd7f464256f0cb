package bulk

import "net/http"

// Version is the version of Elasticsearch in responses.
const Version = "8.19.0"

const (
	info = `{"name":"logstow","cluster_name":"logstow","cluster_uuid":"bG9nc3Rvdy1sb2dzdG93LQ","version":{"number":"` + Version + `",` +
		`"build_flavor":"default","build_type":"tar","build_hash":"0","build_date":"2025-07-23T22:10:18Z","build_snapshot":false,` +
		`"lucene_version":"9.12.2","minimum_wire_compatibility_version":"7.17.0","minimum_index_compatibility_version":"7.0.0"},` +
		`"tagline":"You Know, for Search"}`
	license      = `{"license":{"status":"active","uid":"00000000-0000-0000-0000-000000000000","type":"basic","issued_to":"logstow","issuer":"logstow"}}`
	xpack        = `{"license":{"status":"active","type":"basic","mode":"basic"},"features":{"ilm":{"available":false,"enabled":false}}}`
	health       = `{"cluster_name":"logstow","status":"green","timed_out":false,"number_of_nodes":1,"number_of_data_nodes":1}`
	exists       = `{}`
	acknowledged = `{"acknowledged":true}`
)

// registerProbes registers the handlers of the requests that clients send first. They respond that templates,
// policies, pipelines and data streams exist, and acknowledge and ignore new ones.
func registerProbes(mux *http.ServeMux) {
	answer := func(pattern, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			setHead(w.Header())
			_, _ = w.Write([]byte(body + "\n")) // the error is that of a closed connection
		})
	}
	// GET is for HEAD too.
	answer("GET /{$}", info)
	answer("GET /_license", license)
	answer("GET /_xpack", xpack)
	answer("GET /_cluster/health", health)
	for _, path := range []string{
		"/_ilm/policy/{name}", "/_template/{name}", "/_index_template/{name}", "/_component_template/{name}",
		"/_ingest/pipeline/{name}", "/_data_stream/{name}",
	} {
		answer("GET "+path, exists)
		answer("PUT "+path, acknowledged)
	}
}
