package image

// Passes is passes, for tests.
var Passes = passes
