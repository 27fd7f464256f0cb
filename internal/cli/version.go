package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Version is a program's version with its build information: the commit, its time, whether files
// were changed, the compiler and the platform.
func Version(version string) string {
	info, _ := debug.ReadBuildInfo()
	return describe(version, info)
}

func describe(version string, info *debug.BuildInfo) string {
	settings := map[string]string{}
	if info != nil {
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
	}
	commit := settings["vcs.revision"]
	if commit == "" {
		return fmt.Sprintf("%s (%s %s/%s)", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	}
	changed := ""
	if settings["vcs.modified"] == "true" {
		changed = " with changes"
	}
	return fmt.Sprintf("%s (commit %.12s%s of %s, %s %s/%s)", version, commit, changed, settings["vcs.time"],
		runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
