package format

// Version of the program, named in the archives it writes.
const Version = "0.1.0"
