// Package fileio opens the files that a command line names, walks its folders, and makes the targets.
//
//	names.go, std.go      what a FILE argument and -o may be
//	walk.go, tree.go      FILE arguments to files
//	list.go, prefix.go    lists of names, and prefixes of stores, to files
//	later.go              files that are found while the run goes on
//	input.go, sniff.go    a file to bytes
//	stored.go             on what a file is stored
//	dest.go               -o, and where the target of a file is
//	targets.go            the targets of a run
//	target.go, object.go  bytes to a file, an object of a store or standard output
//
// Whether a target may replace what is there, package protect decides.
package fileio
