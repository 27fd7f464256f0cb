// Package catalog knows what a store holds: it lists the two containers, tells segments, outputs of compaction and other blobs apart,
// resolves copies of a batch, and decides which segments outputs contain. No other package lists blobs.
//
// Shippers may create blobs in the raw container only; only compaction and retention may in the compacted one. So outputs and
// rejections count only there. The Batch of a segment is the hash of its footer, which has the hashes of its blocks: a blob whose
// footer is read and checked is what its name claims, whoever created it.
package catalog
