package store

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// compactedSuffix ends the name of a compacted container. No raw container's name may end in it.
	compactedSuffix = "-compacted"
	// maxContainer is the maximum length of a container's name.
	// https://learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata
	maxContainer = 63
	// hashDigits is the number of digits of the hash that distinguishes long names.
	hashDigits = 8
)

// CompactedContainer returns the name of the compacted container of a raw one: NAME-compacted. If that is too long, the name is
// cut, and has 8 digits of its SHA-256.
func CompactedContainer(name string) string {
	if len(name)+len(compactedSuffix) <= maxContainer {
		return name + compactedSuffix
	}
	sum := sha256.Sum256([]byte(name))
	start := strings.TrimRight(name[:maxContainer-len(compactedSuffix)-1-hashDigits], "-")
	return start + "-" + hex.EncodeToString(sum[:])[:hashDigits] + compactedSuffix
}

// CutCompacted returns the probable name of the raw container of a compacted one; compacted is false if name is not that of one.
func CutCompacted(name string) (raw string, compacted bool) {
	return strings.CutSuffix(name, compactedSuffix)
}
