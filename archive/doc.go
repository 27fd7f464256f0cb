// Package archive reads blobs that other programs wrote, which package layout finds, into the sink of an input: that of package converted
// for queries, and that of package input/imports for imports.
//
// A blob is decompressed and decoded as it is read. Lines are read as those of files are (package input); the objects of Azure Monitor,
// Network Watcher, Fluent Bit and Vector are parts of lines, and each becomes a record with its own time, level, source and attributes.
package archive
