package tableindex

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"time"

	"logstow/blobnaming"
	"logstow/store"
)

const (
	// tableNamePrefix starts every table's name.
	tableNamePrefix = "segments"
	// dayLayout ends every table's name.
	dayLayout = "20060102"
	// separator ends the service in a partition's name; afterSeparator is a greater character that no
	// such name has at that place.
	separator, afterSeparator = "|", "}"
	// shards is the number of partitions over which a service's entities are spread.
	shards = 16
	// outputs is the shard of compaction's outputs, in the tables of the compacted container. These are read last, because an output
	// gets its entity before the entities of its inputs are removed.
	outputs = 0
	// day is the period of a table.
	day        = hoursInDay * time.Hour
	hoursInDay = 24
)

// tablePrefix starts the names of a container's tables.
func tablePrefix(container string) string { return tableNamePrefix + ContainerHash(container) }

// ContainerHash returns the part of the names of a container's tables that distinguishes them from those of the account's other
// containers.
func ContainerHash(container string) string {
	sum := sha256.Sum256([]byte(container))
	return hex.EncodeToString(sum[:4])
}

// tableOf is the table of an entity. Outputs have tables of their own.
func tableOf(container string, r Entity) string {
	if r.Meta.IsOutput() {
		container = store.CompactedContainer(container)
	}
	return TableName(container, r.Meta.Class, r.Name.Bucket)
}

// partition is the partition of a service's shard: partitions of one service are adjacent, so that
// a SAS can grant a range of them.
func partition(service string, shard int) string {
	return fmt.Sprintf("%s"+separator+"%02x", service, shard)
}

// shardOf is the shard of an instance.
func shardOf(instance string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(instance)) // a hash never fails
	return int(h.Sum32() % shards)
}

// partitionOf returns the partition of an entity.
func partitionOf(e Entity) string {
	if e.Meta.IsOutput() {
		return partition(e.Name.Service, outputs)
	}
	return partition(e.Name.Service, shardOf(e.Meta.Instance))
}

// keyOf is the key of an entity in its table.
func keyOf(r Entity) store.Key {
	// The name ends in <HHmm>/<NNNNNN>.log, that of an output in <class>/<NNNNNN>.log; the key has these two parts.
	parts := strings.Split(strings.TrimSuffix(r.Name.String(), blobnaming.Suffix), "/")
	return store.Key{Partition: partitionOf(r), Row: inverted(r.Meta.End) + "_" + strings.Join(parts[len(parts)-2:], "_")}
}

// inverted encodes a time in Unix nanoseconds, at least -1, such that later times sort first.
func inverted(t int64) string {
	return fmt.Sprintf("%019d", uint64(math.MaxInt64)-uint64(t))
}

// rowRange returns the range of the row keys of segments that may contain records of [from, to), which is
// not empty. A segment that starts before to may end later, but not after its period, an hour or the day of an output, has ended. ok
// is false if there are no such keys.
func rowRange(from, to time.Time, period time.Duration) (rowFrom, rowTo string, ok bool) {
	last := to.Add(-1).Truncate(period).Add(period - 1)
	if last.Before(minTime()) || from.After(maxTime()) {
		return "", "", false
	}
	newest, oldest := int64(math.MaxInt64), int64(0)
	if last.Before(maxTime()) {
		newest = last.UnixNano()
	}
	if from.After(minTime()) {
		oldest = from.UnixNano()
	}
	// The second bound is excluded, and a row key continues after its time.
	return inverted(newest), inverted(oldest - 1), true
}

// minTime and maxTime are the first and the last time that a row key can encode.
func minTime() time.Time { return time.Unix(0, 0) }
func maxTime() time.Time { return time.Unix(0, math.MaxInt64) }
