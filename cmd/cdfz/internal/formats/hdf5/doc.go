// Package hdf5 writes HDF5 files: one group of datasets, with attributes and dimension
// scales. Chunks are written as they are, already filtered, so they can be copied from
// other formats without decoding.
//
//	w, err := hdf5.NewWriter(file, &hdf5.File{Attrs: attrs, Datasets: sets})
//	for … { err = w.Chunk(stored, mask) } // all chunks of the first dataset, then of the next
//	err = w.Close()
//
// All metadata stand at the front of the file, followed by the data in the order of the
// datasets, so that readers over a network need few requests. The bytes depend on nothing
// but the arguments: no times are stored.
//
// # The file
//
// The superblock has version 2, object headers version 2, and chunks are indexed by
// B-trees of version 1, as netCDF-C and HDF5 1.8 and later write them. Links are stored
// in the header of the group. Attributes are too, unless one of an object is longer than
// 64 KiB: then all attributes of the object are in a fractal heap.
//
// Format facts follow the "HDF5 File Format Specification Version 3.0",
// https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html, whose section
// titles the comments name, and the high-level library's conventions of dimension scales.
//
// # What is not done
//
// The package does not read, does not run filters, and has neither subgroups nor types
// other than numbers and fixed strings.
package hdf5
