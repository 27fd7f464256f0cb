package azure_test

import (
	"testing"

	"logstow/internal/test/storetest"
	"logstow/store"
	"logstow/store/azure"
)

func TestConformanceOnAzurite(t *testing.T) {
	t.Parallel()
	_, cred := server(t)
	storetest.Run(t, func(t testing.TB, container string) store.Store {
		return openStore(t, azure.Options{Container: container, Credential: cred})
	})
}
