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
	// separator ends the service in a partition's name; afterSeparator is the next character, which
	// no such name has there.
	separator, afterSeparator = "|", "}"
	// shards is the number of partitions over which a service's entities are spread.
	shards = 16
	// outputs is the partition of compaction's outputs. It is read after the others: an
	// output has its entity before those of its inputs go.
	outputs = shards
	// partitions is the number of a service's partitions.
	partitions = shards + 1
	// day is the period of a table.
	day        = hoursInDay * time.Hour
	hoursInDay = 24
)

// tablePrefix starts the names of a container's tables.
func tablePrefix(container string) string { return tableNamePrefix + ContainerHash(container) }

// ContainerHash is the part of the names of a container's tables that distinguishes them: tables belong to an account, which
// may have several containers.
func ContainerHash(container string) string {
	sum := sha256.Sum256([]byte(container))
	return hex.EncodeToString(sum[:4])
}

// tableOf is the table of an entity.
func tableOf(container string, r Entity) string {
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

// partitionOf is the partition of an entity's service in which the entity is.
func partitionOf(e Entity) string {
	if e.Meta.IsOutput() {
		return partition(e.Name.Service, outputs)
	}
	return partition(e.Name.Service, shardOf(e.Meta.Instance))
}

// keyOf is the key of an entity in its table.
func keyOf(r Entity) store.Key {
	// The name ends in <HHmm>/<NNNNNN>.log, whose two parts are the key's.
	name := strings.TrimSuffix(r.Name.String(), blobnaming.Suffix)
	slash := strings.LastIndexByte(name, '/')
	return store.Key{
		Partition: partitionOf(r),
		Row:       inverted(r.Meta.End) + "_" + name[slash-len("HHmm"):slash] + "_" + name[slash+1:],
	}
}

// inverted is a time in Unix nanoseconds, -1 or later, encoded such that later times sort first.
func inverted(t int64) string {
	return fmt.Sprintf("%019d", uint64(math.MaxInt64)-uint64(t))
}

// rowRange bounds the row keys of segments that may contain records of [from, to), which is not
// empty. A segment that starts before to may end later, but not after the hour of its bucket. ok is
// false if there are none.
func rowRange(from, to time.Time) (rowFrom, rowTo string, ok bool) {
	last := to.Add(-1).Truncate(time.Hour).Add(time.Hour - 1)
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

// minTime and maxTime are the first and the last time that a row key can hold.
func minTime() time.Time { return time.Unix(0, 0) }
func maxTime() time.Time { return time.Unix(0, math.MaxInt64) }
