package delta

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Action is a line of an entry: one of its fields is set.
type Action struct {
	CommitInfo *CommitInfo `json:"commitInfo,omitempty"`
	Protocol   *Protocol   `json:"protocol,omitempty"`
	Metadata   *Metadata   `json:"metaData,omitempty"`
	Txn        *Txn        `json:"txn,omitempty"`
	Add        *Add        `json:"add,omitempty"`
	Remove     *Remove     `json:"remove,omitempty"`
}

// CommitInfo tells people what a commit did. Times are Unix milliseconds, here and in the other actions.
type CommitInfo struct {
	Timestamp int64  `json:"timestamp"`
	Operation string `json:"operation"`
	// Parameters and Metrics have the form that engines show in the history of the table.
	Parameters map[string]string `json:"operationParameters,omitempty"`
	Metrics    map[string]string `json:"operationMetrics,omitempty"`
	Engine     string            `json:"engineInfo,omitempty"`
	// ID is random. It distinguishes equal commits of two writers.
	ID string `json:"txnId,omitempty"`
}

// Protocol has the versions that readers and writers of the table must know.
type Protocol struct {
	Reader int32 `json:"minReaderVersion" parquet:"minReaderVersion"`
	Writer int32 `json:"minWriterVersion" parquet:"minWriterVersion"`
}

// Metadata describe the table. A later action replaces an earlier one as a whole.
type Metadata struct {
	ID          string  `json:"id" parquet:"id"`
	Name        *string `json:"name,omitempty" parquet:"name,optional"`
	Description *string `json:"description,omitempty" parquet:"description,optional"`
	Format      Format  `json:"format" parquet:"format"`
	// Schema is as by [EncodeSchema].
	Schema        string            `json:"schemaString" parquet:"schemaString"`
	PartitionBy   []string          `json:"partitionColumns" parquet:"partitionColumns,list"`
	Configuration map[string]string `json:"configuration" parquet:"configuration"`
	Created       *int64            `json:"createdTime,omitempty" parquet:"createdTime,optional"`
}

// Format is the format of the data files: parquet.
type Format struct {
	Provider string            `json:"provider" parquet:"provider"`
	Options  map[string]string `json:"options" parquet:"options"`
}

// Txn records that an application has committed everything up to a version of its own. The latest action of an application counts.
type Txn struct {
	AppID       string `json:"appId" parquet:"appId"`
	Version     int64  `json:"version" parquet:"version"`
	LastUpdated *int64 `json:"lastUpdated,omitempty" parquet:"lastUpdated,optional"`
}

// Add adds a data file.
type Add struct {
	// Path is relative to the table, and encoded as in a URI.
	Path            string            `json:"path" parquet:"path"`
	PartitionValues map[string]string `json:"partitionValues" parquet:"partitionValues"`
	Size            int64             `json:"size" parquet:"size"`
	Modified        int64             `json:"modificationTime" parquet:"modificationTime"`
	// DataChange is false if the rows were in the table before, in other files.
	DataChange bool `json:"dataChange" parquet:"dataChange"`
	// Stats is as by [Stats.Encode].
	Stats *string           `json:"stats,omitempty" parquet:"stats,optional"`
	Tags  map[string]string `json:"tags,omitempty" parquet:"tags,optional"`
}

// Remove removes a data file from the table. It remains in storage for readers of earlier versions.
type Remove struct {
	Path            string            `json:"path" parquet:"path"`
	Deleted         *int64            `json:"deletionTimestamp,omitempty" parquet:"deletionTimestamp,optional"`
	DataChange      bool              `json:"dataChange" parquet:"dataChange"`
	Extended        *bool             `json:"extendedFileMetadata,omitempty" parquet:"extendedFileMetadata,optional"`
	PartitionValues map[string]string `json:"partitionValues,omitempty" parquet:"partitionValues,optional"`
	Size            *int64            `json:"size,omitempty" parquet:"size,optional"`
}

// RemoveOf returns the action that removes a file at a time.
func RemoveOf(a Add, at int64) *Remove {
	extended := true
	return &Remove{Path: a.Path, Deleted: &at, DataChange: true, Extended: &extended, PartitionValues: a.PartitionValues, Size: &a.Size}
}

// encode returns an entry of the log.
func encode(actions []Action) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b) // ends each value with a newline
	e.SetEscapeHTML(false)
	for i := range actions {
		if err := e.Encode(&actions[i]); err != nil {
			return nil, fmt.Errorf("cannot encode an action: %w", err)
		}
	}
	return b.Bytes(), nil
}

// decode calls f with each action of an entry. Actions of unknown kinds have no field set.
func decode(entry []byte, f func(*Action)) error {
	for line := range bytes.Lines(entry) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var a Action
		if err := json.Unmarshal(line, &a); err != nil {
			return fmt.Errorf("an action is not valid: %w", err)
		}
		f(&a)
	}
	return nil
}
