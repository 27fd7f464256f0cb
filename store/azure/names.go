package azure

import (
	"fmt"
	"strings"

	"logstow/store"
)

// LogsContainer is the container of Azure Storage Analytics. It is read-only.
const LogsContainer = "$logs"

// CheckContainer reports why a container's name is invalid for a store: 3 to 63 lower-case letters, digits and
// hyphens, each hyphen between two of the others, and not that of a compacted container. Of Azure's own
// containers [LogsContainer] is allowed, for reading.
// https://learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata
func CheckContainer(name string) error {
	if name == LogsContainer {
		return nil
	}
	ok := len(name) >= 3 && len(name) <= 63 &&
		!strings.HasPrefix(name, "-") && !strings.HasSuffix(name, "-") && !strings.Contains(name, "--")
	for i := 0; ok && i < len(name); i++ {
		ok = isLowerOrDigit(name[i]) || name[i] == '-'
	}
	if !ok {
		return fmt.Errorf("container %q: a container's name is 3 to 63 lower-case letters, digits and single hyphens, starting and ending with a letter or digit",
			name)
	}
	if raw, compacted := store.CutCompacted(name); compacted {
		return fmt.Errorf("container %q: it is the one with the outputs of compaction, which is used with the container of the segments: name that one, probably %s",
			name, raw)
	}
	return nil
}

func isLowerOrDigit(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
