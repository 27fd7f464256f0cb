// Package price is the one place that knows what storage requests cost: list
// prices in US dollars of Azure Blob Storage (hot tier, LRS) and Azure Tables, or
// those of a file. Prices differ by region, tier and contract; those built in are
// here to compare queries, not to predict a bill.
package price

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Table is a list of prices in US dollars.
type Table struct {
	// List, Read and Tables are for ten thousand requests: listing blobs, reading a
	// blob, any request to a table.
	List   float64 `json:"list_per_10k"`
	Read   float64 `json:"read_per_10k"`
	Tables float64 `json:"table_per_10k"`
	// Gigabyte is for 10^9 bytes read: retrieval from a cool tier, transfer out of a
	// region. Inside a region and from the hot tier it is nothing.
	Gigabyte float64 `json:"read_per_gb"`
	// Create is for ten thousand blobs written, Month for 10^9 bytes kept for a month.
	Create float64 `json:"create_per_10k"`
	Month  float64 `json:"keep_per_gb_month"`
}

// Default is Azure's list price in East US.
func Default() Table {
	return Table{List: 0.055, Read: 0.0044, Tables: 0.00036, Create: 0.055, Month: 0.0208}
}

// Parse reads a JSON object of prices by the names list_per_10k, read_per_10k,
// table_per_10k, read_per_gb, create_per_10k and keep_per_gb_month; those it does
// not name are the default ones.
func Parse(data []byte) (Table, error) {
	t := Default()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return Table{}, fmt.Errorf("not a JSON object of prices (list_per_10k, read_per_10k, table_per_10k, read_per_gb, create_per_10k, keep_per_gb_month): %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Table{}, errors.New("more follows the object of prices")
	}
	if min(t.List, t.Read, t.Tables, t.Gigabyte, t.Create, t.Month) < 0 {
		return Table{}, errors.New("a price is negative")
	}
	return t, nil
}

// Usage is what was used of storage.
type Usage struct {
	// List, Read, Table and Create are numbers of requests, Bytes what was read.
	List, Read, Table, Bytes, Create int64
}

// Plus is the sum of two.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.List + v.List, u.Read + v.Read, u.Table + v.Table, u.Bytes + v.Bytes, u.Create + v.Create}
}

// Cost is what it costs in dollars.
func (t Table) Cost(u Usage) float64 {
	return (float64(u.List)*t.List+float64(u.Read)*t.Read+float64(u.Table)*t.Tables+float64(u.Create)*t.Create)/10_000 + float64(u.Bytes)*t.Gigabyte/1e9
}

// Moves is what moving blobs to a cooler tier costs in dollars at Azure's list price: a write
// each, in the tier that they go to. Cool's and cold's are taken for the dearer of the two.
func Moves(blobs int64) float64 { return float64(blobs) * 0.18 / 10_000 }
