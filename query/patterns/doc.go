// Package patterns finds the templates of messages: the constant parts of many lines, with the wildcard <_> for the variable parts,
// such as
//
//	Failed password for <_> from <_> port <_> ssh<_>
//
// A [Counter] counts records by the shape of their message, and [Counter.Result] merges shapes into templates. The result depends
// only on the set of records: not on their order, nor on how they were distributed over counters that [Counter.Merge] merges.
//
// # Text
//
// The text of a message is the first line of its message member ([Text]), without blanks at its ends. Only its first 1 KiB and 64
// words are used.
//
// # Shapes
//
// A shape is the text with <_> for parts that are variable in any text: numbers, and words that start with a digit, have several
// groups of digits or are hexadecimal; UUIDs, addresses, times and dates; absolute paths and the rest of URLs; quoted strings, other
// than requests in access logs; alphabetic values of key=value pairs, other than truth values and null; the word after "user"; control
// characters and invalid UTF-8. Adjacent wildcards are merged, and so are repeated words that contain one. Blanks are one space.
//
// # Templates
//
// Shapes that differ in only one word become one template with <_> for that word, if it has at least 5 values, or if the values look
// like identifiers. A common prefix or suffix of the values remains. Shapes in which several words vary become one template too, if
// each of these words has at least 10 values, and not more words vary than are constant. Finally, a template that another one matches
// word by word is merged into it.
//
// # Limits
//
// Up to [MaxShapes] shapes are kept. Above that, shapes are grouped by their number of words and a hash of their first words. In groups
// of more than 64 shapes, words at positions with many values are replaced by <_>, which is deterministic, too. If more than twice
// MaxShapes shapes remain, records of further shapes are counted as [Result].Ungrouped. Only then may a result depend on the order of
// records.
package patterns
