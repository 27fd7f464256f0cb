package blobnaming

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// A compaction output has a number of 16 digits: 9, nine digits of a hash of the
// class, six digits of the generation. Shippers draw smaller numbers only.
const (
	firstOutput = 9_000_000_000_000_000
	endOutput   = 10_000_000_000_000_000
	// MaxGeneration is the last generation of a service, hour and class.
	MaxGeneration = 999_999
	generations   = MaxGeneration + 1
	classHashes   = 1_000_000_000
)

// OutputName returns the name of compaction's output for a service, an hour (its
// start, UTC), a class and a generation from 1 to [MaxGeneration].
func OutputName(service string, hour time.Time, class string, generation int) Name {
	return Name{
		Service: service,
		Bucket:  hour.UTC().Truncate(time.Hour),
		Number:  firstOutput + classHash(class)*generations + uint64(generation),
	}
}

// Output returns the generation if n is the name of a compaction output, otherwise
// 0. Shippers never write such names. The class is in the output's metadata.
func (n Name) Output() (generation int) {
	if n.Number < firstOutput || n.Number >= endOutput || !n.Bucket.Equal(n.Bucket.Truncate(time.Hour)) {
		return 0
	}
	return int(n.Number % generations)
}

// HasClass reports whether the number of an output's name has the hash of a class.
// Other classes may have the same hash.
func (n Name) HasClass(class string) bool {
	return n.Output() > 0 && (n.Number-firstOutput)/generations == classHash(class)
}

// OutputPrefix starts the names of all outputs of a service and hour. Names of
// plain segments may start with it too.
func OutputPrefix(service string, hour time.Time) string {
	return service + "/" + hour.UTC().Truncate(time.Hour).Format(bucketLayout) + "/9"
}

// classHash is the hash of a class in an output's number, below classHashes: the
// first eight bytes of its SHA-256, big-endian, modulo 10^9.
func classHash(class string) uint64 {
	sum := sha256.Sum256([]byte(class))
	return binary.BigEndian.Uint64(sum[:8]) % classHashes
}

// Rejected is the suffix, in place of [Suffix], of the marker that makes readers
// ignore an output. The marker is an empty blob.
const Rejected = ".rejected"

// RejectionOf returns the name of the marker that rejects an output.
func RejectionOf(n Name) string {
	name := n.String()
	return name[:len(name)-len(Suffix)] + Rejected
}

// ParseRejection returns the name of the output that the marker with a name rejects.
func ParseRejection(s string) (Name, error) {
	if len(s) > len(Rejected) && s[len(s)-len(Rejected):] == Rejected {
		n, err := Parse(s[:len(s)-len(Rejected)] + Suffix)
		if err == nil && n.Output() > 0 {
			return n, nil
		}
	}
	return Name{}, fmt.Errorf("blob name %q: not the rejection of an output", s)
}
