package cli

import (
	"regexp"
	"runtime/debug"
	"testing"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	built := &debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"},
		{Key: "vcs.time", Value: "2026-11-20T15:00:00Z"},
		{Key: "vcs.modified", Value: "true"},
	}}
	for want, info := range map[string]*debug.BuildInfo{
		`^v1 \(go\S+ \w+/\w+\)$`: nil,
		`^v1 \(commit 0123456789ab with changes of 2026-11-20T15:00:00Z, go\S+ \w+/\w+\)$`: built,
	} {
		if got := describe("v1", info); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%q, want %s", got, want)
		}
	}
}
