package azure_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"syscall"
	"testing"

	"logstow/store"
	"logstow/store/azure"
)

// A request that has no response is sent again, but not after a timeout, which has taken long already.
func TestTimeoutIsNotRepeated(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{
		syscall.ECONNREFUSED:                           3,
		os.ErrDeadlineExceeded:                         1,
		fmt.Errorf("dial: %w", os.ErrDeadlineExceeded): 1,
	} {
		requests := 0
		s := openStore(t, azure.Options{
			Container: "logs", Credential: fromConnection(t, "AccountName=acct;AccountKey="+testKey),
			Transport: roundTrip(func(*http.Request) (*http.Response, error) { requests++; return nil, err }),
		})
		_, got := s.Blobs().Read(t.Context(), store.BlobRef{Name: "a"}, 0, 1)
		if !errors.Is(got, store.ErrUnavailable) || requests != want {
			t.Errorf("%v: %v after %d requests, want %d", err, got, requests, want)
		}
	}
}
