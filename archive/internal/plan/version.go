package plan

// Version of the program, recorded in the archives it writes.
const Version = "0.1.0"
