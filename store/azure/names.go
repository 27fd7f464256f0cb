package azure

import (
	"fmt"
	"strings"
)

// LogsContainer is the container of Azure Storage Analytics. It is read-only.
const LogsContainer = "$logs"

// CheckContainer reports why a container name is invalid: 3 to 63 lower-case letters, digits and
// hyphens, each hyphen between two of the others. Of Azure's own containers [LogsContainer] is
// allowed, for reading.
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
		return fmt.Errorf("container %q: a container's name is 3 to 63 lower-case letters, digits and single hyphens, starting and ending with a letter or digit", name)
	}
	return nil
}

func isLowerOrDigit(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
