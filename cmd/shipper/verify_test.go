package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// Where nothing listens, jobs say so soon: somebody may be waiting.
func TestNothingListens(t *testing.T) {
	t.Parallel()
	at := "http://" + closedAddress(t) + "/account"
	env := append(os.Environ(), fmt.Sprintf("AZURE_STORAGE_CONNECTION_STRING="+
		"AccountName=account;AccountKey=a2V5;BlobEndpoint=%s;TableEndpoint=%s", at, at))
	for _, args := range [][]string{{"verify"}, {"reindex"}, {"retain", "--keep", "30d"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			cmd := shipperCommand(t.Context(), t, env, append(args, "--store", "azblob://logs")...)
			began := time.Now()
			err := cmd.Run()
			took := time.Since(began)
			stderr := fmt.Sprint(cmd.Stderr.(*bytes.Buffer))
			if cmd.ProcessState.ExitCode() != 3 || strings.Count(stderr, "\n") != 1 ||
				!strings.Contains(stderr, "azblob://logs: ") || !strings.Contains(stderr, "nothing listens at "+at) {
				t.Errorf("%v: %s", err, stderr)
			}
			if took < 5*time.Second || took > 15*time.Second {
				t.Errorf("took %v: a service that is starting gets some seconds, and nobody waits for minutes", took)
			}
		})
	}
}
