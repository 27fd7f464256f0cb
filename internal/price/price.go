// Package price is the one place that knows what storage requests cost: list
// prices in US dollars of Azure Blob Storage (hot tier, LRS) and Azure Tables.
// They differ by region and contract; they are here to compare queries, not to
// predict a bill.
package price

// Dollars for ten thousand requests.
const (
	// ListPer10k is for listing blobs.
	ListPer10k = 0.055
	// ReadPer10k is for reading a blob.
	ReadPer10k = 0.0044
	// TablePer10k is for any request to a table.
	TablePer10k = 0.00036
)

// Requests is what so many requests cost in dollars.
func Requests(list, read, table int64) float64 {
	return (float64(list)*ListPer10k + float64(read)*ReadPer10k + float64(table)*TablePer10k) / 10_000
}
