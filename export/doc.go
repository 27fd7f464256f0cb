// Package export keeps a Delta Lake table of what is in the compacted container of a store, for other engines.
//
// A unit is an output of compaction. Outputs of a chain, which is those of a service, day and class, have numbers, contain different
// segments and never change, so the number up to which a chain is in the table says which units are: it is the version of a transaction of
// the table, whose application is the chain. Data files and transactions are in one commit, so each unit is in the table once, whoever else
// exports at the same time or was killed. Segments that are not compacted yet are not in the table.
//
// Only if an operator rejects an output that is in the table does its day change: compaction merges the inputs again, and the day is
// written anew.
package export
