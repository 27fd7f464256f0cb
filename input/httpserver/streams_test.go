package httpserver_test

import (
	"io"
	"net/http"
	"testing"

	"logstow/input/httpserver"
)

// Requests over HTTP/2 whose bodies do not end are limited in number, over all connections: further ones get a response to retry,
// and the others continue.
func TestStreamsAreLimited(t *testing.T) {
	t.Parallel()
	const limit, connections, streams = 512, 12, 46
	const excess = connections*streams - limit
	address, _ := start(t, httpserver.Options{})
	statuses := make(chan int, limit+excess)
	var bodies []*io.PipeWriter
	for range connections {
		transport := &http.Transport{Protocols: new(http.Protocols)}
		transport.Protocols.SetUnencryptedHTTP2(true)
		t.Cleanup(transport.CloseIdleConnections)
		client := &http.Client{Transport: transport}
		post(t, client, "http://"+address+"/echo", "", []byte("first")) // from then on it knows how many streams it may open
		for range streams {
			body, end := io.Pipe()
			bodies = append(bodies, end)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/echo", body)
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				resp, err := client.Do(req)
				if err != nil {
					t.Log(err)
					statuses <- 0
					return
				}
				resp.Body.Close()
				statuses <- resp.StatusCode
			}()
		}
	}
	got := map[int]int{}
	for range excess { // the others wait for their bodies
		got[<-statuses]++
	}
	for _, end := range bodies {
		end.Close()
	}
	for range limit {
		got[<-statuses]++
	}
	if got[http.StatusServiceUnavailable] != excess || got[http.StatusOK] != limit {
		t.Errorf("responses by status: %v", got)
	}
}
