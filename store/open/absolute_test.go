package open_test

import (
	"os"
	"path/filepath"
	"testing"

	"logstow/store/open"
)

// A name that is written down with a batch is the same from every directory, and
// with whatever credential it is opened.
func TestAbsolute(t *testing.T) {
	t.Setenv("AZURE_STORAGE_ACCOUNT", "one")
	t.Setenv("AZURE_STORAGE_KEY", "a2V5")
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for spec, want := range map[string]string{
		"logs":                     filepath.Join(wd, "logs"),
		"/logs":                    "/logs",
		"file:///logs":             "file:///logs",
		"grant://api.grant":        "grant://" + filepath.Join(wd, "api.grant"),
		"grant:///run/api.grant":   "grant:///run/api.grant",
		"azblob://logs":            "azblob://logs?account=one",
		"azblob://logs/":           "azblob://logs?account=one",
		"azblob://logs?account=b2": "azblob://logs?account=b2",
	} {
		if got, err := open.Absolute(spec, os.Getenv); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", spec, got, err, want)
		}
		again, err := open.Absolute(want, os.Getenv)
		if again != want || err != nil {
			t.Errorf("%s: %s, %v, want no change", want, again, err)
		}
	}
	if name, err := open.Absolute("azblob://logs?sig=CANARY", os.Getenv); err == nil {
		t.Errorf("a signature for a store: %s", name)
	}
}

// The identity of a directory is the same however it is named.
func TestIdentity(t *testing.T) {
	t.Setenv("AZURE_STORAGE_ACCOUNT", "one")
	t.Setenv("AZURE_STORAGE_KEY", "a2V5")
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for spec, want := range map[string]string{
		"logs": filepath.Join(wd, "logs"), "./logs/": filepath.Join(wd, "logs"), "file://" + filepath.ToSlash(wd) + "/logs": filepath.Join(wd, "logs"),
		"azblob://logs": "azblob://logs?account=one",
	} {
		if got, err := open.Identity(spec, os.Getenv); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", spec, got, err, want)
		}
	}
}
