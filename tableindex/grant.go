package tableindex

import (
	"strings"
	"time"
)

// TableName is the name of the table of a container, class and day: the UTC date of at.
func TableName(container, class string, at time.Time) string {
	return tablePrefix(container) + class + at.UTC().Format(dayLayout)
}

// Partitions returns the first and the last partition of a service. No other service has a partition
// between them, so access can be limited to this range.
func Partitions(service string) (first, last string) {
	return partition(service, 0), partition(service, shards-1)
}

// OfService reports whether a partition, or the start of a range of them, belongs to a service.
func OfService(partition, service string) bool {
	return strings.HasPrefix(partition, service+separator)
}
