package plan

// Version of the program, recorded in the archives it writes. It is the one place of the version: make version writes
// it to the others, which TestVersionPlaces compares. Between releases it ends with "-dev".
const Version = "1.0.0-dev"
